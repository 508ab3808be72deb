package upper

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
)

// forge puts a stream together.
type forge []byte

func begin() forge { return forge(preface) }

func (f forge) record(kind byte, name string) forge {
	return append(append(f, kind, byte(len(name))), name...)
}

func (f forge) num(size int, n uint64) forge {
	return append(f, binary.BigEndian.AppendUint64(nil, n)[8-size:]...)
}

func (f forge) head(mode, marks uint64) forge {
	return f.num(2, mode).num(1, marks).num(8, 1700000000).num(4, 0)
}

func (f forge) dir(name string, mode uint64) forge { return f.record(recordDir, name).head(mode, 0) }

func (f forge) file(name string, mode uint64, text string) forge {
	f = f.record(recordFile, name).head(mode, 0).num(8, uint64(len(text)))
	if text != "" {
		f = append(f.num(4, uint64(len(text))).num(8, 0), text...)
	}
	return f.num(4, 0)
}

func (f forge) link(name, to string) forge {
	return append(f.record(recordLink, name).num(8, 0).num(4, 0).num(2, uint64(len(to))), to...)
}

func (f forge) up() forge                { return append(f, recordUp) }
func (f forge) end(entries uint64) forge { return append(f, recordEnd).num(4, entries) }

// forgeries are what no honest sender sends.
func forgeries() map[string]forge {
	file := begin().record(recordFile, "f").head(0o600, 0)
	return map[string]forge{
		"nothing":                  {},
		"another preface":          forge("rfupper\x02e\x00\x00\x00\x00"),
		"as it was, and nothing":   append(begin(), recordUnchanged),
		"no end":                   begin().file("a", 0o600, "x"),
		"more than its end":        append(begin().end(0), 0),
		"another number":           begin().file("a", 0o600, "x").end(2),
		"an unknown record":        begin().record('?', "a").end(1),
		"no name":                  begin().file("", 0o600, "").end(1),
		"dot":                      begin().dir(".", 0o700).up().end(1),
		"two dots":                 begin().dir("..", 0o700).up().end(1),
		"a path":                   begin().file("../../outside", 0o600, "x").end(1),
		"from the root":            begin().file("/outside", 0o600, "x").end(1),
		"a zero byte":              begin().file("a\x00b", 0o600, "x").end(1),
		"one name twice":           begin().file("a", 0o600, "x").file("a", 0o600, "y").end(2),
		"a link, and through it":   begin().link("a", "/tmp").dir("a", 0o700).file("x", 0o600, "x").up().end(3),
		"not in order":             begin().file("b", 0o600, "x").file("a", 0o600, "y").end(2),
		"up from the root":         begin().up().end(0),
		"within a directory":       begin().dir("d", 0o700).end(1),
		"set-uid":                  begin().file("f", 0o4755, "x").end(1),
		"set-gid":                  begin().file("f", 0o2755, "x").end(1),
		"a directory with set-uid": begin().dir("d", 0o4755).up().end(1),
		"a kind in the mode":       begin().file("f", 0o100600, "x").end(1),
		"nobody may read it":       begin().file("f", 0o300, "x").end(1),
		"nobody may enter it":      begin().dir("d", 0o400).up().end(1),
		"an opaque file":           begin().record(recordFile, "f").head(0o600, opaque).num(8, 0).num(4, 0).end(1),
		"an unknown mark":          begin().record(recordDir, "d").head(0o700, 4).up().end(1),
		"a time that is none":      begin().record(recordFile, "f").num(2, 0o600).num(1, 0).num(8, 0).num(4, 1e9).num(8, 0).num(4, 0).end(1),
		"a giant file":             file.num(8, MaxFile+1).num(4, 0).end(1),
		"a piece beyond the end":   append(file.num(8, 1).num(4, 2).num(8, 0), "xy"...).num(4, 0).end(1),
		"a piece far beyond":       append(file.num(8, 1).num(4, 1).num(8, 1<<63), "x"...).num(4, 0).end(1),
		"a piece before another":   append(append(file.num(8, 9).num(4, 1).num(8, 5), "x"...).num(4, 1).num(8, 5), "y"...).num(4, 0).end(1),
		"a giant piece":            file.num(8, MaxFile).num(4, MaxPiece+1).num(8, 0),
		"a link to nothing":        begin().link("l", "").end(1),
		"a link that is too long":  begin().link("l", strings.Repeat("x", MaxTarget+1)).end(1),
		"a link with a zero byte":  begin().link("l", "a\x00").end(1),
		"the same as nothing":      begin().record(recordSame, "f").end(1),
		"a path that is too long":  tooLong().end(17),
	}
}

// tooLong is a directory deeper than any that is worked on.
func tooLong() forge {
	f := begin()
	for range 17 {
		f = f.dir(strings.Repeat("d", 250), 0o700)
	}
	return f
}

// TestForgeries: none is taken, and each is called what it is.
func TestForgeries(t *testing.T) {
	for name, f := range forgeries() {
		_, unchanged, err := taken(t, f, -1)
		var w Wrong
		if unchanged || !errors.As(err, &w) {
			t.Errorf("%s: %v, %v", name, unchanged, err)
		}
	}
	whole := begin().dir("d", 0o555).file("f", 0o400, "x").up().link("l", "d").record(recordWhite, "w").record(recordSpecial, "x").end(5)
	if _, _, err := taken(t, whole, -1); err != nil {
		t.Errorf("the control: %v", err)
	}
	for n := range whole {
		if _, _, err := taken(t, whole[:n], -1); err == nil {
			t.Errorf("%d of %d bytes are taken for all", n, len(whole))
		}
	}
}

// TestSameAsALink: what is said to be as it was is never read through a link, nor from a
// directory or a pipe.
func TestSameAsALink(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	must(t, os.WriteFile(secret, []byte("secret"), 0o600))
	old := t.TempDir()
	must(t, os.Symlink(secret, filepath.Join(old, "link")))
	must(t, os.Symlink(filepath.Dir(secret), filepath.Join(old, "up")))
	must(t, os.Mkdir(filepath.Join(old, "dir"), 0o700))
	must(t, unix.Mkfifo(filepath.Join(old, "pipe"), 0o600))
	for name, f := range map[string]forge{
		"a link":         begin().record(recordSame, "link").end(1),
		"behind a link":  begin().dir("up", 0o700).record(recordSame, "secret").up().end(2),
		"a directory":    begin().record(recordSame, "dir").end(1),
		"a pipe":         begin().record(recordSame, "pipe").end(1),
		"what was never": begin().record(recordSame, "none").end(1),
	} {
		_, _, err := taken(t, f, opened(t, old))
		var w Wrong
		if !errors.As(err, &w) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFull: a bound that is reached refuses all of it.
func TestFull(t *testing.T) {
	stream := begin().file("a", 0o600, "xxx").file("b", 0o600, "yyy").end(2)
	for _, c := range []struct {
		most Bounds
		full bool
	}{{Bounds{Entries: 2, Bytes: 6}, false}, {Bounds{Entries: 1, Bytes: 6}, true}, {Bounds{Entries: 2, Bytes: 5}, true}} {
		_, err := Receive(bytes.NewReader(stream), opened(t, t.TempDir()), -1, c.most)
		var f *Full
		if errors.As(err, &f) != c.full || !c.full && err != nil {
			t.Errorf("%+v: %v", c.most, err)
		}
	}
}

// TestFullByGenerations: what is as it was counts too, so that no number of generations holds
// more than one may.
func TestFullByGenerations(t *testing.T) {
	most, old := Bounds{Entries: 10, Bytes: 10000}, t.TempDir()
	_, err := Receive(bytes.NewReader(begin().file("a", 0o600, strings.Repeat("x", 6000)).end(1)), opened(t, old), -1, most)
	must(t, err)
	for n, full := range map[int]bool{4000: false, 4001: true} {
		stream := begin().record(recordSame, "a").file("b", 0o600, strings.Repeat("y", n)).end(2)
		_, err := Receive(bytes.NewReader(stream), opened(t, t.TempDir()), opened(t, old), most)
		var f *Full
		if errors.As(err, &f) != full || !full && err != nil {
			t.Errorf("%d bytes more: %v", n, err)
		}
	}
}

// TestRoom: a part of the disk stays free, whatever its size, and a part of its inodes.
func TestRoom(t *testing.T) {
	for name, c := range map[string]struct {
		st   unix.Statfs_t
		want bool
	}{
		"a large disk":              {unix.Statfs_t{Bsize: 4096, Blocks: 1 << 30, Bavail: 1<<18 + 1, Files: 100, Ffree: 50}, true},
		"a large disk, full":        {unix.Statfs_t{Bsize: 4096, Blocks: 1 << 30, Bavail: 1 << 18, Files: 100, Ffree: 50}, false},
		"a small disk":              {unix.Statfs_t{Bsize: 4096, Blocks: 2000, Bavail: 101}, true},
		"a small disk, full":        {unix.Statfs_t{Bsize: 4096, Blocks: 2000, Bavail: 100}, false},
		"hardly any inodes":         {unix.Statfs_t{Bsize: 4096, Blocks: 2000, Bavail: 2000, Files: 100, Ffree: 5}, false},
		"inodes that nobody counts": {unix.Statfs_t{Bsize: 4096, Blocks: 2000, Bavail: 2000}, true},
	} {
		if roomy(c.st, Most.Spare) != c.want {
			t.Errorf("%s: want %v", name, c.want)
		}
	}
}

// TestFullDisk: a stream of pieces that are small, each of which takes a block, is refused
// before the disk is full. It needs a small disk, which root can mount.
func TestFullDisk(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root mounts a small disk; TestRoom is for everybody")
	}
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=16m"); err != nil {
		t.Fatal(err)
	}
	defer unix.Unmount(dir, unix.MNT_DETACH)
	into := opened(t, dir)
	f := begin().record(recordFile, "f").head(0o600, 0).num(8, 64<<20)
	for n := range uint64(8192) {
		f = append(f.num(4, 1).num(8, n*4096), 'x')
	}
	_, err := Receive(bytes.NewReader(f.num(4, 0).end(1)), into, -1, Most)
	var full *Full
	var st unix.Statfs_t
	must(t, unix.Fstatfs(into, &st))
	if !errors.As(err, &full) || st.Bavail == 0 {
		t.Errorf("%v, with %d blocks free", err, st.Bavail)
	}
}

// FuzzReceive: whatever comes, nothing is made outside of the directory, nothing in it that
// a layer does not have, and what is taken is sent on as it came.
func FuzzReceive(f *testing.F) {
	for _, b := range forgeries() {
		f.Add([]byte(b))
	}
	f.Add(send(f, &Source{Dir: layer(f)}, 0, false)[:2000])
	f.Add([]byte(begin().dir("d", 0o555).file("f", 0o400, "x").record(recordSame, "old").up().link("l", "..").record(recordWhite, "w").record(recordSpecial, "x").end(6)))
	old := f.TempDir()
	must(f, os.Mkdir(filepath.Join(old, "d"), 0o700))
	must(f, os.WriteFile(filepath.Join(old, "d", "old"), []byte("old"), 0o600))
	before := opened(f, old)
	base := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte) {
		outer, err := os.MkdirTemp(base, "")
		must(t, err)
		defer file.RemoveTree(outer)
		dir := filepath.Join(outer, "into")
		must(t, os.Mkdir(dir, 0o700))
		fd, err := unix.Open(dir, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		must(t, err)
		defer unix.Close(fd)
		unchanged, err := Receive(bytes.NewReader(b), fd, before, Bounds{Entries: 100, Bytes: 1 << 16})
		if all, _ := os.ReadDir(outer); len(all) != 1 {
			t.Fatalf("%v are outside", all)
		}
		lawful(t, dir)
		if err != nil || unchanged {
			return
		}
		var again bytes.Buffer
		must(t, (&Source{Dir: dir}).Send(&again, 0, false))
		twice := filepath.Join(base, "twice")
		must(t, os.Mkdir(twice, 0o700))
		defer file.RemoveTree(twice)
		to, err := unix.Open(twice, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		must(t, err)
		defer unix.Close(to)
		if _, err := Receive(&again, to, -1, Most); err != nil {
			t.Fatalf("what was taken is not taken again: %v", err)
		}
		if a, b := told(t, dir), told(t, twice); a != b {
			t.Fatalf("it came as\n%sand is sent on as\n%s", a, b)
		}
	})
}

// lawful wants a tree to have only what a layer has.
func lawful(t *testing.T, dir string) {
	filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		must(t, err)
		st, err := e.Info()
		must(t, err)
		own := st.Sys().(*syscall.Stat_t)
		bad := st.Mode()&fs.ModeSetuid != 0 || st.Mode()&fs.ModeSetgid != 0 && !st.IsDir() || int(own.Uid) != os.Geteuid() ||
			st.Mode()&fs.ModeDevice != 0 && (st.Mode()&fs.ModeCharDevice == 0 || own.Rdev != 0) || st.Mode()&fs.ModeSocket != 0
		if bad {
			t.Fatalf("%s is %v", p, st.Mode())
		}
		return nil
	})
}
