package faults

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io/fs"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// watch is an inotify watch on a tree, for everything but reading.
type watch struct {
	fd   int
	dirs map[int32]string
}

const watched = unix.IN_CREATE | unix.IN_DELETE | unix.IN_DELETE_SELF | unix.IN_MODIFY | unix.IN_ATTRIB |
	unix.IN_MOVED_FROM | unix.IN_MOVED_TO | unix.IN_MOVE_SELF | unix.IN_CLOSE_WRITE

func newWatch(t *testing.T, root string) *watch {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	w := &watch{fd, map[int32]string{}}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		wd, err := unix.InotifyAddWatch(fd, path, watched)
		w.dirs[int32(wd)] = path
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// events returns what has happened since it was asked last. The kernel queues an
// event before the call that caused it returns, so there is nothing to wait for.
func (w *watch) events(t *testing.T) []string {
	t.Helper()
	var out []string
	buf := make([]byte, 64<<10)
	for {
		n, err := unix.Read(w.fd, buf)
		if err == unix.EAGAIN {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		for b := buf[:n]; len(b) > 0; {
			wd, mask, size := int32(binary.NativeEndian.Uint32(b)), binary.NativeEndian.Uint32(b[4:]), binary.NativeEndian.Uint32(b[12:])
			name := bytes.TrimRight(b[unix.SizeofInotifyEvent:unix.SizeofInotifyEvent+size], "\x00")
			out = append(out, fmt.Sprintf("inotify %#x on %s/%s", mask, w.dirs[wd], name))
			b = b[unix.SizeofInotifyEvent+size:]
		}
	}
}
