package login

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestAsking: while Claude Code renews nobody else asks; then its result is used.
func TestAsking(t *testing.T) {
	for _, name := range []string{".claude/.oauth_refresh.lock", ".claude.lock"} {
		sc := newScene(t, Claude, past)
		path := filepath.Join(sc.dir, name)
		if err := os.Mkdir(path, 0o755); err != nil {
			t.Fatal(err)
		}
		l := sc.open(t)
		ctx, cancel := context.WithTimeout(soon(t), 300*time.Millisecond)
		defer cancel()
		if _, err := l.Token(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error("it did not wait:", err)
		}
		done := make(chan Token)
		go func() { done <- mustToken(t, l) }()
		sc.put(t, fileAt(Claude, future))
		os.Remove(path)
		if got := <-done; !got.Expires.Equal(future) {
			t.Error(got.Expires)
		}
		if asked, _ := sc.s.count(); asked != 0 {
			t.Error(asked)
		}
	}
}

// TestSaving: while Codex writes nobody else does, and both changes are in the file.
func TestSaving(t *testing.T) {
	sc := newScene(t, Codex, past)
	f, err := os.Create(filepath.Join(sc.dir, ".codex/auth.lock"))
	if err == nil {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX)
	}
	if err != nil {
		t.Fatal(err)
	}
	was := sc.text(t)
	l := sc.open(t)
	kept := make(chan bool, 1)
	l.step = func(s string) {
		if s == "kept" {
			kept <- true
		}
	}
	done := make(chan Token)
	go func() { done <- mustToken(t, l) }()
	<-kept
	if sc.text(t) != was {
		t.Error("written under the lock of another")
	}
	sc.put(t, strings.Replace(was, `"later":true`, `"later":"theirs"`, 1))
	f.Close()
	if got := <-done; got.Value() != accessOf(1) || !strings.Contains(sc.text(t), `"later":"theirs"`) || !strings.Contains(sc.text(t), "refresh-1") {
		t.Error(sc.text(t))
	}
}

// TestSavingStuck: a lock that nobody gives back costs the file, not the token.
func TestSavingStuck(t *testing.T) {
	sc := newScene(t, Codex, past)
	if err := os.Mkdir(filepath.Join(sc.dir, ".codex/auth.lock"), 0o700); err != nil {
		t.Fatal(err)
	}
	was := sc.text(t)
	for range 2 {
		if got := mustToken(t, sc.open(t)); got.Value() != accessOf(1) || sc.text(t) != was {
			t.Error(got.Value())
		}
	}
	if asked, _ := sc.s.count(); asked != 1 || len(sc.warns) != 2 {
		t.Error(asked, sc.warns)
	}
}

// TestAbandoned: a directory that nobody touches is no lock; a file in its place is
// nobody's to remove.
func TestAbandoned(t *testing.T) {
	sc := newScene(t, Claude, past)
	dir, file := filepath.Join(sc.dir, ".claude/.oauth_refresh.lock"), filepath.Join(sc.dir, ".claude.lock")
	if err := errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(file, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, file} {
		if err := os.Chtimes(path, past, past); err != nil {
			t.Fatal(err)
		}
	}
	mustToken(t, sc.open(t))
	if _, err := os.Lstat(dir); err == nil {
		t.Error("the lock is left")
	}
	if _, err := os.Lstat(file); err != nil {
		t.Error(err)
	}
}

// TestHeld: while it is held a directory stays young, and early renewals do not wait.
func TestHeld(t *testing.T) {
	sc := newScene(t, Claude, time.Now().Add(3*time.Minute))
	l := sc.open(t)
	unlock, err := l.lock(soon(t), false)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	for _, l := range []*Login{l, sc.open(t)} {
		mustToken(t, l)
	}
	if asked, _ := sc.s.count(); asked != 0 || len(sc.warns) != 0 {
		t.Error(asked, sc.warns)
	}
}

// TestLink: behind a link it is the target that is replaced, with mode and owner.
func TestLink(t *testing.T) {
	sc := newScene(t, Codex, past)
	target := filepath.Join(sc.dir, "elsewhere", "codex.json")
	if err := errors.Join(os.Mkdir(filepath.Dir(target), 0o700), os.Rename(sc.c.Path, target), os.Chmod(target, 0o640),
		os.Symlink("../elsewhere/codex.json", sc.c.Path)); err != nil {
		t.Fatal(err)
	}
	uid := os.Getuid()
	if uid == 0 {
		uid = 65534
		if err := os.Chown(target, uid, uid); err != nil {
			t.Fatal(err)
		}
	}
	mustToken(t, sc.open(t))
	if to, err := os.Readlink(sc.c.Path); err != nil || to != "../elsewhere/codex.json" {
		t.Error(to, err)
	}
	fi, err := os.Lstat(target)
	if err != nil {
		t.Fatal(err)
	}
	if fi.Mode() != 0o640 || int(fi.Sys().(*syscall.Stat_t).Uid) != uid {
		t.Error(fi.Mode(), fi.Sys())
	}
}

// TestNoFileToRead: what is no regular file holds nobody up.
func TestNoFileToRead(t *testing.T) {
	sc := newScene(t, Codex, past)
	os.Remove(sc.c.Path)
	if err := unix.Mkfifo(sc.c.Path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sc.open(t).Token(soon(t)); err == nil {
		t.Error("a fifo was read")
	}
}
