// Package module reads what a kernel module says about itself: of which others it
// needs the symbols, and by which names the kernel asks for it.
package module

import (
	"debug/elf"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Info is what a module says.
type Info struct {
	Depends []string
	Aliases []string
}

// Read takes it from the module's file.
func Read(r io.ReaderAt) (Info, error) {
	f, err := elf.NewFile(r)
	if err != nil {
		return Info{}, fmt.Errorf("kernel module: %w", err)
	}
	section := f.Section(".modinfo")
	if section == nil {
		return Info{}, fmt.Errorf("kernel module: it says nothing about itself")
	}
	b, err := section.Data()
	if err != nil {
		return Info{}, fmt.Errorf("kernel module: %w", err)
	}
	return parse(string(b)), nil
}

// parse reads key=value pairs that end with a NUL each.
func parse(modinfo string) Info {
	var i Info
	for pair := range strings.SplitSeq(modinfo, "\x00") {
		switch key, value, _ := strings.Cut(pair, "="); {
		case key == "depends" && value != "":
			for name := range strings.SplitSeq(value, ",") {
				i.Depends = append(i.Depends, Name(name))
			}
		case key == "alias":
			i.Aliases = append(i.Aliases, value)
		}
	}
	return i
}

// Name is the one spelling of a module's name: to the kernel both dashes are the same.
func Name(s string) string { return strings.ReplaceAll(s, "-", "_") }

// Closure returns the modules and all that they need, each after what it needs, in
// the only order in which the kernel takes them.
func Closure(names []string, depends func(name string) ([]string, error)) ([]string, error) {
	var out []string
	var add func(name string, above []string) error
	add = func(name string, above []string) error {
		if slices.Contains(out, name) {
			return nil
		}
		if slices.Contains(above, name) {
			return fmt.Errorf("kernel module %s needs itself: %q", name, above)
		}
		needs, err := depends(name)
		if err != nil {
			return err
		}
		for _, n := range needs {
			if err := add(n, append(above, name)); err != nil {
				return err
			}
		}
		out = append(out, name)
		return nil
	}
	for _, n := range names {
		if err := add(Name(n), nil); err != nil {
			return nil, err
		}
	}
	return out, nil
}
