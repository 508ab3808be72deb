package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// bench is one run: a scratch home, so that nothing of the user's is read or left
// behind, and what was measured.
type bench struct {
	ringfence, unkept, far, srt, source, before string
	rounds                                      int
	dir, home                                   string
	results                                     []result
}

func (b *bench) open() (err error) {
	for _, path := range []*string{&b.ringfence, &b.unkept, &b.far, &b.source, &b.before} {
		if *path == "" {
			continue
		}
		if *path, err = filepath.Abs(*path); err != nil {
			return err
		}
	}
	if b.dir, err = os.MkdirTemp("", "ringfence-bench-"); err != nil {
		return err
	}
	b.home = b.dir + "/home"
	return os.Mkdir(b.home, 0o755)
}

func (b *bench) close() { os.RemoveAll(b.dir) }

// workspace returns a directory to work in, filled the first time.
func (b *bench) workspace(name string, fill func(dir string) error) (string, error) {
	dir := filepath.Join(b.home, name)
	if err := os.Mkdir(dir, 0o755); err != nil || fill == nil {
		if errors.Is(err, fs.ErrExist) {
			err = nil
		}
		return dir, err
	}
	return dir, fill(dir)
}

// command is a command as the user would type it in a workspace.
func (b *bench) command(dir string, argv ...string) *exec.Cmd {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, "XDG_") }),
		"HOME="+b.home, "CGO_ENABLED=0", "GOFLAGS=", "GOTOOLCHAIN=local", "NO_UPDATE_NOTIFIER=1")
	return cmd
}

// run runs a command to its end and returns what it printed.
func run(cmd *exec.Cmd) ([]byte, error) {
	var out, talk bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &talk
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args[:min(3, len(cmd.Args))], " "), err, talk.Bytes())
	}
	return out.Bytes(), nil
}

// inside is a command line that does the same in a sandbox.
func (b *bench) inside(flags []string, argv ...string) []string {
	return slices.Concat([]string{b.ringfence, "run"}, flags, []string{"--"}, argv)
}
