package cgroup

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// This file is the little of D-Bus that one method call needs: connect, SASL
// EXTERNAL, send, and read messages until the answer is there. The bytes of the
// peer are bounded before they are read and checked before they are used.

const (
	maxMessage  = 64 << 10 // systemd's answers and signals are a few hundred bytes
	maxMessages = 1024     // unrelated signals to be skipped
	callTimeout = 5 * time.Second
)

// bus is one authenticated connection.
type bus struct {
	f      *os.File
	serial uint32
}

// dialBus connects to a socket whose listener is root or ourselves, and returns
// the listener's pid. Any other owner would be a stranger in the place of the
// manager.
func dialBus(path string) (*bus, int, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, 0, err
	}
	f := os.NewFile(uintptr(fd), "dbus") // non-blocking, so deadlines work
	// A local connect never waits for the peer: it succeeds, or the backlog is full.
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		f.Close()
		return nil, 0, err
	}
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err == nil && cred.Uid != 0 && int(cred.Uid) != os.Getuid() {
		err = errors.New("the socket belongs to another user")
	}
	if err == nil {
		err = f.SetDeadline(time.Now().Add(callTimeout))
	}
	b := &bus{f: f}
	if err == nil {
		err = b.authenticate()
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return b, int(cred.Pid), nil
}

// authenticate says who we are; the kernel vouches for it by SO_PEERCRED.
func (b *bus) authenticate() error {
	uid := hex.EncodeToString([]byte(strconv.Itoa(os.Getuid())))
	if _, err := b.f.WriteString("\x00AUTH EXTERNAL " + uid + "\r\n"); err != nil {
		return err
	}
	var line []byte
	for len(line) < 2 || string(line[len(line)-2:]) != "\r\n" {
		if len(line) == 256 {
			return errors.New("dbus: endless answer to AUTH")
		}
		var c [1]byte
		if _, err := io.ReadFull(b.f, c[:]); err != nil {
			return fmt.Errorf("dbus: auth: %w", err)
		}
		line = append(line, c[0])
	}
	if string(line[:3]) != "OK " {
		return fmt.Errorf("dbus: auth refused: %q", line)
	}
	_, err := b.f.WriteString("BEGIN\r\n")
	return err
}

// send writes a method call and returns its serial.
func (b *bus) send(m message) (uint32, error) {
	b.serial++
	m.kind, m.serial = kindCall, b.serial
	_, err := b.f.Write(m.encode())
	return m.serial, err
}

// receive reads one message.
func (b *bus) receive() (message, error) {
	buf := make([]byte, fixedHeader, 512)
	if _, err := io.ReadFull(b.f, buf); err != nil {
		return message{}, fmt.Errorf("dbus: %w", err)
	}
	size, err := frameSize(buf)
	if err != nil {
		return message{}, err
	}
	buf = append(buf, make([]byte, size-fixedHeader)...)
	if _, err := io.ReadFull(b.f, buf[fixedHeader:]); err != nil {
		return message{}, fmt.Errorf("dbus: %w", err)
	}
	return decodeMessage(buf)
}

// call sends m and returns its answer; what else arrives meanwhile is dropped.
func (b *bus) call(m message) (message, error) {
	serial, err := b.send(m)
	if err != nil {
		return message{}, err
	}
	for range maxMessages {
		m, err := b.receive()
		if err != nil {
			return message{}, err
		}
		switch {
		case m.replyTo == serial && m.kind == kindReturn:
			return m, nil
		case m.replyTo == serial && m.kind == kindError:
			return message{}, &busError{m.errorName}
		}
	}
	return message{}, errors.New("dbus: no answer among the messages")
}

// busError is an error that the peer answered with. Its text is the peer's and
// may name units and paths; the name is enough.
type busError struct{ name string }

func (e *busError) Error() string { return fmt.Sprintf("the manager answered %q", e.name) }

var le = binary.LittleEndian
