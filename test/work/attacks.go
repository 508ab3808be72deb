package work

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/stage"
	"ringfence.dev/ringfence/test/world"
)

// attacks succeed on the host, which is their control, and must fail on every rung. Each
// is a shell script that ends with 0 if it got what it wanted.
var attacks = []struct{ name, script string }{
	{"key of ssh", `grep -q canary "$REAL_HOME/.ssh/id_ed25519"`},
	{"token of the environment", `test "$HOST_TOKEN" = canary-token`},
	{"loopback of the host", `curl -fsS -m 5 http://127.0.0.1:$PORT/ | grep -q canary`},
	{"the host by its address", `curl -fsS -m 5 http://` + world.Host4 + `:$PORT/ | grep -q canary`},
	{"cloud metadata", `curl -fsS -m 5 -o /dev/null http://169.254.169.254/`},
	{"a private network", `curl -fsS -m 5 -o /dev/null http://10.77.0.9/`},
	{"a name that nobody allowed", `curl -fsS -m 5 -o /dev/null http://other.test/`},
	{"a process of the host", `grep -qz 98765432 /proc/$VICTIM/cmdline && kill -CONT $VICTIM`},
	{"a file outside the workspace", `echo hostile > "$OUTSIDE/planted"`},
	{"shared memory of the host", `grep -q canary /dev/shm/canary`},
	{"a socket of the host", `python3 -c 'import socket,sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); assert b"canary" in s.recv(9)' "$SOCKET"`},
	{"/tmp of the host", `grep -q canary /tmp/canary`},
}

// Attacked plays them all on a rung.
func Attacked(t *testing.T, begin func(*testing.T) *Fixture) {
	f := begin(t)
	outside := t.TempDir()
	env := append(plant(t, outside), "OUTSIDE="+outside)
	for _, a := range attacks {
		open := exec.Command("sh", "-c", a.script)
		open.Dir, open.Env = f.Dir, append([]string{"PATH=" + os.Getenv("PATH"), "HOST_TOKEN=canary-token"}, env...)
		if out, err := open.CombinedOutput(); err != nil {
			t.Errorf("%s: the control fails: %v\n%s", a.name, err, out)
		}
		os.Remove(filepath.Join(outside, "planted"))
		args := []string{"run", "--rung", f.Rung, "--allow-host", world.Allowed}
		for _, v := range env { // where things are is no secret
			args = append(args, "--env", v)
		}
		in := f.Cmd(append(args, "--", "sh", "-c", "echo tried >&2; "+a.script)...)
		in.Env = append(in.Env, "HOST_TOKEN=canary-token")
		out, _ := in.CombinedOutput()
		if in.ProcessState.ExitCode() == 0 || !strings.Contains(string(out), "tried\n") {
			t.Errorf("%s: status %d\n%s", a.name, in.ProcessState.ExitCode(), out)
		}
		if _, err := os.Stat(filepath.Join(outside, "planted")); err == nil {
			t.Errorf("%s: there is a file on the host", a.name)
			os.Remove(filepath.Join(outside, "planted"))
		}
	}
}

// plant puts canaries on the host, and says where.
func plant(t *testing.T, dir string) []string {
	t.Helper()
	write := func(path string) {
		t.Helper()
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		if err == nil {
			err = os.WriteFile(path, []byte("canary\n"), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Remove(path) })
	}
	home := filepath.Join(stage.Home, "attacked")
	for _, p := range []string{home + "/.ssh/id_ed25519", "/dev/shm/canary", "/tmp/canary"} {
		write(p)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	tcp, err := net.Listen("tcp4", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tcp.Close() })
	go http.Serve(tcp, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "canary\n") }))
	at := filepath.Join(dir, "s")
	sock, err := net.Listen("unix", at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sock.Close() })
	go func() {
		for {
			c, err := sock.Accept()
			if err != nil {
				return
			}
			io.WriteString(c, "canary\n")
			c.Close()
		}
	}()
	victim := exec.Command("sleep", "98765432")
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { victim.Process.Kill(); victim.Wait() })
	return []string{"REAL_HOME=" + home, "SOCKET=" + at, fmt.Sprintf("PORT=%d", tcp.Addr().(*net.TCPAddr).Port), fmt.Sprintf("VICTIM=%d", victim.Process.Pid)}
}
