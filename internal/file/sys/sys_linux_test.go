package sys

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestOpen: no link is followed, and nothing outside is reached.
func TestOpen(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.MkdirAll(dir+"/tree/d", 0o755), os.WriteFile(dir+"/tree/d/f", nil, 0o644), os.WriteFile(dir+"/out", nil, 0o644),
		os.Symlink("d", dir+"/tree/l"), os.Symlink(dir+"/out", dir+"/tree/abs"), os.Symlink("tree", dir+"/link")); err != nil {
		t.Fatal(err)
	}
	root, err := OpenSource(dir + "/tree")
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(root)
	for rel, want := range map[string]error{
		"": nil, ".": nil, "d": nil, "d/f": nil, "d/../d/f": nil,
		"l/f": unix.ELOOP, "../out": unix.EXDEV, "d/../../out": unix.EXDEV, dir + "/out": unix.EXDEV, "none": unix.ENOENT, "d/f/x": unix.ENOTDIR,
		"l/": unix.ELOOP,
	} {
		fd, err := OpenBeneath(root, rel)
		if !errors.Is(err, want) || (err == nil) != (want == nil) {
			t.Errorf("OpenBeneath(%q): %v, want %v", rel, err, want)
		}
		if err == nil {
			unix.Close(fd)
		}
	}
	for p, want := range map[string]error{"/link": unix.ELOOP, "/link/d": unix.ELOOP, "/tree/abs": unix.ELOOP, "/none": unix.ENOENT} {
		if fd, err := OpenSource(dir + p); !errors.Is(err, want) {
			unix.Close(fd)
			t.Errorf("OpenSource(%q): %v, want %v", p, err, want)
		}
	}
	// A link in the last place is opened itself, for whoever asks what it is.
	fd, err := OpenBeneath(root, "abs")
	if err != nil && !errors.Is(err, unix.ELOOP) {
		t.Fatal(err)
	}
	if err == nil {
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFLNK {
			t.Errorf("a link was followed: mode %o, %v", st.Mode, err)
		}
		unix.Close(fd)
	}
}

func TestLastCap(t *testing.T) {
	for in, want := range map[string]int{"40\n": 40, "0": 0, "63": 63, "64": -1, "-1": -1, "": -1, "x": -1, "4 0": -1} {
		got, err := LastCap([]byte(in))
		if want < 0 && err == nil || want >= 0 && (err != nil || got != want) {
			t.Errorf("LastCap(%q) = %d, %v, want %d", in, got, err, want)
		}
	}
}

func TestBadPrograms(t *testing.T) {
	for _, b := range [][]byte{nil, {}, make([]byte, 7), make([]byte, 8*4097)} {
		if err := LoadFilter(b); err == nil {
			t.Errorf("a filter of %d bytes was loaded", len(b))
		}
		if f, err := LoadWatch(b); err == nil {
			f.Close()
			t.Errorf("a watch of %d bytes was loaded", len(b))
		}
	}
}

// TestAttachInNothing: what is no namespace is entered by nobody, and the error says
// at which number it ended.
func TestAttachInNothing(t *testing.T) {
	n := Namespaces{User: -1, Mount: -1}
	if err := n.AttachIn(-1, -1, true); !errors.Is(err, unix.EBADF) {
		t.Errorf("AttachIn: %v", err)
	}
	if err := n.DetachIn(-1, "a"); !errors.Is(err, unix.EBADF) {
		t.Errorf("DetachIn: %v", err)
	}
	if err := n.DetachIn(-1, "a\x00b"); !errors.Is(err, unix.EINVAL) {
		t.Errorf("DetachIn of a name with a zero: %v", err)
	}
}
