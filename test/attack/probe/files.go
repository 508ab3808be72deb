package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// read opens every path and reads from it; of a directory it reads the names.
//
// In proc some names always exist, and are closed in another way: with -masked an
// empty file or directory counts as closed, with -denied a refusal does.
// Elsewhere a placeholder or a refusal is a finding.
func read(args []string) int {
	masked, denied := args[0] == "-masked", args[0] == "-denied"
	if masked || denied {
		args = args[1:]
	}
	var tried []attempt
	for _, path := range args {
		err := readOne(path)
		if masked && (errors.Is(err, io.EOF) || errors.Is(err, unix.EIO)) || denied && errors.Is(err, unix.EACCES) {
			err = unix.ENOENT
		}
		tried = append(tried, attempt{name: path, err: err})
	}
	return report(tried)
}

// link follows the magic links of another process by one step.
func link(args []string) int {
	var tried []attempt
	for _, path := range args {
		target, err := os.Readlink(path)
		tried = append(tried, attempt{name: path, err: err, detail: target})
	}
	return report(tried, unix.ENOENT, unix.EACCES)
}

func readOne(path string) error {
	// Not blocking: /proc/kmsg waits for news, a FIFO for a writer.
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if st.IsDir() {
		_, err = f.Readdirnames(1)
		return err
	}
	n, err := f.Read(make([]byte, 16))
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, unix.EAGAIN) || n > 0 {
		return nil
	}
	return err
}

// write opens every path for writing and writes nothing: as root on the host the
// control must not change what it finds.
func write(args []string) int {
	var tried []attempt
	for _, path := range args {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		if err == nil {
			f.Close()
		}
		tried = append(tried, attempt{name: path, err: err})
	}
	return report(tried, unix.ENOENT, unix.EROFS, unix.EACCES)
}

// room asks how much the private filesystems hold, and proves it: more than the
// first argument, in MiB, or no bound on the number of files, is open.
func room(args []string) int {
	most, err := strconv.ParseInt(args[0], 10, 64)
	if err != nil {
		usage(err.Error())
	}
	var tried []attempt
	for _, dir := range args[1:] {
		tried = append(tried, attempt{name: dir, err: roomOf(dir, most<<20)})
	}
	return report(tried, unix.ENOSPC)
}

func roomOf(dir string, most int64) error {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return err
	}
	if total := int64(st.Blocks) * st.Bsize; total == 0 || total > most || st.Files == 0 || st.Files > 1<<24 {
		return nil // and nothing is written to see how far it goes
	}
	f, err := os.CreateTemp(dir, "room")
	if err != nil {
		return err
	}
	defer f.Close()
	defer os.Remove(f.Name())
	// More than the filesystem holds is refused before any of it is allocated.
	return unix.Fallocate(int(f.Fd()), 0, 0, most+1)
}

// fds tries what a process can do with descriptors that it did not open: read
// them, look below them, ask them for more descriptors.
func fds([]string) int {
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		usage(err.Error())
	}
	var tried []attempt
	for _, e := range names {
		fd, err := strconv.Atoi(e.Name())
		if err != nil || fd <= 2 {
			continue
		}
		target, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err != nil || strings.HasPrefix(target, "/proc/") || strings.HasPrefix(target, "anon_inode:") {
			continue // the listing itself, and the runtime's epoll and event descriptors
		}
		tried = append(tried, attempt{name: "fd" + e.Name(), detail: target + " " + harvest(fd)})
	}
	if len(tried) == 0 {
		fmt.Println("closed fds EBADF")
	}
	return report(tried)
}

// harvest says what a descriptor yields.
func harvest(fd int) string {
	if err := unix.Faccessat(fd, ".ssh", unix.F_OK, 0); err == nil {
		return "a way to .ssh"
	}
	if n, err := unix.Pread(fd, make([]byte, 16), 0); err == nil && n > 0 {
		return "contents"
	}
	if more, err := receive(fd); err == nil {
		return fmt.Sprintf("another descriptor, %d", more)
	}
	return "nothing more"
}

// receive asks the other end of a socket for a descriptor.
func receive(fd int) (int, error) {
	if _, err := unix.Write(fd, []byte("?")); err != nil {
		return -1, err
	}
	oob := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(fd, make([]byte, 16), oob, 0)
	if err != nil {
		return -1, err
	}
	messages, err := unix.ParseSocketControlMessage(oob[:n])
	if err != nil || len(messages) == 0 {
		return -1, unix.EBADMSG
	}
	got, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(got) == 0 {
		return -1, unix.EBADMSG
	}
	return got[0], nil
}

// reopen uses what stands on standard input beyond what it was given for: a file
// opened for reading is opened again for writing, a directory is walked.
func reopen(args []string) int {
	if target, err := os.Readlink("/proc/self/fd/0"); err == nil && strings.HasPrefix(target, "pipe:") {
		// A pipe has no more to it than was given.
		return report([]attempt{{name: target, err: unix.ENOENT}})
	}
	what := "write"
	try := func() error {
		f, err := os.OpenFile("/proc/self/fd/0", os.O_WRONLY|os.O_APPEND, 0)
		if err == nil {
			_, err = f.Write([]byte("#"))
			f.Close()
		}
		return err
	}
	if len(args) > 0 {
		what = "below " + args[0]
		try = func() error {
			fd, err := unix.Openat(0, args[0], unix.O_RDONLY, 0)
			if err == nil {
				unix.Close(fd)
			}
			return err
		}
	}
	return report([]attempt{{name: what, err: try()}}, unix.EACCES, unix.EROFS, unix.ENOENT, unix.ENOTDIR, unix.EBADF)
}
