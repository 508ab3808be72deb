package keeper

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/test/wait"
)

// pause lets the host do something in the middle of an operation.
func pause() error {
	if _, err := unix.Write(pipeFD, []byte("p")); err != nil {
		return err
	}
	_, err := unix.Read(pipeFD, make([]byte, 1))
	return err
}

// pause waits until the operation does. finish lets it go on.
func (b *box) pause() {
	b.t.Helper()
	_, err := b.pipe.Write([]byte("g"))
	_, rerr := io.ReadFull(b.pipe, make([]byte, 1))
	if err := errors.Join(err, rerr); err != nil {
		b.t.Fatalf("inside it did not come to the pause: %v", err)
	}
}

// kill ends the sandbox in its pause.
func (b *box) kill() {
	b.t.Helper()
	if err := b.cmd.Process.Kill(); err != nil {
		b.t.Fatal(err)
	}
	b.cmd.Wait()
	b.pipe.Close()
}

// paused are operations with a pause.
var paused = []operation{
	{name: "stand-ins", do: inOrder(writing(".envrc", create, "1"), func() error { return unix.Mkdir(".vscode", 0o755) },
		writing("r/config", create, "2"), pause)},
	{name: "recent", do: inOrder(writing("c", create, "1"), writing("c", over, "2"), pause,
		refused(unix.EBUSY, func() error { return unix.Link("a", "b") }), writing("a", over, "late"))},
	{name: "locks of the host", do: inOrder(writing(".git/refs/heads/own.lock", create, commit), writing("evil", create, "evil"), pause,
		refused(unix.EBUSY, renamed("evil", ".git/index.lock")), refused(unix.EBUSY, func() error { return unix.Unlink(".git/index.lock") }),
		refused(unix.EBUSY, renamed(".git/index.lock", "x")), refused(unix.EBUSY, func() error { return unix.Link(".git/index.lock", "x") }),
		refused(unix.EBUSY, writing(".git/index.lock", unix.O_WRONLY, "x")), refused(unix.EBUSY, renamed("evil", ".git/packed-refs.new")),
		refused(unix.EBUSY, renamed("evil", "bare/HEAD.lock")),
		writing(".git/refs/heads/own.lock", over, commit), renamed(".git/refs/heads/own.lock", ".git/refs/heads/own"),
		writing(".git/HEAD.lock", create, "left over"))},
	{name: "exchange recent", do: inOrder(writing("e", create, "1"), writing("f", create, "2"), pause, renamed("e", "a"),
		func() error { return unix.Unlink("b") }, renamed("c", "d"))},
	{name: "masked", do: inOrder(pause, reads("pw", "phantom"), writing("pw", unix.O_WRONLY|unix.O_APPEND, "+"), reads("pw", "phantom+"),
		func() error { return unix.Unlink("pw") })},
	{name: "masked-below", do: inOrder(writing(".vscode/new", create, "1"), writing(".vscode/own", unix.O_WRONLY, "OWN"), func() error { return unix.Unlink(".vscode/gone") }, pause,
		reads(".vscode/pw", "phantom"), reads(".vscode/own", "OWNret"), refused(unix.ENOENT, func() error { return unix.Access(".vscode/gone", 0) }))},
	{name: "pinned", do: inOrder(refused(unix.EBUSY, func() error { return unix.Rename("d", "e") }),
		refused(unix.EROFS, writing("d/secret", unix.O_WRONLY, "1")), refused(unix.EROFS, func() error { return unix.Unlink("d/secret") }),
		writing("d/other", create, "1"))},
}

func reads(name, want string) func() error {
	return func() error {
		b, err := os.ReadFile(name)
		if err == nil && string(b) != want {
			err = errors.New(name + " is " + string(b))
		}
		return err
	}
}

const standing = ".envrc->" + Nowhere + " .vscode/ r/ r/HEAD=x r/config->" + Nowhere

// TestStandIns: what stands on the host for held names leads nowhere, and is gone
// after the session, also after one that was killed.
func TestStandIns(t *testing.T) {
	for _, c := range []struct{ name, host, want string }{
		{"untouched", "true", "r/ r/HEAD=x"},
		{"in use by now", "printf 1 >tree/.vscode/mine; rm tree/.envrc; printf 2 >tree/.envrc", ".envrc=2 .vscode/ .vscode/mine=1 r/ r/HEAD=x"},
		{"another link", "rm tree/.envrc; ln -s x tree/.envrc; rmdir tree/.vscode", ".envrc->x r/ r/HEAD=x"},
		{"torn list", `printf '{"tree":"' >>stand`, "r/ r/HEAD=x"},
		{"directory gone", "rm -r tree/r; ln -s /tmp tree/r", "r->/tmp"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBox(t, "mkdir r; printf x >r/HEAD")
			b.start("stand-ins")
			b.pause()
			if got := b.list("tree"); got != standing {
				t.Errorf("in the session the host has\n\t%s, want\n\t%s", got, standing)
			}
			b.sh(c.host)
			b.kill()
			if err := ClearStandIns(b.dir + "/stand"); err != nil {
				t.Error(err)
			}
			if got := b.list("tree"); got != c.want {
				t.Errorf("cleared:\n\t%s, want\n\t%s", got, c.want)
			}
			if got := b.end(); got != c.want {
				t.Errorf("closed:\n\t%s, want\n\t%s", got, c.want)
			}
		})
	}
}

func TestClearStandInsRefusesOthers(t *testing.T) {
	dir := t.TempDir()
	if err := ClearStandIns(filepath.Join(dir, "none")); err != nil {
		t.Error("a list that is not there:", err)
	}
	// "../out" and a tree that is a link, in base64.
	os.Mkdir(dir+"/out", 0o755)
	os.Mkdir(dir+"/tree", 0o755)
	os.Symlink(dir+"/tree", dir+"/link")
	os.Mkdir(dir+"/tree/d", 0o755)
	s, err := openStandIns(dir + "/stand")
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []standIn{{[]byte(dir + "/tree"), []byte("../out")}, {[]byte(dir + "/link"), []byte("d")}, {[]byte(dir + "/gone"), []byte("d")}} {
		if err := s.note(x); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.clear(); err != nil {
		t.Error(err)
	}
	for _, p := range []string{"out", "tree/d"} {
		if _, err := os.Stat(filepath.Join(dir, p)); err != nil {
			t.Errorf("%s was removed", p)
		}
	}
}

// tick waits until the clock of the file system, which is a coarse one, is past now.
func (b *box) tick() {
	b.t.Helper()
	began := time.Now()
	wait.Eventually(b.t, "the next tick of the file system's clock", func() bool {
		b.sh("touch tick")
		st, err := os.Stat(b.dir + "/tick")
		return err == nil && st.ModTime().After(began)
	})
}

// TestYoung: a file that the host made a moment ago gets no second name, and is not
// opened to write before it is older. One that the session made is.
func TestYoung(t *testing.T) {
	b := newBox(t, "true")
	b.start("recent")
	b.pause()
	b.tick()
	b.sh("printf host >tree/a")
	a := b.finish()
	if host := b.end(); a.Err != "" || host != "a=late c=2" {
		t.Errorf("ended with %q, and the host has %s", a.Err, host)
	}
	st, err := os.Stat(b.dir + "/tree/a")
	if err != nil {
		t.Fatal(err)
	}
	_, born, ok := nodeAt(unix.AT_FDCWD, b.dir+"/tree/a")
	if !ok {
		t.Fatal("this test needs a file system that tells when a file was made")
	}
	if age := st.ModTime().Sub(born); age < recentFor {
		t.Errorf("it was written at the age of %s", age)
	}
}

// TestLocksOfHost: the host's git renames its lock to a name whose content counts, and
// nobody judges it then. What is in the lock is out of the session's reach, however old
// it is; a lock of the session's own is not, and goes with it.
func TestLocksOfHost(t *testing.T) {
	b := newBox(t, "mkdir -p .git/refs/heads .git/objects bare/objects bare/refs; touch .git/HEAD bare/HEAD")
	b.start("locks of the host")
	b.pause()
	b.sh("for f in .git/index.lock .git/packed-refs.new bare/HEAD.lock; do printf host >tree/$f; done")
	a := b.finish()
	want := ".git/ .git/HEAD= .git/index.lock=host .git/objects/ .git/packed-refs.new=host .git/refs/ .git/refs/heads/ .git/refs/heads/own=" + commit +
		" bare/ bare/HEAD.lock=host bare/HEAD= bare/objects/ bare/refs/ evil=evil"
	if host := b.end(); a.Err != "" || host != want {
		t.Errorf("ended with %q, and the host has\n\t%s, want\n\t%s", a.Err, host, want)
	}
}

// TestYoungExchanged: a file that the host made a moment ago is not replaced, moved or
// deleted before it is older: the host may be about to rename it to a held name.
func TestYoungExchanged(t *testing.T) {
	b := newBox(t, "true")
	b.start("exchange recent")
	b.pause()
	b.tick()
	b.sh("for f in a b c; do printf host >tree/$f; done")
	_, born, ok := nodeAt(unix.AT_FDCWD, b.dir+"/tree/c")
	if !ok {
		t.Fatal("this test needs a file system that tells when a file was made")
	}
	a := b.finish()
	if age := time.Since(born); age < recentFor {
		t.Errorf("all was done at the age of %s", age)
	}
	if host := b.end(); a.Err != "" || host != "a=1 d=host f=2" {
		t.Errorf("ended with %q, and the host has %s", a.Err, host)
	}
}

func TestMask(t *testing.T) {
	b := newBox(t, "printf secret >pw")
	b.start("masked")
	b.pause()
	if c, err := b.keep.Mask(0, "pw", []byte("phantom")); err != nil || c != Covered {
		t.Fatal(c, err)
	}
	a := b.finish()
	if host := b.end(); a.Err != "" || host != "pw=secret" {
		t.Errorf("ended with %q, and the host has %s", a.Err, host)
	}
}

// TestMaskBelow: in a directory that is private already, a file is masked too, as long
// as it is not the agent's own by now.
func TestMaskBelow(t *testing.T) {
	b := newBox(t, "mkdir .vscode; for f in pw own gone; do printf secret >.vscode/$f; done")
	b.start("masked-below")
	b.pause()
	for _, name := range []string{".vscode/pw", ".vscode/own", ".vscode/gone"} {
		if _, err := b.keep.Mask(0, name, []byte("phantom")); err != nil {
			t.Fatal(err)
		}
	}
	a := b.finish()
	if host := b.end(); a.Err != "" || host != ".vscode/ .vscode/gone=secret .vscode/own=secret .vscode/pw=secret" {
		t.Errorf("ended with %q, and the host has %s", a.Err, host)
	}
}

func TestPinned(t *testing.T) {
	b := newBox(t, "mkdir d; printf 1 >d/secret")
	b.start("pinned", "d/secret")
	a := b.finish()
	if host := b.end(); a.Err != "" || host != "d/ d/other=1 d/secret=1" {
		t.Errorf("ended with %q, and the host has %s", a.Err, host)
	}
}

// TestNotAFile: a pipe or a link that came in the place of a file is neither waited
// for nor followed.
func TestNotAFile(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(unix.Mkfifo(dir+"/p", 0o644), os.Symlink("f", dir+"/l"), os.WriteFile(dir+"/f", nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	at, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(at)
	for _, flags := range []int{unix.O_RDONLY, unix.O_WRONLY, unix.O_RDWR, unix.O_WRONLY | unix.O_TRUNC} {
		for name, want := range map[string]error{"p": unix.EAGAIN, "l": unix.ELOOP, "f": nil} {
			fd, err := openFile(at, name, flags, 0)
			if err != want {
				t.Errorf("openFile(%s, %#x): %v, want %v", name, flags, err, want)
			}
			if err == nil {
				if have, _ := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0); have&unix.O_NONBLOCK != 0 {
					t.Error("the caller would get a descriptor that does not block")
				}
				unix.Close(fd)
			}
		}
	}
}
