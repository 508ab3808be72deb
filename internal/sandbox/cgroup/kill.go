package cgroup

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// patience bounds how long remove waits for killed processes to be gone. Only a
// process stuck in the kernel can use it up.
const patience = 5 * time.Second

// kill sends SIGKILL to every process in dir. Since 5.14 v2 does it in one go;
// elsewhere forks are stopped first, so that the loop gets ahead of a fork bomb.
func kill(dir string) error {
	err := write(dir, "cgroup.kill", "1")
	if err == nil || !errors.Is(err, unix.ENOENT) {
		return gone(err)
	}
	_ = write(dir, "pids.max", "0") // absent in the v1 memory hierarchy
	for range 100 {
		n, err := signalAll(dir)
		if n == 0 || err != nil {
			return gone(err)
		}
	}
	return nil // signalled again and again by remove, which waits in between
}

// gone drops the error of a group that no longer exists.
func gone(err error) error {
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENODEV) {
		return nil
	}
	return err
}

// signalAll kills by pidfd what is listed both before and after its descriptor
// was opened: a number that was reused in between by a stranger is left alone.
func signalAll(dir string) (sent int, err error) {
	procs := filepath.Join(dir, "cgroup.procs")
	b, err := read(procs)
	if err != nil {
		return 0, err
	}
	for pids := range slices.Chunk(parsePids(string(b)), 128) {
		open := make(map[int]int, len(pids))
		for _, pid := range pids {
			if fd, err := unix.PidfdOpen(pid, 0); err == nil {
				open[pid] = fd
			}
		}
		b, err = read(procs)
		still := parsePids(string(b))
		for pid, fd := range open {
			if slices.Contains(still, pid) && unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) == nil {
				sent++
			}
			unix.Close(fd)
		}
		if err != nil {
			return sent, err
		}
	}
	return sent, nil
}

// remove kills what is in dir and removes it. rmdir answers EBUSY until the last
// process has left the kernel's books, a moment after it died.
func remove(dir string, rmdir func(string) error) error {
	end := time.Now().Add(patience)
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		err := gone(rmdir(dir))
		if err == nil {
			return nil
		}
		if !errors.Is(err, unix.EBUSY) || time.Now().After(end) {
			return fmt.Errorf("remove group: %w", err)
		}
		if err := kill(dir); err != nil {
			return fmt.Errorf("kill group: %w", err)
		}
		await(dir, wait)
	}
}

// await returns when the kernel says that the group is empty, or after d.
// Hierarchies of v1 say nothing, so there it is a pause.
func await(dir string, d time.Duration) {
	var fds []unix.PollFd
	fd, err := unix.Open(filepath.Join(dir, "cgroup.events"), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err == nil {
		defer unix.Close(fd)
		var b [256]byte
		n, _ := unix.Read(fd, b[:]) // arms the notification
		if bytes.Contains(b[:max(n, 0)], []byte("populated 1")) {
			fds = append(fds, unix.PollFd{Fd: int32(fd), Events: unix.POLLPRI})
		}
	}
	_, _ = unix.Poll(fds, int(d.Milliseconds()))
}
