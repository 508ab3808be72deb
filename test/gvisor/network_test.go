package gvisor

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/test/work"
	"ringfence.dev/ringfence/test/world"
)

// newHost is a world whose person chose the host's network stack.
func newHost(t *testing.T) *work.Fixture {
	t.Helper()
	return work.New(t, "gvisor", fmt.Sprintf("[rung]\nrunsc = %q\ngvisor-network = \"host\"\n", program(t)))
}

// TestHostNetwork: what works with gVisor's own network stack works with the host's.
func TestHostNetwork(t *testing.T) { work.Work(t, newHost) }

// sentries are PID 1 around a sentry, and the sentry.
func sentries(t *testing.T, f *work.Fixture, id string) (around, sentry work.Process) {
	t.Helper()
	all := sandbox(t, f.Supervisor(id))
	i := slices.IndexFunc(all, func(p work.Process) bool { return strings.HasPrefix(p.Argv, "runsc-sandbox") })
	if i < 0 {
		t.Fatalf("there is no sentry in %+v", all)
	}
	return all[0], all[i]
}

// sockets lists the sockets of a process, by the tables of its network namespace.
func sockets(t *testing.T, pid int) map[string]int {
	t.Helper()
	own := map[string]bool{}
	fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil || len(fds) == 0 {
		t.Fatalf("%d descriptors of %d can be seen: %v", len(fds), pid, err)
	}
	for _, fd := range fds {
		to, _ := os.Readlink(fd)
		if inode, ok := strings.CutPrefix(to, "socket:["); ok {
			own[strings.TrimSuffix(inode, "]")] = true
		}
	}
	out := map[string]int{}
	for _, kind := range []string{"tcp", "tcp6", "udp", "udp6", "raw", "raw6", "packet"} {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, kind))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			if slices.ContainsFunc(strings.Fields(line), func(w string) bool { return own[w] }) {
				out[kind]++
			}
		}
	}
	return out
}

// TestStack: while the agent has a connection, the sentry has sockets of frames and none
// of TCP. Where the person chose the host's stack it is the other way round.
func TestStack(t *testing.T) {
	script := `python3 -c '
import socket, time
open = [socket.create_connection(("` + world.Allowed + `", 80)), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)]
open[1].bind(("127.0.0.1", 5353))
print("rea" + "dy", flush=True)
time.sleep(1000)'`
	for name, c := range map[string]struct {
		begin func(*testing.T) *work.Fixture
		own   bool
	}{"own": {newFixture, true}, "host": {newHost, false}} {
		f := c.begin(t)
		id := f.Start(script, "--allow-host", world.Allowed)
		f.Said(id, "ready")
		around, sentry := sentries(t, f, id)
		got := sockets(t, sentry.PID)
		if frames, inet := got["packet"] > 0, got["tcp"]+got["tcp6"]+got["udp"]+got["udp6"] > 0; frames != c.own || inet == c.own || got["raw"]+got["raw6"] > 0 {
			t.Errorf("%s: the sentry has these sockets: %v", name, got)
		}
		var ns [2]string
		for i, p := range []int{around.PID, sentry.PID} {
			var err error
			if ns[i], err = os.Readlink(fmt.Sprintf("/proc/%d/ns/net", p)); err != nil {
				t.Fatal(err)
			}
		}
		if apart := ns[0] != ns[1]; apart != c.own {
			t.Errorf("%s: the sentry is in %s, and PID 1 around it in %s", name, ns[1], ns[0])
		}
		f.Cmd("stop", "--time", "0s", id).Run()
	}
}

// TestHostNetworkIsSaid: wherever the rung is told, so is that a person chose the host's
// network stack; and gVisor's own is never said to be it.
func TestHostNetworkIsSaid(t *testing.T) {
	const less = "with the host's network stack"
	for name, c := range map[string]struct {
		begin func(*testing.T) *work.Fixture
		said  bool
	}{"own": {newFixture, false}, "host": {newHost, true}} {
		f := c.begin(t)
		id := f.Start("sleep 1000")
		for _, args := range [][]string{{"status", id}, {"run", "--rung", "gvisor", "--verbose", "--", "true"}} {
			out, err := f.Cmd(args...).CombinedOutput()
			if err != nil || strings.Contains(string(out), less) != c.said {
				t.Errorf("%s: %q: %v\n%s", name, args, err, out)
			}
		}
		type offered struct{ Name, State string }
		var all []offered
		out, err := f.Cmd("rungs", "--json").Output()
		if err == nil {
			err = json.Unmarshal(out, &all)
		}
		i := slices.IndexFunc(all, func(r offered) bool { return r.Name == "gvisor" })
		if err != nil || i < 0 || (all[i].State == "degraded") != c.said {
			t.Errorf("%s: rungs: %v\n%s", name, err, out)
		}
		if got := slices.ContainsFunc(f.Journal(), func(r journal.Record) bool {
			return r.Event == journal.Granted && r.State == "gvisor-network" && slices.Equal(r.List.All(), []string{"host"})
		}); got != c.said {
			t.Errorf("%s: the journal says it: %v", name, got)
		}
	}
}

// TestLoopback: on the loopback of the agent are its own servers, and the gate's ports in
// both families: resolver, proxy, and ports of the host that it was given.
func TestLoopback(t *testing.T) {
	f := newFixture(t)
	f.Put("loop.py", []byte(`
import socket, struct
def query(kind, at):
    q = b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0" + b"\x07allowed\x04test\0" + b"\0\x01\0\x01"
    s = socket.socket(socket.AF_INET6 if ":" in at else socket.AF_INET, kind)
    s.settimeout(20)
    s.connect((at, 53))
    s.send(q if kind == socket.SOCK_DGRAM else struct.pack(">H", len(q)) + q)
    a = s.recv(512)
    return a[0 if kind == socket.SOCK_DGRAM else 2:][:2] == b"\x12\x34"
for at in "127.0.0.1", "::1", "9.9.9.9", "2001:db8::9":
    print(at, query(socket.SOCK_DGRAM, at), query(socket.SOCK_STREAM, at))
for at in "127.0.0.1", "::1":
    s = socket.create_connection((at, 808), timeout=20)
    s.sendall(b"GET http://other.test/ HTTP/1.1\r\nHost: other.test\r\n\r\n")
    print("proxy", s.recv(99).split()[1].decode())
    l = socket.create_server((at, 8099), family=socket.AF_INET6 if ":" in at else socket.AF_INET)
    c = socket.create_connection((at, 8099)); c.sendall(b"own"); print(l.accept()[0].recv(3).decode())
    try:
        socket.create_connection((at, 8098)); print("open")
    except ConnectionRefusedError:
        print("refused")
`), 0o644)
	r := f.On("python3 loop.py", "--allow-host", world.Allowed)
	want := "127.0.0.1 True True\n::1 True True\n9.9.9.9 True True\n2001:db8::9 True True\n" + strings.Repeat("proxy 403\nown\nrefused\n", 2)
	if r.Status != 0 || r.Stdout != want {
		t.Errorf("status %d\n%s%s", r.Status, r.Stdout, r.Stderr)
	}
}

// TestRefusedAtOnce: every address is answered, those too that would be on the line to the
// gate: by the gate, by its rules, or by the stack that has no way. A neighbour that nobody
// is would be waited for.
func TestRefusedAtOnce(t *testing.T) {
	f := newFixture(t)
	f.Put("refused.py", []byte(`
import errno, socket
for kind in socket.SOCK_STREAM, socket.SOCK_DGRAM:
    for to in "192.0.0.0", "192.0.0.1", "192.0.0.3", "192.0.0.7", "10.1.2.3", "169.254.1.1", "224.0.0.1", "255.255.255.255", \
            "fd72:6e67:6663::1", "fd72:6e67:6663::3", "fe80::1", "febf::1", "fec0::1", "ff02::1", "2001:db8::1":
        s = socket.socket(socket.AF_INET6 if ":" in to else socket.AF_INET, kind)
        s.settimeout(30)
        try:
            s.connect((to, 9))
            s.send(b"x")
            print(to, kind.name, "answered", s.recv(1))
        except OSError as e:
            if e.errno not in (errno.ECONNREFUSED, errno.ECONNRESET, errno.EPIPE, errno.ENETUNREACH, errno.EACCES):
                print(to, kind.name, repr(e))
print("done")
`), 0o644)
	r := f.On("python3 refused.py", "--allow-host", world.Allowed)
	if r.Status != 0 || r.Stdout != "done\n" {
		t.Errorf("status %d\n%s%s", r.Status, r.Stdout, r.Stderr)
	}
}

// TestWho: the record says who made a connection, also one that the first process on the
// sentry has carried to the gate. A search is given up after a moment, so that many are made.
func TestWho(t *testing.T) {
	f := newFixture(t)
	f.Put("who.py", []byte(`
import socket
for to in (("10.1.2.3", 9), ("2001:db8::1", 9), ("127.0.0.1", 808)) * 120:
    try:
        s = socket.create_connection(to, timeout=30)
        s.sendall(b"GET http://other.test/ HTTP/1.1\r\nHost: other.test\r\n\r\n")
        s.recv(1)
    except OSError:
        pass
`), 0o644)
	if r := f.On("exec python3 who.py", "--allow-host", world.Allowed); r.Status != 0 {
		t.Fatalf("status %d\n%s%s", r.Status, r.Stdout, r.Stderr)
	}
	got := map[string]string{}
	for _, r := range f.Journal() {
		if r.Kind == journal.Net && r.Verdict == journal.Deny {
			got[r.Addr+r.Name] = cmp.Or(got[r.Addr+r.Name], r.Command)
			if r.PID == 1 || r.Command != "" && r.Command != "python3" {
				t.Errorf("%s%s: process %d, %q", r.Addr, r.Name, r.PID, r.Command)
			}
		}
	}
	for _, to := range []string{"10.1.2.3", "2001:db8::1", "other.test"} {
		if got[to] != "python3" {
			t.Errorf("%s: %q, of %q", to, got[to], got)
		}
	}
}

// TestFrames: whoever has all rights over the network namespace of the sentry, as a broken
// sentry never has, reaches nothing by frames of their own but the gate, which decides.
func TestFrames(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("the namespace belongs to the stage's user namespace, in which nobody is left: only root of the host enters it")
	}
	f := newFixture(t)
	canary := exec.Command("python3", "-c", `
import http.server, socketserver, sys
s = socketserver.TCPServer(("0.0.0.0", 0), http.server.SimpleHTTPRequestHandler)
print(s.server_address[1], flush=True)
s.serve_forever()`)
	canary.Dir = f.Dir
	out, err := canary.StdoutPipe()
	if err == nil {
		err = canary.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { canary.Process.Kill(); canary.Wait() })
	var port int
	if _, err := fmt.Fscan(out, &port); err != nil {
		t.Fatal(err)
	}
	id := f.Start("echo rea\"\"dy; sleep 1000", "--allow-host", world.Allowed)
	f.Said(id, "ready")
	_, sentry := sentries(t, f, id)
	try := fmt.Sprintf(`ip addr add 192.0.0.2/29 dev eth0; ip route add default via 192.0.0.1
		for to in 127.0.0.1 192.0.0.1 %s %s 169.254.169.254; do
			curl -sS -m 3 -o /dev/null -w "%%{http_code} " http://$to:%d/ 2>/dev/null; test $? = 0 && echo "open $to"
			python3 -c 'import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(2); s.connect((sys.argv[1], 123)); s.send(b"x")
try: s.recv(1); print("answered")
except OSError as e: print(type(e).__name__)' $to
		done; true`, world.Host4, world.Router4, port)
	got, err := inNetwork(sentry.PID, try)
	if err != nil || strings.Contains(got, "open") || strings.Contains(got, "answered") || strings.Count(got, "000 ") != 5 {
		t.Errorf("%v\n%s", err, got)
	}
}

// inNetwork runs a script in the network namespace of a process, with every right over it.
func inNetwork(pid int, script string) (string, error) {
	out, err := exec.Command("nsenter", "-t", fmt.Sprint(pid), "-n", "--", "sh", "-c", script).CombinedOutput()
	return string(out), err
}
