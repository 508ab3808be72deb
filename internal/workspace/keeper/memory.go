package keeper

import (
	"bytes"
	"syscall"

	"golang.org/x/sys/unix"
)

const page = 4096

// Read copies len(b) bytes of the caller's memory.
func (c *notice) Read(at uint64, b []byte) error {
	n, err := c.readSome(at, b)
	if err == nil && n != len(b) {
		return unix.EFAULT
	}
	return err
}

func (c *notice) readSome(at uint64, b []byte) (int, error) {
	local := []unix.Iovec{{Base: &b[0], Len: uint64(len(b))}}
	remote := []unix.RemoteIovec{{Base: uintptr(at), Len: len(b)}}
	n, err := unix.ProcessVMReadv(int(c.PID), local, remote, 0)
	if err != nil {
		return 0, err
	}
	return n, nil
}

// String copies a path from the caller's memory. buf has room for the longest one;
// the result is a copy.
func (c *notice) String(at uint64, buf *[page]byte) (string, error) {
	for have := 0; have < page; {
		// Not beyond the page: the next one may not be there.
		want := min(page-have, page-int((at+uint64(have))%page))
		n, err := c.readSome(at+uint64(have), buf[have:have+want])
		if err != nil || n == 0 {
			return "", unix.EFAULT
		}
		if end := bytes.IndexByte(buf[have:have+n], 0); end >= 0 {
			return string(buf[:have+end]), nil
		}
		have += n
	}
	return "", syscall.ENAMETOOLONG
}
