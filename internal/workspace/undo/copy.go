package undo

import (
	"io"

	"golang.org/x/sys/unix"
)

// clone makes the new file dst hold the first size bytes of src, and shares or
// leaves out what it can.
func clone(dst, src int, size int64) error {
	if size == 0 {
		return nil
	}
	if unix.IoctlFileClone(dst, src) == nil {
		return unix.Ftruncate(dst, size)
	}
	for off := int64(0); off < size; {
		data, err := unix.Seek(src, off, unix.SEEK_DATA)
		if err == unix.ENXIO {
			break
		}
		if err != nil {
			return copyRange(dst, src, off, size)
		}
		hole, err := unix.Seek(src, data, unix.SEEK_HOLE)
		if err != nil {
			return copyRange(dst, src, off, size)
		}
		if off = min(hole, size); data < off {
			if err := copyRange(dst, src, data, off); err != nil {
				return err
			}
		}
	}
	return unix.Ftruncate(dst, size)
}

// copyRange copies what is between two offsets. A file that ends before is no
// error: somebody cut it meanwhile, and the rest reads as zeros.
func copyRange(dst, src int, from, to int64) error {
	for from < to {
		in, out := from, from
		n, err := unix.CopyFileRange(src, &in, dst, &out, int(min(to-from, 1<<30)), 0)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return copyBytes(dst, src, from, to)
		}
		if n == 0 {
			return nil
		}
		from += int64(n)
	}
	return nil
}

func copyBytes(dst, src int, from, to int64) error {
	buf := make([]byte, min(to-from, 1<<17))
	for from < to {
		n, err := unix.Pread(src, buf[:min(to-from, int64(len(buf)))], from)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return err
		}
		for done := 0; done < n; {
			w, err := unix.Pwrite(dst, buf[done:n], from+int64(done))
			if err != nil && err != unix.EINTR {
				return err
			}
			if w == 0 && err == nil {
				return io.ErrShortWrite
			}
			done += max(w, 0)
		}
		from += int64(n)
	}
	return nil
}
