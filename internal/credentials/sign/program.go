package sign

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"ringfence.dev/ringfence/internal/file"
)

const (
	maxOutput = 64 << 10
	maxWords  = 1 << 10 // of a program that failed, for the journal
)

// passed names the variables that a program that signs may need: where its files
// are, how to reach the agent that has the key, how to ask the user.
var passed = []string{"HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TERM", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR",
	"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CURRENT_DESKTOP", "XDG_SESSION_TYPE", "DBUS_SESSION_BUS_ADDRESS", "SSH_AUTH_SOCK", "SSH_ASKPASS",
	"SSH_ASKPASS_REQUIRE", "SSH_SK_PROVIDER", "SSH_SK_HELPER", "SSH_PKCS11_HELPER", "GNUPGHOME", "PINENTRY_USER_DATA"}

// environ returns what of the launcher's environment a program gets.
func (c *Config) environ() []string {
	env := []string{"PATH=" + strings.Join(c.searchPath(), ":")}
	for _, kv := range c.Environ {
		name, value, _ := strings.Cut(kv, "=")
		if slices.Contains(passed, name) || strings.HasPrefix(name, "LC_") || name == "GPG_TTY" && c.Terminal {
			env = append(env, name+"="+value)
		}
	}
	return env
}

func (c *Config) getenv(name string) string {
	value := ""
	for _, kv := range c.Environ {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			value = v
		}
	}
	return value
}

// searchPath is PATH without what the agent can write.
func (c *Config) searchPath() []string {
	var dirs []string
	for dir := range strings.SplitSeq(c.getenv("PATH"), ":") {
		if filepath.IsAbs(dir) && c.trusted(dir) == nil {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// trusted refuses a path that lies in a workspace, or leads there.
func (c *Config) trusted(path string) error {
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		real, err = path, nil
	}
	if err != nil {
		return err
	}
	for _, w := range c.Workspaces {
		if file.Within(filepath.Clean(path), w) || file.Within(real, w) {
			return fmt.Errorf("%q lies in the workspace %q, where the agent writes", path, w)
		}
	}
	return nil
}

// findProgram returns the real path of a program that is configured as name.
func (c *Config) findProgram(name string) (string, error) {
	name = c.expand(name)
	if filepath.IsAbs(name) {
		return c.program(name)
	}
	if strings.Contains(name, "/") || name == "" {
		return "", fmt.Errorf("program %q: neither a name nor an absolute path", name)
	}
	for _, dir := range c.searchPath() {
		path, err := c.program(filepath.Join(dir, name))
		if !errors.Is(err, fs.ErrNotExist) {
			return path, err
		}
	}
	return "", fmt.Errorf("program %q: %w", name, exec.ErrNotFound)
}

func (c *Config) program(path string) (string, error) {
	if err := c.trusted(path); err != nil {
		return "", fmt.Errorf("program %w", err)
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	fi, err := os.Stat(real)
	if err == nil && (!fi.Mode().IsRegular() || fi.Mode()&0o111 == 0) {
		err = fmt.Errorf("program %q: not executable", path)
	}
	return real, err
}

// expand puts HOME in for "~/".
func (c *Config) expand(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(c.getenv("HOME"), rest)
	}
	return path
}

// run runs a program of the host by its arguments, without a shell, in a session
// of its own: without a terminal it cannot ask on the one that the agent uses.
func (c *Config) run(ctx context.Context, stdin []byte, argv ...string) (stdout, stderr []byte, err error) {
	path, err := c.findProgram(argv[0])
	if err != nil {
		return nil, nil, err
	}
	var out, words bounded
	cmd := exec.CommandContext(ctx, path)
	cmd.Args = argv
	cmd.Dir = "/"
	cmd.Env = c.environ()
	cmd.Stdin = bytes.NewReader(stdin)
	cmd.Stdout, cmd.Stderr = &out, &words
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	if err = cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("%w: %w", err, ctx.Err())
		}
		err = fmt.Errorf("%s: %w: %s", filepath.Base(path), err, lastWords(words.kept.Bytes()))
	}
	if err == nil && (out.over || words.over) {
		err = fmt.Errorf("%s: more than %d bytes of output", filepath.Base(path), maxOutput)
	}
	return out.kept.Bytes(), words.kept.Bytes(), err
}

// lastWords is what a program said, on one line.
func lastWords(b []byte) string {
	s := strings.Join(strings.Fields(strings.ToValidUTF8(string(b), "?")), " ")
	if len(s) > maxWords {
		s = strings.ToValidUTF8(s[len(s)-maxWords:], "")
	}
	return s
}

// bounded keeps the first bytes and takes the rest without keeping it: a program
// must not block on us.
type bounded struct {
	kept bytes.Buffer // not embedded: its ReadFrom knows no bound
	over bool
}

func (b *bounded) Write(p []byte) (int, error) {
	room := min(maxOutput-b.kept.Len(), len(p))
	b.over = b.over || room < len(p)
	b.kept.Write(p[:room])
	return len(p), nil
}
