package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/sandbox/microvm/module"
)

const modules = "/usr/lib/modules"

// modprobe loads modules and what they need, as the program of that name does for
// root, by their names, and for the kernel, by the names that it has for them.
func modprobe(args []string) error {
	flags := flag.NewFlagSet("modprobe", flag.ContinueOnError)
	flags.Bool("a", true, "load all that are named")
	flags.Bool("q", true, "say nothing of a name that is unknown")
	if err := flags.Parse(args); err != nil {
		return err
	}
	all, err := known()
	if err != nil {
		return err
	}
	var names []string
	for _, n := range flags.Args() {
		name, err := resolve(all, n)
		if err != nil {
			return err
		}
		names = append(names, name)
	}
	order, err := module.Closure(names, func(name string) ([]string, error) { return all[name].Depends, nil })
	if err != nil {
		return err
	}
	for _, name := range order {
		if err := load(name); err != nil {
			return fmt.Errorf("load %s: %w", name, err)
		}
	}
	return nil
}

// known reads every module there is.
func known() (map[string]module.Info, error) {
	files, err := filepath.Glob(modules + "/*.ko")
	all := map[string]module.Info{}
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		name := filepath.Base(file[:len(file)-len(".ko")])
		all[name], err = module.Read(f)
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return all, err
}

func resolve(all map[string]module.Info, name string) (string, error) {
	if _, ok := all[module.Name(name)]; ok {
		return module.Name(name), nil
	}
	for n, i := range all {
		if slices.Contains(i.Aliases, name) {
			return n, nil
		}
	}
	return "", fmt.Errorf("module %s: %w", name, fs.ErrNotExist)
}

func load(name string) error {
	f, err := os.Open(filepath.Join(modules, name+".ko"))
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.FinitModule(int(f.Fd()), "", 0); !errors.Is(err, unix.EEXIST) {
		return err
	}
	return nil
}
