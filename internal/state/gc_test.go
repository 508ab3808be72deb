package state

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"ringfence.dev/ringfence/internal/fault"
)

const day = 24 * time.Hour

// age sets when a project was last used.
func age(t *testing.T, d Dirs, root string, ago time.Duration) {
	t.Helper()
	at := time.Now().Add(-ago)
	if err := os.Chtimes(filepath.Join(d.State, "projects", Key(root), recordName), at, at); err != nil {
		t.Fatal(err)
	}
}

func TestGC(t *testing.T) {
	d := newDirs(t)
	if stale, err := d.GC(time.Now(), day); stale != nil || err != nil {
		t.Errorf("without any state: %v, %v", stale, err)
	}
	here, gone := t.TempDir(), filepath.Join(t.TempDir(), "gone\xff\n")
	held := filepath.Join(t.TempDir(), "held")
	for _, root := range []string{here, "/", gone, filepath.Join(here, "file", "below")} {
		open(t, d, root).Close()
	}
	if err := os.WriteFile(filepath.Join(here, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p := open(t, d, held)
	defer p.Close()
	age(t, d, here, 40*day)
	age(t, d, gone, 2*day)
	age(t, d, held, 90*day)

	want := map[string]Why{here: Unused, gone: RootGone, filepath.Join(here, "file", "below"): RootGone}
	stale, err := d.GC(time.Now(), 30*day)
	if err != nil || len(stale) != len(want) || stale[0].Root != here {
		t.Errorf("%+v, %v", stale, err)
	}
	for _, s := range stale {
		if want[s.Root] != s.Why || s.Key != Key(s.Root) || s.Size <= 0 || s.AtLeast {
			t.Errorf("%+v", s)
		}
	}
	if stale, err := d.GC(time.Now(), 0); err != nil || len(stale) != 2 {
		t.Errorf("by root alone: %+v, %v", stale, err)
	}
	for _, s := range stale {
		if err := d.Remove(s); err != nil {
			t.Error(err)
		}
	}
	complete(t, d, 2)
}

func TestGCDamaged(t *testing.T) {
	d := newDirs(t)
	for _, root := range []string{"/a", "/b"} {
		open(t, d, root).Close()
	}
	dir := filepath.Join(d.State, "projects")
	if err := os.WriteFile(filepath.Join(dir, Key("/a"), recordName), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, Key("/b"), recordName)); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, Key("/b"), lockName)); err != nil {
		t.Fatal(err)
	}
	for _, root := range []string{"/a", "/b"} {
		if _, err := d.Open(root); err == nil || fault.HintOf(err) == "" {
			t.Errorf("damaged project opened: %v", err)
		}
	}
	for _, name := range []string{"notes.txt", "0123456789abcdef"} { // somebody else's
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	stale, err := d.GC(time.Now(), 0)
	if err != nil || len(stale) != 2 || stale[0].Why != Damaged || stale[1].Why != Damaged {
		t.Fatalf("%+v, %v", stale, err)
	}
	for _, s := range stale {
		if err := d.Remove(s); err != nil {
			t.Error(err)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 2 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestRemoveRefuses(t *testing.T) {
	d := newDirs(t)
	open(t, d, "/gone/x").Close()
	stale, err := d.GC(time.Now(), 0)
	if err != nil || len(stale) != 1 {
		t.Fatalf("%+v, %v", stale, err)
	}
	s := stale[0]
	t.Run("in use", func(t *testing.T) {
		p := open(t, d, "/gone/x")
		defer p.Close()
		if err := d.Remove(s); fault.KindOf(err) != fault.Refused {
			t.Errorf("got %v", err)
		}
		if again, _ := d.GC(time.Now(), 0); again != nil {
			t.Errorf("listed %+v", again)
		}
	})
	t.Run("used since", func(t *testing.T) {
		if err := d.Remove(s); fault.KindOf(err) != fault.Refused {
			t.Errorf("got %v", err)
		}
	})
	t.Run("no key", func(t *testing.T) {
		for _, key := range []string{"", ".", "..", "../../x", "0123456789abcdeg"} {
			if err := d.Remove(Stale{Key: key}); err == nil {
				t.Errorf("removed %q", key)
			}
		}
	})
	complete(t, d, 1)
}

// TestRemoveHostile: what an agent can leave behind goes away, and only that.
func TestRemoveHostile(t *testing.T) {
	d := newDirs(t)
	victim := t.TempDir()
	if err := os.WriteFile(victim+"/secret", []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(victim, 0o711); err != nil { // a mode that nothing of ours sets
		t.Fatal(err)
	}
	p := open(t, d, "/gone/x")
	plant(t, p.Home(), victim)
	p.Close()
	if err := again("remove", "", d).Run(); err != nil {
		t.Fatal(err)
	}
	complete(t, d, 0)
	untouched(t, victim)
	if fi, err := os.Stat(victim); err != nil || fi.Mode().Perm() != 0o711 {
		t.Errorf("victim is %v, %v", fi, err)
	}
}

// plant fills home with what makes a careless removal fail or stray.
func plant(t *testing.T, home, victim string) {
	t.Helper()
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	do(os.Symlink(victim, home+"/link"))
	do(os.Symlink(victim+"/secret", home+"/filelink"))
	do(os.Symlink("/", home+"/root"))
	do(syscall.Mkfifo(home+"/fifo", 0))
	do(os.MkdirAll(home+"/go/pkg/mod/m@v1/sub", 0o755))
	do(os.Symlink(victim, home+"/go/pkg/mod/m@v1/sub/link"))
	do(os.WriteFile(home+"/go/pkg/mod/m@v1/sub/f.go", nil, 0o444))
	do(os.Chmod(home+"/go/pkg/mod/m@v1/sub", 0o555))
	do(os.Chmod(home+"/go/pkg/mod/m@v1", 0o555))
	do(os.MkdirAll(home+"/closed/in", 0o700))
	do(os.Chmod(home+"/closed/in", 0))
	do(os.Chmod(home+"/closed", 0))
	for i := range 3000 {
		do(os.WriteFile(home+"/many-"+NewID()+string(rune('a'+i%26)), nil, 0o600))
	}
	// Deeper than PATH_MAX and than a process may have files open.
	at, err := syscall.Open(home, syscall.O_RDONLY|syscall.O_DIRECTORY, 0)
	do(err)
	for i := range 3000 {
		do(syscall.Mkdirat(at, "d", 0o700))
		next, err := syscall.Openat(at, "d", syscall.O_RDONLY|syscall.O_DIRECTORY, 0)
		do(err)
		if i%7 == 0 {
			do(syscall.Fchmod(at, 0o500))
		}
		syscall.Close(at)
		at = next
	}
	syscall.Close(at)
	do(os.Chmod(home, 0o500))
}
