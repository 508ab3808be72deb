package ssh

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/sandbox/envelope"
	"ringfence.dev/ringfence/internal/sandbox/far"
)

// Layers that nobody sealed stay for as long as sealed ones, from when they are first found;
// all else of a dead session goes at once, and nothing of one that lives.
func TestSweep(t *testing.T) {
	cache := t.TempDir()
	at := func(session, name string) string { return filepath.Join(cache, "work", session, name) }
	there := func(session, name string) bool { _, err := os.Lstat(at(session, name)); return err == nil }
	for session, names := range map[string][]string{
		"killed":  {"layers/0/upper/made", "layers/own/1", "trees/project", "sealed"},
		"early":   {"trees/project"},
		"tried":   {"trial/0/upper/made", "trees/project"},
		"lives":   {"layers/0/upper/made", "trees/project"},
		"is left": {"layers/0/upper/made"},
	} {
		for _, name := range names {
			if err := os.MkdirAll(at(session, name), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(at(session, "door"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		old := time.Now().Add(-2 * keptFor) // it was long when it was killed
		if err := os.Chtimes(at(session, ""), old, old); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(cache, "waiting", "is left"), 0o700); err != nil {
		t.Fatal(err)
	}
	lock, err := file.LockDir(at("lives", ""), unix.LOCK_EX)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	for range 2 {
		sweep(cache)
		if !there("killed", "layers/0/upper/made") || there("killed", "trees") || there("killed", "sealed") || there("killed", "layers/own") {
			t.Error("of one that was killed not just its layers are left")
		}
		if there("early", "") || there("tried", "") || there("is left", "") {
			t.Error("what nobody can fetch stays")
		}
		if !there("lives", "trees/project") || !there("lives", "door") {
			t.Error("one that lives was touched")
		}
	}
	old := time.Now().Add(-keptFor - time.Minute)
	if err := os.Chtimes(at("killed", ""), old, old); err != nil {
		t.Fatal(err)
	}
	if sweep(cache); there("killed", "") {
		t.Error("it stays for ever")
	}
}

// A machine that says that nothing is there does not make us forget the key.
func TestKeyKept(t *testing.T) {
	l := leaves(t)
	if err := l.note.write(l.dir); err != nil {
		t.Fatal(err)
	}
	for _, state := range []string{stateGone, stateLeft, stateUnsealed, ""} {
		w := &way{note: l.note, dir: l.dir, place: place{host: "box"}, state: state}
		w.Left()
		if _, err := readNote(l.dir); err != nil {
			t.Errorf("%q: %v", state, err)
		}
	}
}

// Who cannot seal keeps the layers: they may still change, or there is no room. What is left of
// the try goes.
func TestLeave(t *testing.T) {
	key, err := envelope.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	cache := t.TempDir()
	w := &work{cache: cache, dir: filepath.Join(cache, "work", "one")}
	dir := far.LayerDir(w.layers(), 0)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	here := &terms{Seal: key.Public()}
	if w.leave(here, []string{dir}, false) == nil || w.state() != stateUnsealed {
		t.Error("what may still change was sealed")
	}
	if w.leave(&terms{Keep: -1}, []string{dir}, false) != nil {
		t.Error("what nobody fetches is kept")
	}
	if err := os.WriteFile(w.waiting(), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if w.leave(here, []string{dir}, true) == nil || w.state() != stateUnsealed {
		t.Error("nobody heard that it could not be sealed")
	}
	if err := os.Remove(w.waiting()); err != nil {
		t.Fatal(err)
	}
	if w.leave(here, []string{dir, filepath.Join(cache, "none")}, true) == nil || w.state() != stateUnsealed {
		t.Error("half of it was sealed")
	}
	if _, err := os.Lstat(filepath.Join(w.dir, "sealed")); err == nil {
		t.Error("what could not be sealed takes room")
	}
	if err := w.leave(here, []string{dir}, true); err != nil || w.state() != stateLeft {
		t.Error(err)
	}
}
