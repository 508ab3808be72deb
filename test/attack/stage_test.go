package attack

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"ringfence.dev/ringfence/test/wait"
)

// stage is the first process of a host. It builds the host, runs the case on it,
// and writes what it saw to standard output.
func stage() int {
	// Ambient capabilities and the session keyring belong to a thread: all that
	// is started here is started from this one.
	runtime.LockOSThread()
	// Some cases send signals to the first process, which is this one. They are
	// caught and not ignored: to ignore would be inherited.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM)
	var req request
	got := &outcome{}
	err := json.NewDecoder(os.Stdin).Decode(&req)
	if err == nil {
		got, err = perform(req)
	}
	if err != nil {
		got = &outcome{Fault: err.Error()}
	}
	if err := json.NewEncoder(os.Stdout).Encode(got); err != nil {
		return 1
	}
	return 0
}

// perform is the order of every run.
func perform(req request) (*outcome, error) {
	h, err := newHost(req)
	if err != nil {
		return nil, fmt.Errorf("build the host: %w", err)
	}
	c := req.Case
	if req.Enter == nil && c.Moot != "" {
		if status, _, err := h.script(c.Moot); err != nil || status == 0 {
			return &outcome{Moot: true}, err
		}
	}
	if c.Setup != "" {
		if status, out, err := h.script(c.Setup); err != nil || status != 0 {
			return nil, fmt.Errorf("setup: status %d: %v\n%s", status, err, out)
		}
	}
	before, err := h.state()
	if err != nil {
		return nil, err
	}
	got := &outcome{Outside: req.Enter == nil}
	if c.byViews() && c.Kind != kindLaunch {
		err = h.attackWork(got)
	} else {
		err = h.attackAlone(got)
	}
	if err != nil {
		return nil, err
	}
	if c.Check != "" {
		if got.CheckStatus, got.CheckOut, err = h.script(c.Check); err != nil {
			return nil, err
		}
	}
	after, err := h.state()
	if err != nil {
		return nil, err
	}
	if req.Enter != nil {
		if err := h.askWhy(got); err != nil {
			return nil, err
		}
	}
	if got.Asked > 0 {
		if after, err = h.state(); err != nil {
			return nil, err
		}
	}
	got.Changed = compare(before.files, after.files)
	got.Left = append(compare(before.mounts, after.mounts), processes()...)
	return got, nil
}

// attackAlone runs the script until nothing of it is left.
func (h *host) attackAlone(got *outcome) error {
	err := h.attack(got)
	if err == nil && h.req.Enter != nil {
		wait.For(func() bool { return len(processes()) == 0 })
	}
	return err
}

// attackWork also takes down what became of the workspace, and what the session's
// report says of it.
func (h *host) attackWork(got *outcome) error {
	before, err := h.tree()
	if err != nil {
		return err
	}
	if err := h.attackAlone(got); err != nil {
		return err
	}
	after, err := h.tree()
	if err != nil {
		return err
	}
	for _, name := range differs(before, after) {
		got.Tree = append(got.Tree, []byte(name))
	}
	if h.req.Enter != nil && got.Ran {
		got.Report, err = h.review()
	}
	return err
}

// attack runs the case's script: in the sandbox, or as its control without.
func (h *host) attack(got *outcome) error {
	c := h.req.Case
	var argv []string
	switch {
	case c.Kind == kindLaunch:
		argv = []string{"/bin/bash", "-c", text(h.variables(false), h.hostPrologue(), c.Run)}
	case h.req.Enter != nil:
		argv = append([]string{binDir + "/ringfence"}, h.expand(slices.Concat(h.req.Enter, c.Flags))...)
		argv = append(argv, "--", "/bin/bash", "-c", text(h.variables(true), "echo "+marker+"\n", c.Run))
	default:
		argv = []string{"/bin/bash", "-c", text(h.variables(false), "echo "+marker+"\n", c.Run)}
	}
	cmd, done, err := h.command(argv)
	if err != nil {
		return err
	}
	defer done()
	var stdout, stderr bytes.Buffer
	if c.Terminal {
		err = h.onTerminal(cmd, &stdout)
	} else {
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err = cmd.Run()
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		return err
	}
	got.Status = shellStatus(cmd.ProcessState)
	got.Out, got.Err = stdout.String(), stderr.String()
	for line := range strings.Lines(got.Out) {
		if c.Terminal {
			line = titleMark.ReplaceAllString(line, "")
		}
		got.Ran = got.Ran || strings.TrimSpace(line) == marker
	}
	return nil
}

func (h *host) hostPrologue() string {
	return text(h.hostVariables(), hostFunctions, "")
}

// expand lets flags name what scripts name.
func (h *host) expand(flags []string) []string {
	vars := h.variables(true)
	var out []string
	for _, f := range flags {
		out = append(out, os.Expand(f, func(name string) string { return vars[name] }))
	}
	return out
}

// command prepares a program to be run by the user, in the workspace, with all
// that a launch may inherit and must not pass on: descriptors, and what newHost
// gave to this thread.
func (h *host) command(argv []string) (*exec.Cmd, func(), error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = h.ws, h.environment()
	cmd.WaitDelay = 5 * time.Second // something may still hold the output open
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	if os.Getuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(h.req.UID), Gid: uint32(h.req.GID)}
	}
	var open []io.Closer
	done := func() {
		for _, f := range open {
			f.Close()
		}
	}
	for _, name := range []string{h.home + "/.ssh/id_ed25519", h.home} {
		f, err := os.Open(name)
		if err != nil {
			return nil, done, err
		}
		open = append(open, f)
		cmd.ExtraFiles = append(cmd.ExtraFiles, f)
	}
	giver, err := h.giver()
	if err != nil {
		return nil, done, err
	}
	open = append(open, giver)
	cmd.ExtraFiles = append(cmd.ExtraFiles, giver)
	if stdin := h.req.Case.Stdin; stdin != "" {
		f, err := os.Open(h.expand([]string{stdin})[0])
		if err != nil {
			return nil, done, err
		}
		open = append(open, f)
		cmd.Stdin = f
	}
	return cmd, done, nil
}

// script runs a script of the host's side, as the user.
func (h *host) script(script string) (int, string, error) {
	cmd, done, err := h.command([]string{"/bin/bash", "-c", text(h.variables(false), h.hostPrologue(), script)})
	if err != nil {
		return 0, "", err
	}
	defer done()
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		return 0, "", err
	}
	return shellStatus(cmd.ProcessState), string(out), nil
}

// shellStatus is the status as a shell tells it.
func shellStatus(s *os.ProcessState) int {
	if ws := s.Sys().(syscall.WaitStatus); ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return s.ExitCode()
}
