package attack

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/test/wait"
)

// onTerminal runs a command on a terminal of its own, types the keys of the case,
// and keeps all that a terminal would have been told.
func (h *host) onTerminal(cmd *exec.Cmd, seen *bytes.Buffer) error {
	master, slave, err := pty.Open()
	if err != nil {
		return err
	}
	defer master.Close()
	if err := pty.Setsize(master, &pty.Winsize{Rows: 31, Cols: 97}); err != nil {
		return err
	}
	if os.Getuid() == 0 {
		if err := slave.Chown(h.req.UID, h.req.GID); err != nil {
			return err
		}
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr.Setsid, cmd.SysProcAttr.Setctty = true, true
	if err := cmd.Start(); err != nil {
		return err
	}
	slave.Close()
	if err := h.watch(master, seen); err != nil {
		return err
	}
	if err := os.WriteFile(ttyLog, seen.Bytes(), 0o644); err != nil {
		return err
	}
	if h.req.Case.Hangup {
		return h.waitHungUp(cmd)
	}
	return cmd.Wait()
}

// waitHungUp does not wait for ever for a command that lost its terminal. A
// sandbox must end by itself then; a control need not.
func (h *host) waitHungUp(cmd *exec.Cmd) error {
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	bound := wait.Patience
	if h.req.Enter == nil {
		bound = 5 * time.Second
	}
	select {
	case err := <-ended:
		return err
	case <-time.After(bound):
	}
	if h.req.Enter != nil {
		return errors.New("the sandbox goes on without its terminal")
	}
	if err := cmd.Process.Kill(); err != nil {
		return err
	}
	return <-ended
}

// watch reads until the last holder of the terminal is gone.
func (h *host) watch(master *os.File, seen *bytes.Buffer) error {
	keys, hangup := h.req.Case.Keys, h.req.Case.Hangup
	buf := make([]byte, 4096)
	for {
		n, err := master.Read(buf)
		seen.Write(buf[:n])
		ready := strings.Contains(seen.String(), "\nready")
		if ready && hangup {
			return master.Close()
		}
		if ready && keys != "" {
			if _, err := master.WriteString(keys); err != nil {
				return err
			}
			keys = ""
		}
		if errors.Is(err, unix.EIO) { // how the kernel says "hung up"
			return nil
		}
		if err != nil {
			return err
		}
	}
}
