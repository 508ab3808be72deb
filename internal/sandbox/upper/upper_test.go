package upper

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
)

func TestMain(m *testing.M) {
	loose = 0
	os.Exit(m.Run())
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// layer makes the upper directory of a session that did a bit of everything.
func layer(t testing.TB) string {
	dir := t.TempDir()
	at := func(rel string) string { return filepath.Join(dir, rel) }
	for _, d := range []string{"a", "a/deep", "hidden", "shared"} {
		must(t, os.Mkdir(at(d), 0o755))
	}
	for name, text := range map[string]string{"a/file": "text\n", "a/deep/empty": "", "a/deep/big": strings.Repeat("0123456789abcdef", 10000), "name with\nnewline": "x", "hidden/new": "only this"} {
		must(t, os.WriteFile(at(name), []byte(text), 0o640))
	}
	must(t, os.Chmod(at("a/file"), 0o755))
	must(t, os.Symlink("/etc/shadow", at("a/link")))
	must(t, os.Symlink("../../..", at("up")))
	must(t, unix.Mknod(at("a/gone"), unix.S_IFCHR, 0))
	must(t, unix.Mkfifo(at("pipe"), 0o600))
	must(t, unix.Chmod(at("shared"), 0o2775))
	must(t, unix.Setxattr(at("hidden"), markOpaque, []byte("y"), 0))
	must(t, unix.Setxattr(at("a/file"), markOrigin, []byte("whatever"), 0))
	must(t, os.WriteFile(at("white"), nil, 0o600))
	must(t, unix.Setxattr(at("white"), markWhiteout, []byte("y"), 0))
	sparse, err := os.Create(at("sparse"))
	must(t, err)
	_, err = sparse.WriteAt([]byte("end"), 64<<20)
	must(t, errors.Join(err, sparse.Close()))
	old := time.Unix(1700000000, 5)
	for _, name := range []string{"a/file", "a/deep", "sparse", "a"} {
		must(t, os.Chtimes(at(name), old, old))
	}
	return dir
}

// told is a tree in words. Both forms of the mark for what is gone are one.
func told(t testing.TB, dir string) string {
	var b strings.Builder
	err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		must(t, err)
		if p == dir {
			return nil
		}
		st, err := e.Info()
		must(t, err)
		mark := func(name string) bool { _, err := unix.Lgetxattr(p, name, nil); return err == nil }
		rel, _ := filepath.Rel(dir, p)
		if st.Mode()&fs.ModeCharDevice != 0 && st.Sys().(*syscall.Stat_t).Rdev == 0 || mark(markWhiteout) {
			fmt.Fprintf(&b, "%q is gone\n", rel)
			return nil
		}
		fmt.Fprintf(&b, "%q %v opaque %v origin %v", rel, st.Mode(), mark(markOpaque), mark(markOrigin))
		switch {
		case st.Mode().IsRegular():
			f, err := os.Open(p)
			must(t, err)
			text, err := io.ReadAll(io.LimitReader(f, 1<<16)) // a hole can be longer than anybody waits
			must(t, errors.Join(err, f.Close()))
			fmt.Fprintf(&b, " %v %d %x", st.ModTime().UnixNano(), st.Size(), sha256.Sum256(text))
		case st.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(p)
			must(t, err)
			fmt.Fprintf(&b, " -> %q", to)
		case st.IsDir():
			fmt.Fprintf(&b, " %v", st.ModTime().UnixNano())
		}
		b.WriteByte('\n')
		return nil
	})
	must(t, err)
	return b.String()
}

// opened is a descriptor of a directory.
func opened(t testing.TB, dir string) int {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	must(t, err)
	t.Cleanup(func() { unix.Close(fd) })
	return fd
}

// taken receives a stream into a new directory.
func taken(t testing.TB, stream []byte, before int) (string, bool, error) {
	dir := t.TempDir()
	t.Cleanup(func() { file.RemoveTree(dir) })
	unchanged, err := Receive(bytes.NewReader(stream), opened(t, dir), before, Most)
	return dir, unchanged, err
}

func send(t testing.TB, s *Source, have uint32, whole bool) []byte {
	var b bytes.Buffer
	must(t, s.Send(&b, have, whole))
	return b.Bytes()
}

// TestThere: what is sent arrives, marks and times and all.
func TestThere(t *testing.T) {
	from := layer(t)
	to, unchanged, err := taken(t, send(t, &Source{Dir: from}, 0, false), -1)
	if err != nil || unchanged {
		t.Fatal(unchanged, err)
	}
	if got, want := told(t, to), told(t, from); got != want {
		t.Errorf("arrived:\n%swant:\n%s", got, want)
	}
	var st unix.Stat_t
	must(t, unix.Stat(filepath.Join(to, "sparse"), &st))
	if st.Size != 64<<20+3 || st.Blocks > 1000 {
		t.Errorf("the holes are filled: %d blocks", st.Blocks)
	}
}

// TestNeverSetUID: no bit arrives that would let a program run as somebody else.
func TestNeverSetUID(t *testing.T) {
	from := t.TempDir()
	at := filepath.Join(from, "program")
	must(t, os.WriteFile(at, nil, 0o755))
	must(t, unix.Chmod(at, 0o6755))
	to, _, err := taken(t, send(t, &Source{Dir: from}, 0, false), -1)
	must(t, err)
	st, err := os.Stat(filepath.Join(to, "program"))
	must(t, err)
	if st.Mode() != 0o755 {
		t.Error(st.Mode())
	}
}

// TestUnreadable: what its owner may not read is brought over all the same.
func TestUnreadable(t *testing.T) {
	from := t.TempDir()
	must(t, os.Mkdir(filepath.Join(from, "closed"), 0o700))
	must(t, os.WriteFile(filepath.Join(from, "closed/file"), []byte("text"), 0))
	must(t, os.Chmod(filepath.Join(from, "closed"), 0))
	t.Cleanup(func() { os.Chmod(filepath.Join(from, "closed"), 0o700) })
	to, _, err := taken(t, send(t, &Source{Dir: from}, 0, false), -1)
	must(t, err)
	if b, err := os.ReadFile(filepath.Join(to, "closed/file")); string(b) != "text" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
}

// TestGenerations: of what is as it was nothing is sent, also if the last stream was never
// taken; the file is the same one.
func TestGenerations(t *testing.T) {
	s := &Source{Dir: layer(t)}
	one, _, err := taken(t, send(t, s, 0, false), -1)
	must(t, err)
	if b := send(t, s, 1, false); string(b) != preface+string(rune(recordUnchanged)) {
		t.Errorf("nothing changed, and it sends %d bytes", len(b))
	}
	must(t, os.WriteFile(filepath.Join(s.Dir, "fresh"), []byte("new"), 0o600))
	must(t, os.Remove(filepath.Join(s.Dir, "name with\nnewline")))
	lost := send(t, s, 1, false) // and this one is lost
	again := send(t, s, 1, false)
	if !bytes.Equal(lost, again) || len(again) > 1000 {
		t.Errorf("%d and %d bytes", len(lost), len(again))
	}
	two, _, err := taken(t, again, opened(t, one))
	must(t, err)
	if got, want := told(t, two), told(t, s.Dir); got != want {
		t.Errorf("arrived:\n%swant:\n%s", got, want)
	}
	if a, b := inode(t, one+"/a/deep/big"), inode(t, two+"/a/deep/big"); a != b {
		t.Error("what was the same is there twice")
	}
	if b := send(t, s, 7, false); len(b) < 100000 {
		t.Errorf("the receiver has a generation that nobody sent, and gets %d bytes", len(b))
	}
}

func inode(t testing.TB, p string) uint64 {
	st, err := os.Stat(p)
	must(t, err)
	return st.Sys().(*syscall.Stat_t).Ino
}

// TestWithoutATrace: a change that no time tells of arrives at the end.
func TestWithoutATrace(t *testing.T) {
	s := &Source{Dir: t.TempDir()}
	must(t, os.WriteFile(filepath.Join(s.Dir, "mapped"), []byte("before"), 0o600))
	one, _, err := taken(t, send(t, s, 0, false), -1)
	must(t, err)
	m := s.sent.entries["mapped"]
	must(t, os.WriteFile(filepath.Join(s.Dir, "mapped"), []byte("behind"), 0o600))
	var st unix.Stat_t
	must(t, unix.Stat(filepath.Join(s.Dir, "mapped"), &st))
	m.ctime, m.mtime = st.Ctim, st.Mtim // as if the kernel had not told
	s.sent.entries["mapped"] = m
	two, _, err := taken(t, send(t, s, 1, true), opened(t, one))
	must(t, err)
	if b, _ := os.ReadFile(filepath.Join(two, "mapped")); string(b) != "behind" {
		t.Errorf("%q", b)
	}
}

// TestForeign: a file whose content is elsewhere is not sent as if it were its own.
func TestForeign(t *testing.T) {
	for _, mark := range foreign {
		dir := t.TempDir()
		must(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
		must(t, unix.Setxattr(filepath.Join(dir, "file"), mark, nil, 0))
		if err := (&Source{Dir: dir}).Send(new(bytes.Buffer), 0, false); !errors.Is(err, errForeign) {
			t.Errorf("%s: %v", mark, err)
		}
	}
}

// TestDeep: what lies deeper than a review can work on is named, and not lost.
func TestDeep(t *testing.T) {
	from := t.TempDir()
	at, name := opened(t, from), strings.Repeat("d", 250)
	for range 17 {
		must(t, unix.Mkdirat(at, name, 0o700))
		next, err := unix.Openat(at, name, unix.O_DIRECTORY, 0)
		must(t, err)
		t.Cleanup(func() { unix.Close(next) })
		at = next
	}
	to, _, err := taken(t, send(t, &Source{Dir: from}, 0, false), -1)
	must(t, err)
	depth := 0
	for fd := opened(t, to); ; depth++ {
		var st unix.Stat_t
		must(t, unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW))
		if st.Mode&unix.S_IFMT == unix.S_IFIFO {
			break
		}
		next, err := unix.Openat(fd, name, unix.O_DIRECTORY, 0)
		must(t, err)
		t.Cleanup(func() { unix.Close(next) })
		fd = next
	}
	if depth != MaxPath/251 {
		t.Errorf("it ends at %d", depth)
	}
}
