package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"ringfence.dev/ringfence/internal/fault"
)

const (
	patience  = 30 * time.Second
	lingering = time.Second // for who holds the output of a program that is gone
	maxStderr = 4 << 10
	maxLine   = 200
)

// command returns what a program prints. It runs by its arguments and never by a
// shell, away from every workspace: not in one, not from one, with nothing of the
// environment that leads into one.
func (h Host) command(ctx context.Context, argv []string) (string, error) {
	if len(argv) == 0 {
		return "", errors.New("there is no command")
	}
	environ := h.environ()
	program, err := h.find(argv[0], environ)
	if err != nil {
		return "", err
	}
	for _, a := range argv[1:] {
		if err := h.leads(a); err != nil {
			return "", fmt.Errorf("an argument: %w", err)
		}
	}
	limit := h.Patience
	if limit <= 0 {
		limit = patience
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	out, stderr := &bounded{limit: maxValue + 2}, &bounded{limit: maxStderr, cut: true}
	cmd := exec.CommandContext(ctx, program, argv[1:]...)
	cmd.Args[0], cmd.Env, cmd.Dir = argv[0], environ, "/"
	cmd.Stdout, cmd.Stderr = out, stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // what it starts dies with it
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = lingering
	err = cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // who stayed in its group
	}
	if err != nil {
		return "", explain(ctx, err, limit, out, stderr)
	}
	return out.String(), nil
}

// explain says why a program gave nothing, with the first line that it complained in.
func explain(ctx context.Context, err error, limit time.Duration, out, stderr *bounded) error {
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fault.New(fault.Failed, "run it by hand: it may wait for an answer, which it cannot get here", "it did not end in %s", limit)
	case ctx.Err() != nil:
		return ctx.Err()
	case out.full:
		return fmt.Errorf("it printed more than %d KiB", maxValue>>10)
	case errors.Is(err, exec.ErrWaitDelay):
		return errors.New("it left a program behind that holds its output")
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		var pe *os.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return err
	}
	if line := firstLine(stderr, out.String()); line != "" {
		return fmt.Errorf("%w: %s", err, line)
	}
	return err
}

// firstLine returns what may be shown of stderr: its first line, nothing of it if it
// repeats any word that the program printed as the secret, and nothing that a terminal
// would obey.
func firstLine(stderr *bounded, out string) string {
	line, _, whole := strings.Cut(strings.TrimLeft(stderr.String(), " \t\r\n"), "\n")
	if stderr.full && !whole {
		return "" // a word may be cut in two
	}
	for word := range strings.FieldsSeq(out) {
		if strings.Contains(line, word) {
			return ""
		}
	}
	if len(line) > maxLine {
		line = strings.ToValidUTF8(line[:maxLine], "") + "…"
	}
	return shown(strings.TrimSpace(line))
}

// find returns the program that argv[0] names: a path that begins with / or ~/, or a
// name on PATH.
func (h Host) find(name string, environ []string) (string, error) {
	if strings.Contains(name, "/") {
		path, err := h.absolute(name)
		if err != nil {
			return "", fmt.Errorf("%s: the program is a name on PATH, or a path that begins with / or ~/", shown(name))
		}
		return path, h.outside(path)
	}
	for _, e := range environ {
		list, ok := strings.CutPrefix(e, "PATH=")
		if !ok || name == "" {
			continue
		}
		for _, dir := range filepath.SplitList(list) {
			path := filepath.Join(dir, name)
			if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
				return path, h.outside(path)
			}
		}
	}
	return "", fault.New(fault.NotFound, "", "%s: there is no such program on PATH", shown(name))
}

// environ is the launcher's environment without what leads into a workspace: a PATH
// or a configuration there would make the agent the one who answers.
func (h Host) environ() []string {
	var out []string
	for _, e := range h.Environ {
		name, value, _ := strings.Cut(e, "=")
		if name == "PATH" {
			var dirs []string
			for _, dir := range filepath.SplitList(value) {
				if filepath.IsAbs(dir) && h.outside(filepath.Clean(dir)) == nil {
					dirs = append(dirs, dir)
				}
			}
			out = append(out, "PATH="+strings.Join(dirs, ":"))
		} else if h.leads(value) == nil {
			out = append(out, e)
		}
	}
	return out
}

// leads refuses a text in which there is a path of a workspace.
func (h Host) leads(text string) error {
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(":;,= \t\n", r) }) {
		if filepath.IsAbs(part) {
			if err := h.outside(filepath.Clean(part)); err != nil {
				return err
			}
		}
	}
	return nil
}

// bounded keeps the first bytes that are written to it. What is more is an error, or
// is dropped where cut is set. The buffer is no embedded one: io.Copy would find its
// ReadFrom and pass the bound by.
type bounded struct {
	kept      bytes.Buffer
	limit     int
	cut, full bool
}

func (b *bounded) String() string { return b.kept.String() }

func (b *bounded) Write(p []byte) (int, error) {
	room := b.limit - b.kept.Len()
	if len(p) <= room {
		return b.kept.Write(p)
	}
	b.full = true
	b.kept.Write(p[:room])
	if !b.cut {
		return room, errors.New("too long")
	}
	return len(p), nil
}
