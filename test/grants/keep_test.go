package grants

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"

	"ringfence.dev/ringfence/test/grants/hand"
	"ringfence.dev/ringfence/test/grants/order"
	"ringfence.dev/ringfence/test/wait"
	"ringfence.dev/ringfence/test/world"
)

// kept lists the files in which grants are kept.
func kept(t *testing.T, w *world.World) map[string]string {
	t.Helper()
	out := map[string]string{}
	top := filepath.Join(w.State, "config/ringfence")
	filepath.WalkDir(top, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			rel, _ := filepath.Rel(top, path)
			out[rel] = string(b)
		}
		return nil
	})
	return out
}

// rules are the lines of a file that mean something.
func rules(text string) string {
	var out []string
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "  # ") // the day and the reason
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n")
}

// elsewhere makes a second project in the same world, with its own workspace.
func elsewhere(t *testing.T, w *world.World) *world.World {
	t.Helper()
	dir, err := os.MkdirTemp(filepath.Dir(w.Dir), "elsewhere-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	other := *w
	other.Dir = dir
	return &other
}

// reached starts a session and reports whether it gets to a URL.
func reached(t *testing.T, w *world.World, url string) bool {
	t.Helper()
	s := hand.Start(t, w)
	defer s.Stop()
	return s.Do(order.Order{Do: "get", At: url}).Status == 200
}

// TestKeep: the very rule that is shown is kept, where it was said, and holds in the
// next session there.
func TestKeep(t *testing.T) {
	for _, c := range []struct {
		flag, asked, rule string
		everywhere        bool
	}{
		{"--project", world.Other, world.Other, false},
		{"--always", world.Other, world.Other, true},
		{"--project", "OTHER.test:80", "other.test:80", false},
		{"--always", "http://other.test/bytes/*", "http://other.test/bytes/*", true},
		{"--always", "GET,HEAD http://other.test/bytes/*", "GET,HEAD http://other.test/bytes/*", true},
	} {
		t.Run(c.flag+" "+c.asked, func(t *testing.T) {
			w := world.New(t)
			s := hand.Start(t, w)
			r := s.Grant("--host", c.asked, c.flag)
			if r.Status != 1 || !strings.Contains(r.Stderr, `[network] allow = ["`+c.rule+`"]`) || !strings.Contains(r.Stderr, "nothing was changed") {
				t.Errorf("without --yes and without a terminal: %+v", r)
			}
			if files := kept(t, w); len(files) > 0 || len(s.Status().Grants) > 0 {
				t.Fatalf("nobody said yes, and yet: %q, %+v", files, s.Status().Grants)
			}
			if r := s.Grant("--host", c.asked, c.flag, "--yes"); r.Status != 0 || !strings.Contains(r.Stderr, c.rule) {
				t.Fatalf("with --yes: %+v", r)
			}
			files := kept(t, w)
			if len(files) != 1 {
				t.Fatalf("kept: %q", files)
			}
			for name, text := range files {
				if want := "[network]\nallow = [\n\"" + c.rule + "\",\n]"; rules(text) != want {
					t.Errorf("%s holds\n%s\nwant\n%s", name, text, want)
				}
				if st, err := os.Stat(filepath.Join(w.State, "config/ringfence", name)); err != nil || st.Mode().Perm() != 0o600 {
					t.Errorf("%s: %v, %v", name, st, err)
				}
			}
			if a := s.Do(order.Order{Do: "get", At: otherWeb + "bytes/1"}); a.Status != 200 {
				t.Errorf("the running session: %+v", a)
			}
			s.Stop()
			if !reached(t, w, otherWeb+"bytes/1") {
				t.Error("the next session in the project does not have it")
			}
			if got := reached(t, elsewhere(t, w), otherWeb+"bytes/1"); got != c.everywhere {
				t.Errorf("another project has it: %v, want %v", got, c.everywhere)
			}
		})
	}
}

// TestKeepNarrow: what was kept allows nothing beside it.
func TestKeepNarrow(t *testing.T) {
	w := world.New(t)
	s := hand.Start(t, w)
	s.Grant("--host", "GET http://other.test/bytes/*", "--always", "--yes")
	s.Grant("--host", world.Allowed+":443", "--always", "--yes")
	s.Grant("--host", world.Allowed+":443", "--always", "--yes") // again: once is enough
	s.Stop()
	if got, want := rules(kept(t, w)["grants.toml"]), "[network]\nallow = [\n\"GET http://other.test/bytes/*\",\n\"allowed.test:443\",\n]"; got != want {
		t.Errorf("kept:\n%s\nwant\n%s", got, want)
	}
	s = hand.Start(t, w)
	if a := s.Do(order.Order{Do: "get", At: otherWeb + "bytes/1"}); a.Status != 200 {
		t.Errorf("what was granted: %+v", a)
	}
	if a := s.Do(order.Order{Do: "get", At: "https://" + world.Allowed + "/"}); a.Status != 200 {
		t.Errorf("what was granted: %+v", a)
	}
	w.Forget()
	for _, o := range []order.Order{
		{Do: "get", At: otherWeb},
		{Do: "upload", At: world.Other, Text: "http", N: 1},
		{Do: "get", At: "https://" + world.Other + "/bytes/1"},
		{Do: "get", At: "http://" + world.Allowed + "/"},
		{Do: "get", At: "https://x." + world.Allowed + "/"},
	} {
		if a := s.Do(o); a.Status == 200 {
			t.Errorf("%+v: %+v", o, a)
		}
	}
	for _, h := range w.Heard() {
		if h.Bytes > 0 {
			t.Errorf("%v:%d heard %q", h.Addr, h.Port, h.First)
		}
	}
}

// TestKeepConfirmed: on a terminal the rule is shown and asked about.
func TestKeepConfirmed(t *testing.T) {
	for _, c := range []struct {
		say  string
		want bool
	}{{"y\r", true}, {"n\r", false}, {"\r", false}, {"yes please\r", false}, {"\x04", false}} {
		t.Run(strings.Trim(c.say, "\r\x04")+".", func(t *testing.T) {
			w := world.New(t)
			s := hand.Start(t, w)
			ctx, cancel := context.WithTimeout(context.Background(), wait.Patience)
			defer cancel()
			cmd := w.Command(ctx, "grant", s.ID, "--host", world.Other, "--always")
			tty, err := pty.Start(cmd)
			if err != nil {
				t.Fatal(err)
			}
			defer tty.Close()
			shown := ""
			buf := make([]byte, 4096)
			for !strings.Contains(shown, "[y/N]") {
				n, err := tty.Read(buf)
				if err != nil {
					t.Fatalf("not asked: %q, %v", shown, err)
				}
				shown += string(buf[:n])
			}
			if !strings.Contains(shown, `[network] allow = ["other.test"], for all projects`) {
				t.Errorf("shown before the question: %q", shown)
			}
			if _, err := io.WriteString(tty, c.say); err != nil {
				t.Fatal(err)
			}
			go io.Copy(io.Discard, tty)
			cmd.Wait()
			if got := cmd.ProcessState.ExitCode() == 0; got != c.want {
				t.Errorf("status %d, want success: %v", cmd.ProcessState.ExitCode(), c.want)
			}
			if got := len(kept(t, w)) > 0; got != c.want {
				t.Errorf("kept %q, want it: %v", kept(t, w), c.want)
			}
			if got := len(s.Status().Grants) > 0; got != c.want {
				t.Errorf("granted %+v, want it: %v", s.Status().Grants, c.want)
			}
		})
	}
}

// TestKeepWithoutSession: nothing is kept for a session that is not there.
func TestKeepWithoutSession(t *testing.T) {
	w := world.New(t)
	if r := hand.Ringfence(t, w, "grant", "0000000000", "--host", world.Other, "--always", "--yes"); r.Status == 0 || !strings.Contains(r.Stderr, "no session") {
		t.Errorf("%+v", r)
	}
	if files := kept(t, w); len(files) > 0 {
		t.Errorf("kept: %q", files)
	}
}

// TestKeepForeign: a file that is somebody's own is left alone.
func TestKeepForeign(t *testing.T) {
	for name, text := range map[string]string{
		"more than hosts": "[network]\nmode = \"internet\"\nallow = [\"a.test\"]\n",
		"damaged":         "[network]\nallow = [\n",
	} {
		t.Run(name, func(t *testing.T) {
			w := world.New(t)
			s := hand.Start(t, w)
			path := hand.Config(t, w, "grants.toml", text)
			if r := s.Grant("--host", world.Other, "--always", "--yes"); r.Status == 0 || !strings.Contains(r.Stderr, "grants.toml") {
				t.Errorf("%+v", r)
			}
			if b, err := os.ReadFile(path); err != nil || string(b) != text {
				t.Errorf("changed: %q, %v", b, err)
			}
		})
	}
}

// TestDamage: a damaged file stops the launch and says where.
func TestDamage(t *testing.T) {
	for _, c := range []struct{ name, text, where string }{
		{"no end", "[network]\nallow = [\n  \"other.test\",\n", "grants.toml:"},
		{"not a host", "[network]\nallow = [\n  \"other.test\",\n  \"*\",\n]\n", "grants.toml:4"},
		{"unknown key", "[network]\nallow = []\nalow = []\n", "grants.toml:3"},
		{"not TOML", "\x00\x01\x02", "grants.toml:1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := world.New(t)
			hand.Config(t, w, "grants.toml", c.text)
			r := w.Run("--", "true")
			if r.Status < 125 || !strings.Contains(r.Stderr, c.where) || len(r.Journal) > 0 {
				t.Errorf("%+v, want %q", r, c.where)
			}
		})
	}
}

// TestDamageProject: the same for the file of a project, which stops nobody elsewhere.
func TestDamageProject(t *testing.T) {
	w := world.New(t)
	s := hand.Start(t, w)
	s.Grant("--host", world.Other, "--project", "--yes")
	s.Stop()
	for name := range kept(t, w) {
		hand.Config(t, w, name, "[network]\nallow = [\n  \"other.test\"\n  \"x.test\",\n]\n")
		if r := w.Run("--", "true"); r.Status < 125 || !strings.Contains(r.Stderr, name+":4") {
			t.Errorf("%+v, want %q", r, name+":4")
		}
	}
	if r := elsewhere(t, w).Run("--", "true"); r.Status != 0 {
		t.Errorf("another project: %+v", r)
	}
}

// TestKeepAtOnce: two people keep a rule at the same time, and neither is lost.
func TestKeepAtOnce(t *testing.T) {
	w := world.New(t)
	s := hand.Start(t, w)
	const n = 12
	done := make(chan int, n)
	for i := range n {
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), wait.Patience)
			defer cancel()
			cmd := w.Command(ctx, "grant", s.ID, "--host", "n"+string(rune('a'+i))+".test", "--always", "--yes")
			cmd.Run()
			done <- cmd.ProcessState.ExitCode()
		}()
	}
	good := 0
	for range n {
		if <-done == 0 {
			good++
		}
	}
	if got := strings.Count(kept(t, w)["grants.toml"], ".test\""); got != good {
		t.Errorf("%d were told that it is kept, %d rules are:\n%s", good, got, kept(t, w)["grants.toml"])
	}
}
