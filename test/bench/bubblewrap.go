package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
)

// recorderName is the name under which this program stands in for bubblewrap and
// writes down how it was called.
const recorderName = "bwrap"

const recordEnv = "BENCH_RECORD"

// bubblewrap returns the command that the dry run prints, without the shell around
// it: its generated files lie ready on disk. The filter is left out, because it can
// only come through a descriptor, which hyperfine opens for nobody; bubblewrap is
// the faster for both.
func (b *bench) bubblewrap(dir string, flags ...string) ([]string, error) {
	script, err := run(b.command(dir, b.inside(append(flags, "--dry-run=bwrap"), "true")...))
	if err != nil {
		return nil, err
	}
	record := b.dir + "/record"
	if err := os.MkdirAll(record, 0o755); err != nil {
		return nil, err
	}
	file := record + "/script"
	if err := os.WriteFile(file, script, 0o644); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if err := os.Symlink(self, filepath.Join(record, recorderName)); err != nil && !os.IsExist(err) {
		return nil, err
	}
	cmd := b.command(dir, "bash", file)
	cmd.Env = append(cmd.Env, "PATH="+record+":"+os.Getenv("PATH"), recordEnv+"="+record)
	out, err := run(cmd)
	if err != nil {
		return nil, err
	}
	argv := []string{"bwrap"}
	return argv, json.Unmarshal(out, &argv)
}

// record prints its arguments with every descriptor replaced by a file.
func record(args []string) error {
	dir, argv := os.Getenv(recordEnv), []string{"bwrap"}
	for i := 0; i < len(args); i++ {
		switch args[i] {
		case "--seccomp":
			i++
		case "--perms":
			if args[i+2] != "--ro-bind-data" { // a file on disk has its mode already
				argv = append(argv, args[i])
				continue
			}
			i++
		case "--ro-bind-data":
			name, err := save(dir, args[i+1])
			if err != nil {
				return err
			}
			argv = append(argv, "--ro-bind", name)
			i++
		default:
			argv = append(argv, args[i])
		}
	}
	return json.NewEncoder(os.Stdout).Encode(argv)
}

func save(dir, fd string) (string, error) {
	n, err := strconv.Atoi(fd)
	if err != nil {
		return "", err
	}
	data, err := io.ReadAll(os.NewFile(uintptr(n), "data"))
	if err != nil {
		return "", fmt.Errorf("descriptor %d: %w", n, err)
	}
	name := filepath.Join(dir, "data-"+fd)
	if err := os.Remove(name); err != nil && !os.IsNotExist(err) {
		return "", err
	}
	return name, os.WriteFile(name, data, 0o444)
}
