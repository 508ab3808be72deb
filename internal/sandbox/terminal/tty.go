package terminal

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Winsize is the size of a terminal in cells and, where the terminal tells it,
// in pixels.
type Winsize = unix.Winsize

// IsTerminal reports whether f is a terminal.
func IsTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// Size returns the size of the terminal f.
func Size(f *os.File) (*Winsize, error) {
	ws, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return nil, fmt.Errorf("size of %s: %w", f.Name(), err)
	}
	return ws, nil
}

// rawMode is t with every byte passed on as it comes: no echo, no lines, no
// signals from keys, no translation. The inner pty does all that.
func rawMode(t unix.Termios) *unix.Termios {
	t.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP |
		unix.INLCR | unix.IGNCR | unix.ICRNL | unix.IXON
	t.Oflag &^= unix.OPOST
	t.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
	t.Cflag = t.Cflag&^(unix.CSIZE|unix.PARENB) | unix.CS8
	t.Cc[unix.VMIN], t.Cc[unix.VTIME] = 1, 0
	return &t
}

// setTermios changes the modes at once. It does not wait for output to drain,
// which on a stuck line would never end.
func setTermios(fd int, t *unix.Termios) error {
	return again(func() error { return unix.IoctlSetTermios(fd, unix.TCSETS, t) })
}

// foreground reports whether we may read from the terminal and change it: from
// the background the kernel would stop us for that. A terminal that does not
// control our session knows no background.
func foreground(fd int) bool {
	group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp()
}

// nonblocking opens the terminal f once more, for ourselves. O_NONBLOCK is a
// property of the open file, and the user's shell shares the one we were given.
// A terminal that cannot be opened again (it belongs to another user after su)
// is used as it is; then only a terminal that stops reading can hold us up.
func nonblocking(f *os.File, flags int) (fd int, own bool) {
	path := fmt.Sprintf("/proc/self/fd/%d", f.Fd())
	fd, err := unix.Open(path, flags|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return int(f.Fd()), false
	}
	return fd, true
}

// again repeats a call that a signal has interrupted.
func again(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}
