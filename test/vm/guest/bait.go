package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/test/vm/serial"
)

// bait listens where no sandbox must get to, on the machine's own loopback, runs a
// program, and says how many came and what there is of ringfence afterwards.
func bait(args []string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return err
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
		return err
	}
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: serial.BaitPort}); err != nil {
		return err
	}
	if err := unix.Listen(fd, 8); err != nil {
		return err
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		return err
	}
	b := serial.Baited{Status: status(cmd.ProcessState), Stdout: stdout.String(), Stderr: stderr.String()}
	for ; ; b.Came++ { // who came waits in the queue
		if _, _, err = unix.Accept4(fd, unix.SOCK_CLOEXEC); err != nil {
			break
		}
	}
	if !errors.Is(err, unix.EAGAIN) {
		return fmt.Errorf("accept: %w", err)
	}
	if b.Left, err = left(); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(b)
}

// left names the processes and groups of ringfence.
func left() ([]string, error) {
	var names []string
	all, err := os.ReadDir("/proc")
	for _, d := range all {
		b, _ := os.ReadFile(filepath.Join("/proc", d.Name(), "cmdline")) // nothing where it is no process
		if program, _, _ := bytes.Cut(b, []byte{0}); filepath.Base(string(program)) == "ringfence" {
			names = append(names, string(bytes.ReplaceAll(b, []byte{0}, []byte{' '})))
		}
	}
	if err != nil {
		return nil, err
	}
	rest, err := groups()
	for _, g := range rest {
		names = append(names, filepath.Join(g.Parent, g.Name))
	}
	return names, err
}

// bite goes for the bait and says how far it got.
func bite([]string) error {
	c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", serial.BaitPort))
	if err != nil {
		fmt.Println("not reached")
		return nil
	}
	fmt.Println("reached")
	return c.Close()
}
