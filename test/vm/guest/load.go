package main

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// put writes a value to a file of the kernel's.
func put(args []string) error {
	return os.WriteFile(args[0], []byte(args[1]), 0)
}

// group makes a group and gives it to a user, as the kernel's documentation says.
func group(args []string) error {
	dir := filepath.Join(cgroups, args[0])
	uid, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	for _, file := range []string{".", "cgroup.procs", "cgroup.threads", "cgroup.subtree_control"} {
		if err := os.Chown(filepath.Join(dir, file), uid, uid); err != nil {
			return err
		}
	}
	return nil
}

// show prints a file.
func show(args []string) error {
	b, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(b)
	return err
}

// fork makes processes until it is refused, at most as many as asked for, and
// says how many there were and what stopped it.
func fork(args []string) error {
	most, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	var made []int
	defer func() {
		for _, pid := range made {
			unix.Kill(pid, unix.SIGKILL)
		}
	}()
	for len(made) < most {
		// Without exec and without threads each is one; it never returns to Go.
		pid, _, errno := unix.RawSyscall(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0)
		if errno != 0 {
			fmt.Printf("%d: %s\n", len(made), unix.ErrnoName(errno))
			return nil
		}
		if pid == 0 {
			for {
				unix.RawSyscall6(unix.SYS_PPOLL, 0, 0, 0, 0, 0, 0) // for nothing, for ever
			}
		}
		made = append(made, int(pid))
	}
	fmt.Printf("%d: none\n", len(made))
	return nil
}

// hog touches so many MiB, page by page.
func hog(args []string) error {
	mib, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	b, err := unix.Mmap(-1, 0, mib<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return err
	}
	for i := 0; i < len(b); i += unix.Getpagesize() {
		b[i] = 1
	}
	fmt.Println("touched")
	return nil
}

// hold is an agent with so many children that do not want to go: each leads a
// session of its own and ignores what can be ignored.
func hold(args []string) error {
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM)
	children, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	for range children {
		p, err := os.StartProcess("/proc/self/exe", []string{"guest", "hold", "0"}, &os.ProcAttr{
			Files: []*os.File{os.Stdin, nil, os.Stderr}, Sys: &syscall.SysProcAttr{Setsid: true}})
		if err != nil {
			return err
		}
		if err := p.Release(); err != nil {
			return err
		}
	}
	fmt.Println("ready")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}
