package microvm

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/program"
)

// TestElsewhere: an emulator that is not the system's finds itself and its firmware in its jail, and
// nothing else of where it lies. What has another shape is refused, with the shape that helps.
func TestElsewhere(t *testing.T) {
	prefix := t.TempDir()
	at := filepath.Join(prefix, "bin/qemu")
	for _, dir := range []string{"bin", "share/qemu", "sbin", "lib/qemu", "lib/other"} {
		if err := os.MkdirAll(filepath.Join(prefix, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	err := errors.Join(os.WriteFile(at, []byte("emulator"), 0o755), os.WriteFile(filepath.Join(prefix, "sbin/qemu"), nil, 0o755),
		os.WriteFile(filepath.Join(prefix, "share/qemu/bios"), []byte("firmware"), 0o644), os.WriteFile(filepath.Join(prefix, "share/other"), nil, 0o644))
	if err != nil {
		t.Fatal(err)
	}
	shown := func(at string) ([]plan.Op, error) {
		q, err := program.Kind{Name: "qemu"}.Open(at)
		if err != nil {
			t.Fatal(err)
		}
		defer q.File.Close()
		return elsewhere(q)
	}
	if ops, err := shown("/usr/bin/env"); err != nil || ops != nil {
		t.Errorf("the system's: %v, %v", ops, err)
	}
	if _, err := shown(filepath.Join(prefix, "sbin/qemu")); err == nil || !strings.Contains(err.Error(), "not called bin") {
		t.Errorf("another shape: %v", err)
	}
	ops, err := shown(at)
	if err != nil {
		t.Fatal(err)
	}
	onlyTrusted(t, prefix, func() error { _, err := shown(at); return err })
	session, _, _ := layered(t)
	add := func(p *plan.Plan) { p.Ops = slices.Insert(p.Ops, 2, ops...) }
	j, err := raiseChanged(t, session, around, add)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"/bin/qemu": "emulator", "/share/qemu/bios": "firmware"} {
		if said := j.asks("read", prefix+name); said != want {
			t.Errorf("%s: %q", name, said)
		}
	}
	if said := j.asks("list", prefix) + ", " + j.asks("list", prefix+"/share") + ", " + j.asks("list", prefix+"/lib"); said != "bin lib share, qemu, qemu" {
		t.Errorf("it shows %q", said)
	}
	if err := errors.Join(os.Rename(at, at+".old"), os.WriteFile(at, []byte("another"), 0o755)); err != nil {
		t.Fatal(err)
	}
	if _, err := raiseChanged(t, session, around, add); err == nil || !strings.Contains(err.Error(), "replaced meanwhile") {
		t.Errorf("another emulator: %v", err)
	}
	if err := os.RemoveAll(filepath.Join(prefix, "share")); err != nil {
		t.Fatal(err)
	}
	if _, err := shown(at); err == nil || !strings.Contains(err.Error(), "there is no directory") {
		t.Errorf("no firmware: %v", err)
	}
}

// onlyTrusted changes who may write to what lies beside an emulator: each is refused.
func onlyTrusted(t *testing.T, prefix string, shown func() error) {
	t.Helper()
	for _, open := range []string{"share/qemu/bios", "share/qemu", "lib/qemu"} {
		name := filepath.Join(prefix, open)
		was, err := os.Lstat(name)
		if err == nil {
			err = os.Chmod(name, was.Mode().Perm()|0o020)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := shown(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("a group may write to %s: %v", open, err)
		}
		if err := os.Chmod(name, was.Mode().Perm()); err != nil {
			t.Fatal(err)
		}
	}
	if bios := filepath.Join(prefix, "share/qemu/bios"); os.Geteuid() == 0 {
		if err := os.Chown(bios, 4711, 0); err != nil {
			t.Fatal(err)
		}
		if err := shown(); err == nil || !strings.Contains(err.Error(), "belongs to user 4711") {
			t.Errorf("somebody else's firmware: %v", err)
		}
		if err := os.Chown(bios, 0, 0); err != nil {
			t.Fatal(err)
		}
	}
}

// TestVersion: an emulator says its version in a jail, once.
func TestVersion(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_STATE_HOME", "")
	dir, err := cache()
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	says := func(text string) *program.File {
		prefix := t.TempDir()
		at := filepath.Join(prefix, "bin/qemu")
		if err := errors.Join(os.MkdirAll(filepath.Join(prefix, "bin"), 0o755), os.MkdirAll(filepath.Join(prefix, "share/qemu"), 0o755),
			os.WriteFile(at, []byte("#!/bin/sh\n"+text+"\n"), 0o755)); err != nil {
			t.Fatal(err)
		}
		q, err := program.Kind{Name: "qemu"}.Open(at)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { q.File.Close() })
		return q
	}
	q := says(`echo "QEMU emulator version 7.2 (of $1)"`)
	if v, err := keptVersion(q, "one"); err != nil || v != "7.2 (of --version)" {
		t.Errorf("%q, %v", v, err)
	}
	other := says(`echo "QEMU emulator version 8.0"`)
	for id, want := range map[string]string{"one": "7.2 (of --version)", "": "8.0"} {
		if v, err := keptVersion(other, id); err != nil || v != want {
			t.Errorf("%q: %q, %v", id, v, err)
		}
	}
	for _, text := range []string{"exit 1", `printf 'QEMU emulator version \033[31m\n'`, "echo version 1"} {
		q := says(text)
		if v, err := keptVersion(q, ""); err == nil {
			t.Errorf("%s: %q", text, v)
		}
	}
}
