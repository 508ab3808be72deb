package work

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/sandbox/far"
	"ringfence.dev/ringfence/test/built"
)

// overALink is for what only a far end has.
func overALink(t *testing.T) *Fixture {
	if !built.Loop() {
		t.Skip("there is no far end")
	}
	return native(t)
}

// TestFarEndDies: what was brought over by then waits for review, and the person hears that
// the rest is lost.
func TestFarEndDies(t *testing.T) {
	f := overALink(t)
	id := f.Start("echo new > made; echo ok; exec sleep 1000", "--review", "--net", "none")
	f.Said(id, "ok")
	if out, _ := f.Cmd("diff", id).CombinedOutput(); !strings.Contains(string(out), "made") {
		t.Fatalf("a person who looks sees nothing\n%s", out)
	}
	supervisor := f.Supervisor(id)
	ended := false
	for _, p := range Below(t, supervisor) {
		if p.Argv == far.Name && p.Parent == supervisor {
			ended = kill(p.PID) == nil
		}
	}
	if !ended {
		t.Fatal("there is no far end")
	}
	f.Eventually("the end of the session", func() bool { return len(f.PS()) == 0 })
	if out, _ := f.Cmd("output", id).CombinedOutput(); !strings.Contains(string(out), "ok") {
		t.Errorf("its output is gone\n%s", out)
	}
	if out, err := f.Cmd("apply", "--yes", id).CombinedOutput(); err != nil {
		t.Errorf("apply: %v\n%s", err, out)
	}
	if b, err := os.ReadFile(filepath.Join(f.Dir, "made")); string(b) != "new\n" {
		t.Errorf("%q, %v", b, err)
	}
}

const secret = "API_TOKEN=real-secret-4-abcdefgh\n"

// TestLateMask: a file of secrets that appears while a session runs at a far end is masked
// there, and the session goes on. It is no change, and the host keeps its own.
func TestLateMask(t *testing.T) {
	f := overALink(t)
	id := f.Start("echo ok; exec sleep 1000", "--review", "--net", "none")
	f.Said(id, "ok")
	at := filepath.Join(f.Dir, ".env")
	if err := os.WriteFile(at, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	var inside string
	f.Eventually("the mask", func() bool {
		out, err := f.Cmd("exec", id, "--", "cat", ".env").CombinedOutput()
		inside = string(out)
		return err == nil && strings.Contains(inside, "API_TOKEN=") && !strings.Contains(inside, "real-secret")
	})
	f.Eventually("a review that does not take it for a change", func() bool {
		out, err := f.Cmd("diff", id).CombinedOutput()
		return err == nil && !strings.Contains(string(out), ".env")
	})
	if b, _ := os.ReadFile(at); string(b) != secret {
		t.Errorf("the host has %q", b)
	}
	if len(f.PS()) != 1 {
		t.Error("the session was ended")
	}
}

// TestLateMaskOverALink: a mask never goes through a link of the agent's, nor over what the
// agent made itself.
func TestLateMaskOverALink(t *testing.T) {
	f := overALink(t)
	for _, d := range []string{"one", "two"} {
		if err := os.Mkdir(filepath.Join(f.Dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	id := f.Start("rmdir one; mkdir own; echo mine > own/.env; ln -s own one; echo mine > two/.env; echo ok; exec sleep 1000", "--review", "--net", "none")
	f.Said(id, "ok")
	for _, d := range []string{"one", "two", "."} {
		if err := os.WriteFile(filepath.Join(f.Dir, d, ".env"), []byte(secret), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f.Eventually("the mask of the last one", func() bool { // they are looked at in their order
		out, err := f.Cmd("exec", id, "--", "cat", ".env").CombinedOutput()
		return err == nil && strings.Contains(string(out), "API_TOKEN=") && !strings.Contains(string(out), "real-secret")
	})
	for _, name := range []string{"own/.env", "one/.env", "two/.env"} {
		if out, err := f.Cmd("exec", id, "--", "cat", name).CombinedOutput(); string(out) != "mine\n" {
			t.Errorf("%s: %q, %v", name, out, err)
		}
	}
}
