package work

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"

	"github.com/creack/pty"
)

// Person sits at a terminal.
type Person struct {
	TTY *os.File
	f   *Fixture
	cmd *exec.Cmd

	mu   sync.Mutex
	seen bytes.Buffer
}

// Sit begins ringfence at a terminal of 30 rows and 100 columns.
func (f *Fixture) Sit(args ...string) *Person {
	f.T.Helper()
	return f.SitAt(f.Cmd(args...))
}

// SitAt begins another command there.
func (f *Fixture) SitAt(cmd *exec.Cmd) *Person {
	f.T.Helper()
	p := &Person{f: f, cmd: cmd}
	var err error
	if p.TTY, err = pty.StartWithSize(cmd, &pty.Winsize{Rows: 30, Cols: 100}); err != nil {
		f.T.Fatal(err)
	}
	f.T.Cleanup(func() { cmd.Process.Kill(); p.TTY.Close() })
	go p.watch()
	return p
}

func (p *Person) watch() {
	buf := make([]byte, 4096)
	for {
		n, err := p.TTY.Read(buf)
		p.mu.Lock()
		p.seen.Write(buf[:n])
		p.mu.Unlock()
		if bytes.Contains(buf[:n], []byte("\x1b[5n")) { // a terminal says that it is well; who gives it back waits for that
			p.TTY.WriteString("\x1b[0n")
		}
		if err != nil {
			return
		}
	}
}

// Sees waits for a text on the screen.
func (p *Person) Sees(text string) {
	p.f.T.Helper()
	p.f.Eventually(fmt.Sprintf("%q on the screen", text), func() bool { return p.Saw(text) })
}

// Saw says whether a text was on the screen.
func (p *Person) Saw(text string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Contains(p.seen.String(), text)
}

// Types types.
func (p *Person) Types(text string) {
	p.f.T.Helper()
	if _, err := p.TTY.WriteString(text); err != nil {
		p.f.T.Fatal(err)
	}
}

// Resize makes the terminal another size.
func (p *Person) Resize(rows, cols uint16) {
	p.f.T.Helper()
	if err := pty.Setsize(p.TTY, &pty.Winsize{Rows: rows, Cols: cols}); err != nil {
		p.f.T.Fatal(err)
	}
}

// Status waits for the end.
func (p *Person) Status() int {
	p.cmd.Wait()
	return p.cmd.ProcessState.ExitCode()
}
