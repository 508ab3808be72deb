package cgroup

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// manager is a systemd manager as far as a client can tell: it makes the scope
// in the fixture, moves the processes and sends JobRemoved.
type manager struct {
	f       *fixture
	old     bool   // does not know OOMPolicy for scopes
	result  string // of the job, if not "done"
	idle    bool   // says done and moves nobody
	lax     bool   // says done and sets no limit
	foreign bool   // JobRemoved comes from somebody else, then hangs up
	raw     []byte // the answer, whatever was asked
	asked   []string
}

// answer handles one call and returns what is to be sent.
func (m *manager) answer(call message) []message {
	reply := message{kind: kindReturn, serial: 7, replyTo: call.serial, dest: call.sender}
	if call.kind != kindCall || call.member != "StartTransientUnit" || call.path != systemdPath || call.iface != systemdIface {
		return nil
	}
	unit, props := parseRequest(m.f.t, call.body)
	m.asked = append(m.asked, props["names"]...)
	if m.old && props["OOMPolicy"] != nil {
		reply.kind, reply.errorName = kindError, "org.freedesktop.DBus.Error.PropertyReadOnly"
		return []message{reply}
	}
	m.makeScope(unit, props)
	var job, gone encoder
	job.string("/org/freedesktop/systemd1/job/5")
	reply.signature, reply.body = "o", job
	gone.uint32(5)
	gone.string("/org/freedesktop/systemd1/job/5")
	gone.string(unit)
	gone.string(m.result)
	signal := message{kind: kindSignal, serial: 8, path: systemdPath, iface: systemdIface, member: "JobRemoved", signature: "uoss", body: gone}
	other := signal
	other.member = "UnitNew" // of the kind that is to be skipped
	return []message{other, reply, other, signal}
}

func (m *manager) makeScope(unit string, props map[string][]string) {
	group := "/user.slice/u.service/app.slice/" + unit
	m.f.group(group, "memory pids", "", "")
	limit := func(file, name string) {
		value := "max"
		if p := props[name]; p != nil && !m.lax {
			value = p[0]
		}
		m.f.file("cg"+group+"/"+file, value+"\n")
	}
	limit("pids.max", "TasksMax")
	limit("memory.max", "MemoryMax")
	limit("memory.swap.max", "MemorySwapMax")
	for _, pid := range props["PIDs"] {
		if !m.idle {
			m.f.file("proc/"+pid+"/cgroup", "0::"+group+"\n")
		}
	}
}

// parseRequest reads the body of StartTransientUnit.
func parseRequest(t *testing.T, body []byte) (unit string, props map[string][]string) {
	d := decoder{b: body, order: le}
	unit = d.string()
	if mode := d.string(); mode != "fail" {
		t.Errorf("mode %q", mode)
	}
	props = map[string][]string{}
	n := int(d.uint32())
	d.align(8)
	for end := d.off + n; d.err == nil && d.off < end; {
		d.align(8)
		name := d.string()
		props["names"] = append(props["names"], name)
		switch kind := d.signature(); kind {
		case "s":
			props[name] = []string{d.string()}
		case "t":
			d.align(8)
			props[name] = []string{strconv.FormatUint(le.Uint64(d.take(8)), 10)}
		case "au":
			for end := int(d.uint32()) + d.off; d.err == nil && d.off < end; {
				props[name] = append(props[name], strconv.Itoa(int(d.uint32())))
			}
		default:
			t.Errorf("property %s of type %q", name, kind)
		}
	}
	if aux := d.uint32(); aux != 0 || d.err != nil {
		t.Errorf("auxiliary units %d, %v", aux, d.err)
	}
	return unit, props
}

// listen serves the manager's own socket: SASL, then messages, no bus daemon.
func (m *manager) listen(t *testing.T) string {
	t.Helper()
	path := filepath.Join(m.f.root, "private")
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrUnix{Name: path})
	}
	if err == nil {
		err = unix.Listen(fd, 8)
	}
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, _, err := unix.Accept4(fd, unix.SOCK_CLOEXEC)
			if err != nil {
				return
			}
			f := os.NewFile(uintptr(c), "client")
			m.converse(&bus{f: f})
			f.Close()
		}
	}()
	t.Cleanup(func() {
		_ = unix.Shutdown(fd, unix.SHUT_RDWR) // wakes accept
		<-done
		unix.Close(fd)
	})
	return path
}

func (m *manager) converse(b *bus) {
	hello := "\x00AUTH EXTERNAL " + hex.EncodeToString([]byte(strconv.Itoa(os.Getuid()))) + "\r\n"
	if !expect(b.f, hello) {
		io.WriteString(b.f, "REJECTED EXTERNAL\r\n")
		return
	}
	io.WriteString(b.f, "OK 0123456789abcdef0123456789abcdef\r\n")
	if !expect(b.f, "BEGIN\r\n") {
		return
	}
	for {
		call, err := b.receive()
		if err != nil {
			return
		}
		if m.raw != nil {
			b.f.Write(m.raw)
			return
		}
		for _, a := range m.answer(call) {
			out := a.encode()
			if m.foreign && a.kind == kindSignal {
				out = withSender(a, ":1.99")
			}
			b.f.Write(out)
		}
		if m.foreign {
			return
		}
	}
}

func expect(r io.Reader, want string) bool {
	got := make([]byte, len(want))
	_, err := io.ReadFull(r, got)
	return err == nil && string(got) == want
}

// withSender adds the field that only a bus daemon sets, as the last one.
func withSender(m message, sender string) []byte {
	body := m.body
	m.body = nil
	e := encoder(m.encode())
	e.byte(fieldSender)
	e.signature("s")
	e.string(sender)
	le.PutUint32(e[12:], uint32(len(e)-fixedHeader))
	le.PutUint32(e[4:], uint32(len(body)))
	e.align(8)
	return append(e, body...)
}

// userSession is the fixture of somebody logged in by ssh: in a scope of the
// system manager, with a manager of their own elsewhere in the tree.
func userSession(t *testing.T) *fixture {
	f := newFixture(t, "/user.slice/session-3.scope")
	f.group("", "cpu memory pids", "memory pids", "")
	f.group("/user.slice", "cpu memory pids", "memory pids", "")
	f.group("/user.slice/session-3.scope", "memory pids", "", "1\n")
	f.group("/user.slice/u.service", "memory pids", "memory pids", "")
	f.group("/user.slice/u.service/init.scope", "memory pids", "", "1\n")
	f.file("booted/x", "")
	f.file(fmt.Sprintf("proc/%d/cgroup", os.Getpid()), "0::/user.slice/u.service/init.scope\n")
	return f
}

func TestScope(t *testing.T) {
	for _, c := range []struct {
		name string
		m    manager
		fail string
	}{
		{"new manager", manager{result: "done"}, ""},
		{"old manager", manager{result: "done", old: true}, ""},
		{"job fails", manager{result: "failed"}, `"failed"`},
		{"nobody moved", manager{result: "done", idle: true}, "no such file"},
		{"limits not in force", manager{result: "done", lax: true}, "does not hold"},
		{"hangs up", manager{raw: []byte{}}, "EOF"},
		{"signal of another", manager{result: "done", foreign: true}, "EOF"},
		{"answers garbage", manager{raw: bytes.Repeat([]byte("x"), 64)}, "malformed"},
		{"announces a huge message", manager{raw: []byte("l\x02\x00\x01\xff\xff\xff\xff\x01\x00\x00\x00\xff\xff\xff\xff")}, "message of"},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			f := userSession(t)
			c.m.f = f
			f.sockets = []socket{{path: c.m.listen(t)}}
			g, r := f.open(Limits{Pids: 64, Memory: 1 << 30})
			if r.Pids.By != Scope || r.Memory.By != Scope || g.janitor == nil {
				t.Fatalf("report %+v", r)
			}
			err := g.Join(4242)
			if c.fail != "" {
				if err == nil || !strings.Contains(err.Error(), c.fail) {
					t.Fatalf("join: %v, want %q", err, c.fail)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			assertScope(t, f, g)
		})
	}
}

func assertScope(t *testing.T, f *fixture, g *Group) {
	t.Helper()
	dir := "cg/user.slice/u.service/app.slice/ringfence-s1.scope"
	if got := g.dirs(); len(got) != 1 || got[0] != filepath.Join(f.root, dir) {
		t.Errorf("dirs %q", got)
	}
	f.wants(dir+"/pids.max", "64\n")
	f.wants(dir+"/memory.max", "1073741824\n")
	f.wants(dir+"/memory.swap.max", "0\n")
	// The janitor is inside too: it keeps the counters until they are read.
	f.wants(fmt.Sprintf("proc/%d/cgroup", g.janitor.pid()), "0::/user.slice/u.service/app.slice/ringfence-s1.scope\n")
	f.file(dir+"/memory.events", "oom_kill 2\n")
	if e := g.Events(); e.OOMKills != 2 {
		t.Errorf("events %+v", e)
	}
	f.file(dir+"/cgroup.kill", "")
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	f.wants(dir+"/cgroup.kill", "1")
}

func TestNoScope(t *testing.T) {
	t.Run("manager-without-controllers", func(t *testing.T) {
		f := userSession(t)
		m := manager{f: f, result: "done"}
		f.sockets = []socket{{path: m.listen(t)}}
		f.group("/user.slice/u.service", "", "", "")
		if g, r := f.open(Limits{Pids: 64}); g.scope != nil || !strings.Contains(r.Pids.Why, "systemd: controller not available") {
			t.Errorf("report %+v", r)
		}
	})
	t.Run("no-socket", func(t *testing.T) {
		f := userSession(t)
		f.sockets = managerSockets(12345, filepath.Join(f.root, "nowhere"))
		if g, r := f.open(Limits{Memory: 64}); g.scope != nil || !strings.Contains(r.Memory.Why, "systemd: no manager") {
			t.Errorf("report %+v", r)
		}
	})
	t.Run("not-a-manager", func(t *testing.T) {
		f := userSession(t)
		f.file("sock", "")
		f.sockets = []socket{{path: filepath.Join(f.root, "sock")}}
		if g, r := f.open(Limits{Memory: 64}); g.scope != nil || !strings.Contains(r.Memory.Why, "systemd: connection refused") {
			t.Errorf("report %+v", r)
		}
	})
}

// TestScopeThroughDaemon puts Debian's dbus-daemon in between: it checks every
// byte that we marshal and hangs up on the first wrong one.
func TestScopeThroughDaemon(t *testing.T) {
	f := userSession(t)
	path := filepath.Join(f.root, "bus")
	pid := startDaemon(t, f, path)
	f.file(fmt.Sprintf("proc/%d/cgroup", pid), "0::/user.slice/u.service/init.scope\n")
	m := &manager{f: f, result: "done", old: true}
	serveOnBus(t, m, path)
	f.sockets = []socket{{path: filepath.Join(f.root, "absent")}, {path: path, broker: true}}
	g, r := f.open(Limits{Pids: 64, Memory: 1 << 30})
	if r.Memory.By != Scope {
		t.Fatalf("report %+v", r)
	}
	if err := g.Join(4242); err != nil {
		t.Fatal(err)
	}
	assertScope(t, f, g)
	if !strings.Contains(strings.Join(m.asked, " "), "OOMPolicy") {
		t.Errorf("asked for %q only", m.asked)
	}
}

func startDaemon(t *testing.T, f *fixture, path string) int {
	t.Helper()
	f.file("bus.conf", `<busconfig><type>session</type><listen>unix:path=`+path+`</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>`)
	c := exec.Command("dbus-daemon", "--nofork", "--print-address=1", "--config-file="+filepath.Join(f.root, "bus.conf"))
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	var b [1]byte
	if _, err := out.Read(b[:]); err != nil { // it prints when it listens
		t.Fatal(err)
	}
	return c.Process.Pid
}

func serveOnBus(t *testing.T, m *manager, path string) {
	t.Helper()
	b, _, err := dialBus(path)
	if err != nil {
		t.Fatal(err)
	}
	c := scope{sock: socket{broker: true}}
	if err := c.greet(b); err != nil {
		t.Fatal(err)
	}
	var name encoder
	name.string(systemdName)
	name.uint32(0)
	own := message{dest: busName, path: "/org/freedesktop/DBus", iface: busName, member: "RequestName", signature: "su", body: name}
	if _, err := b.call(own); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			call, err := b.receive()
			if err != nil {
				return
			}
			for _, a := range m.answer(call) {
				b.f.Write(a.encode())
			}
		}
	}()
	t.Cleanup(func() { b.f.Close(); <-done })
}
