package state

import (
	"errors"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
)

// Things are made under a scratch name and renamed into place when complete, so
// that kill -9 never leaves half of one. A scratch is locked by its maker for as
// long as he lives; one that can be locked by another is a leftover.
const scratchPrefix = ".new-"

var errBusy = errors.New("no free scratch name")

// step is told how far a change got. Tests end the process there.
var step = func(string) {}

// scratch makes a directory or a file in dir, locks it, and returns it.
func scratch(dir int, isDir bool) (name string, fd int, err error) {
	for range 16 {
		name = scratchPrefix + NewID()
		if isDir {
			if err = unix.Mkdirat(dir, name, 0o700); err == nil {
				step("scratch made")
				fd, err = openAt(dir, name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
			}
		} else {
			fd, err = openAt(dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, 0o600)
		}
		if err == unix.ENOENT || err == unix.EEXIST {
			continue // somebody swept it, or has the same name
		}
		if err != nil {
			return "", -1, err
		}
		if file.Lock(fd, unix.LOCK_EX|unix.LOCK_NB) == nil && file.Named(dir, name, fd) {
			step("scratch locked")
			return name, fd, nil
		}
		unix.Close(fd)
	}
	return "", -1, errBusy
}

// sweep removes the leftovers in dir. It is called where something is made, never
// on the way of an ordinary launch.
func sweep(dir int) error {
	found, err := allNames(dir)
	if err != nil {
		return err
	}
	for _, name := range found {
		if strings.HasPrefix(name, scratchPrefix) {
			if err := sweepOne(dir, name); err != nil {
				return err
			}
		}
	}
	return nil
}

func sweepOne(dir int, name string) error {
	fd, err := openAt(dir, name, unix.O_RDONLY|unix.O_NONBLOCK, 0)
	if err == unix.ENOENT {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if file.Lock(fd, unix.LOCK_EX|unix.LOCK_NB) != nil || !file.Named(dir, name, fd) {
		return nil
	}
	if err := unix.Unlinkat(dir, name, 0); err != unix.EISDIR {
		return err
	}
	return removeTree(dir, name)
}

// allNames lists a directory of our own.
func allNames(dir int) ([]string, error) {
	fd, err := openAt(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var all []string
	buf := make([]byte, 32<<10)
	for {
		n, err := unix.ReadDirent(fd, buf)
		if err != nil || n <= 0 {
			return all, err
		}
		_, _, all = unix.ParseDirent(buf[:n], -1, all)
	}
}
