package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/test/work"
)

// between stands before the engine: act is called with every request, before the engine
// has it. That is the moment which others have who wait for a container to come.
func between(t *testing.T, f *work.Fixture, act func(method, path string, body []byte)) {
	t.Helper()
	judged(t, f, "", func(method, path string, body []byte) ([]byte, string) {
		act(method, path, body)
		return body, ""
	})
}

// judged is between for one who may change a request, or refuse it with a reason as the
// authorization plugin of an engine does. more is added to the policy of the user.
func judged(t *testing.T, f *work.Fixture, more string, act func(method, path string, body []byte) (passed []byte, refused string)) {
	t.Helper()
	at := filepath.Join(f.State, "between")
	l, err := net.Listen("unix", at)
	if err != nil {
		t.Fatal(err)
	}
	to := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", socket) }}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		body, why := act(r.Method, r.URL.Path, body)
		if why != "" {
			w.WriteHeader(http.StatusForbidden)
			json.NewEncoder(w).Encode(map[string]string{"message": "authorization denied by plugin house-rules: " + why})
			return
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		p := httputil.ReverseProxy{Transport: to, FlushInterval: -1, Rewrite: func(p *httputil.ProxyRequest) { p.Out.URL.Scheme, p.Out.URL.Host = "http", "engine" }}
		p.ServeHTTP(w, r)
	})}
	go srv.Serve(l)
	t.Cleanup(func() { srv.Close() })
	f.Policy("[rung]\nengine = \"" + at + "\"\n" + more)
}

// sources are the shares of an order for a container, by where it has them.
func sources(t *testing.T, order []byte) map[string]string {
	t.Helper()
	var o struct {
		HostConfig struct {
			Mounts []struct{ Source, Target string }
		}
	}
	if err := json.Unmarshal(order, &o); err != nil {
		t.Error(err)
	}
	out := map[string]string{}
	for _, m := range o.HostConfig.Mounts {
		out[m.Target] = m.Source
	}
	return out
}

// TestSwapped: who can rename a directory after it was judged, as the agent of another
// session can in its workspace, leads the engine elsewhere. The session does not start.
func TestSwapped(t *testing.T) {
	f := newFixture(t)
	secret := filepath.Join(os.Getenv("HOME"), "kept")
	if err := os.MkdirAll(secret, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(secret) })
	for _, name := range []string{"HEAD", "tool", "secret"} {
		if err := os.WriteFile(filepath.Join(secret, name), []byte("#!/bin/sh\necho not to be seen\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	other := filepath.Join(f.Dir, "other") // the workspace of another session
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b", "-C", other}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	if err := os.MkdirAll(filepath.Join(other, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(other, "bin", "tool"), []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	git("init", "-q")
	git("commit", "-q", "--allow-empty", "-m", "x")
	tree := filepath.Join(f.Dir, "tree")
	git("worktree", "add", "-q", tree)
	for name, c := range map[string]struct {
		at     string
		env    string
		inside string
	}{
		"workspace":     {at: tree, inside: "cat secret"},
		"git directory": {at: filepath.Join(other, ".git"), inside: "cat " + other + "/.git/secret"},
		"toolchain":     {at: filepath.Join(other, "bin"), env: "PATH=" + filepath.Join(other, "bin") + ":" + os.Getenv("PATH"), inside: "cat " + other + "/bin/secret"},
	} {
		for _, v := range []struct{ view, more string }{{"--review", ""}, {"--live", ""}, {"--review", confined}} {
			if v.more == confined && name != "toolchain" {
				continue // what can be changed is a copy, which nobody else reaches
			}
			var swapped bool
			judged(t, f, v.more, func(_, path string, body []byte) ([]byte, string) {
				if !strings.HasSuffix(path, "/containers/create") {
					return body, ""
				}
				for at := range sources(t, body) {
					if at == c.at {
						swapped = os.Rename(at, at+"-") == nil && os.Symlink(secret, at) == nil
					}
				}
				return body, ""
			})
			cmd := f.Cmd("run", "--rung", "container", "--net", "none", v.view, "--", "sh", "-c", c.inside)
			cmd.Dir = tree
			if c.env != "" {
				cmd.Env = append(cmd.Env, c.env)
			}
			out, err := cmd.CombinedOutput()
			if strings.Contains(string(out), "not to be seen") || cmd.ProcessState.ExitCode() != 125 || !swapped {
				t.Errorf("%s %s: swapped %v, %v\n%s", name, v, swapped, err, out)
			}
			if swapped {
				if err := os.Remove(c.at); err != nil {
					t.Fatal(err)
				}
				if err := os.Rename(c.at+"-", c.at); err != nil {
					t.Fatal(err)
				}
			}
			os.Remove(filepath.Join(f.State, "between"))
		}
	}
}

// TestTemporary: the socket by which a container comes to us does not lie where an agent of
// another session may write, whatever TMPDIR says. Who takes its place would have the
// container.
func TestTemporary(t *testing.T) {
	f := newFixture(t)
	shared := filepath.Join(f.Dir, "tmp")
	if err := os.MkdirAll(shared, 0o700); err != nil {
		t.Fatal(err)
	}
	var came bool
	between(t, f, func(_, path string, body []byte) {
		if !strings.HasSuffix(path, "/containers/create") {
			return
		}
		dir := sources(t, body)["/ringfence-link"]
		if !strings.HasPrefix(dir, shared) {
			return
		}
		if os.Rename(dir, dir+"-") != nil || os.Mkdir(dir, 0o700) != nil {
			return
		}
		l, err := net.Listen("unix", dir+"/s")
		if err != nil {
			return
		}
		go func() {
			if c, err := l.Accept(); err == nil {
				raw, _ := c.(*net.UnixConn).SyscallConn()
				raw.Control(func(fd uintptr) {
					p, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
					t.Log(p, err)
				})
				came = true
				c.Close()
			}
		}()
	})
	cmd := f.Cmd("run", "--rung", "container", "--net", "none", "--", "true")
	cmd.Env = append(cmd.Env, "TMPDIR="+shared)
	out, err := cmd.CombinedOutput()
	if err != nil || came {
		t.Errorf("came to somebody else: %v; %v\n%s", came, err, out)
	}
}

// TestMadeLate: the engine makes a container for a supervisor that was killed meanwhile, and
// after the janitor looked for it.
func TestMadeLate(t *testing.T) {
	f := newFixture(t)
	cmd := f.Cmd("run", "--rung", "container", "--net", "none", "--", "sleep", "1000")
	asked, looked := make(chan []byte, 1), make(chan string, 20)
	between(t, f, func(method, path string, body []byte) {
		switch {
		case strings.HasSuffix(path, "/containers/create"):
			asked <- body
			<-t.Context().Done()
		case method == http.MethodDelete:
			looked <- filepath.Base(path)
		}
	})
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-asked
	cmd.Process.Kill()
	cmd.Wait()
	<-looked
	docker(t, "create", "--name", <-looked, "ringfence-nothing:1", "/never")
	f.Eventually("its end", func() bool { return len(containers(t)) == 0 })
}

// TestSocketShown: an engine whose socket the agent would reach is not spoken to.
func TestSocketShown(t *testing.T) {
	f := newFixture(t)
	between(t, f, func(method, path string, _ []byte) {
		if strings.HasSuffix(path, "/containers/create") {
			t.Error(method, path)
		}
	})
	at := filepath.Join(f.Dir, "engine")
	if err := os.Rename(filepath.Join(f.State, "between"), at); err != nil {
		t.Fatal(err)
	}
	f.Policy("[rung]\nengine = \"" + at + "\"\n")
	if r := f.On("echo ran", "--net", "none"); r.Status != 125 || r.Stdout != "" || !strings.Contains(r.Stderr, "as good as root") {
		t.Errorf("status %d\n%s%s", r.Status, r.Stdout, r.Stderr)
	}
}

// TestHangs: a person who gives up waits no longer for an engine that does not answer.
func TestHangs(t *testing.T) {
	f := newFixture(t)
	asked, never := make(chan bool), make(chan bool)
	var once sync.Once
	between(t, f, func(_, path string, _ []byte) {
		if strings.HasSuffix(path, "/containers/create") {
			once.Do(func() { close(asked) })
			<-never
		}
	})
	t.Cleanup(func() { close(never) })
	cmd := f.Cmd("run", "--rung", "container", "--net", "none", "--", "sleep", "1000")
	var talk bytes.Buffer
	cmd.Stderr = &talk
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-asked
	cmd.Process.Signal(os.Interrupt)
	cmd.Wait()
	if s := cmd.ProcessState.ExitCode(); s != 125 || !strings.Contains(talk.String(), "interrupted") {
		t.Errorf("status %d\n%s", s, &talk)
	}
}
