package docs

import (
	"context"
	"os/exec"
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"ringfence.dev/ringfence/test/screen"
)

// keys is how a person leaves what wants a terminal.
type keys struct {
	line  *regexp.Regexp
	ready string // on the screen, without spaces; "" for anything
	press []string
}

// at a terminal: agents that are not told what to do, and a session's own.
var interactive = []keys{
	{regexp.MustCompile(`(^|/)ringfence claude( --[a-z=-]+)*( +#.*)?$`), "?forshortcuts", []string{"/exit", "\r"}},
	{regexp.MustCompile(`^ringfence attach`), "", []string{"\x1dd"}},
}

func keysFor(line string) *keys {
	for i := range interactive {
		if interactive[i].line.MatchString(line) {
			return &interactive[i]
		}
	}
	return nil
}

// sit runs a command at a terminal, and presses keys until it is over.
func (p *person) sit(ctx context.Context, t *testing.T, cmd *exec.Cmd, k *keys) (int, string) {
	t.Helper()
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 40, Cols: 100})
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	s, over := &screen.Screen{}, make(chan struct{})
	go func() {
		defer close(over)
		buf := make([]byte, 1<<15)
		for {
			n, err := terminal.Read(buf)
			s.Write(buf[:n])
			if err != nil {
				return
			}
		}
	}()
	again := time.NewTicker(time.Second)
	defer again.Stop()
	started := false
	for n := 0; ; {
		select {
		case <-over:
			cmd.Wait()
			return cmd.ProcessState.ExitCode(), s.String()
		case <-ctx.Done():
			terminal.Close()
			cmd.Wait()
			t.Errorf("%s hangs:\n%s", cmd.Args[4], s)
			return -1, s.String()
		case <-again.C:
			if s.Shows("PressEntertostart") && !started {
				terminal.WriteString("\r")
				started = true
			} else if s.Shows(k.ready) {
				terminal.WriteString(k.press[n%len(k.press)])
				n++
			}
		}
	}
}
