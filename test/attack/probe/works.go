package main

import (
	"fmt"
	"net"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// works tries what programs need and a careless wall breaks. It exits 0 if all of
// it works.
func works(args []string) int {
	able := map[string]func() error{
		"interfaces": interfaces,
		"inotify":    inotify,
		"memfd":      memfd,
		"unix":       unixSocket,
		"threads":    threads,
	}
	status := 0
	for _, name := range args {
		if able[name] == nil {
			usage("no such ability: " + name)
		}
		if err := able[name](); err != nil {
			fmt.Printf("broken %s: %v\n", name, err)
			status = 1
		}
	}
	return status
}

// interfaces lists them through a netlink route socket, as getifaddrs does.
func interfaces() error {
	all, err := net.Interfaces()
	if err == nil && !slices.ContainsFunc(all, func(i net.Interface) bool { return i.Flags&net.FlagLoopback != 0 && i.Flags&net.FlagUp != 0 }) {
		err = fmt.Errorf("no loopback is up among %v", all)
	}
	return err
}

func inotify() error {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.InotifyAddWatch(fd, ".", unix.IN_CREATE)
	return err
}

func memfd() error {
	fd, err := unix.MemfdCreate("works", unix.MFD_CLOEXEC)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

func unixSocket() error {
	dir, err := os.MkdirTemp("", "works")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for _, name := range []string{dir + "/socket", "@works"} {
		l, err := net.Listen("unix", name)
		if err != nil {
			return err
		}
		defer l.Close()
		c, err := net.Dial("unix", name)
		if err != nil {
			return err
		}
		c.Close()
	}
	return nil
}

// threads starts enough goroutines that block to need threads of their own.
func threads() error {
	done := make(chan struct{})
	for range 16 {
		go func() {
			unix.Nanosleep(&unix.Timespec{Nsec: 1e6}, nil)
			done <- struct{}{}
		}()
	}
	for range 16 {
		<-done
	}
	return nil
}
