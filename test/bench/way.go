package main

import (
	"errors"
	"fmt"
	"slices"
)

// way is one way to have a workspace, with a copy of it to itself: what one way
// writes must not be there for another to find, and a review has to see its tree
// stand still.
type way struct {
	name, dir string
	argv      []string // before the command
}

// The ways: a plain writable mount by bubblewrap with the same view, the same by
// ringfence with its keeper left out, and the two views.
const (
	plain  = "plain"
	unkept = "unkept"
	live   = "live"
	review = "review"
)

var wayNames = []string{plain, unkept, live, review}

// ways copies a workspace for each way. settle runs in every copy on the host.
func (b *bench) ways(from, settle string) ([]way, error) {
	if b.unkept == "" {
		return nil, errors.New("the test build without the keeper is not here: scripts/bench makes it")
	}
	var all []way
	for _, name := range wayNames {
		dir := from + "-" + name
		if err := b.in(b.home, quote([]string{"cp", "-a", from, dir})); err != nil {
			return nil, err
		}
		if err := b.in(dir, settle); err != nil {
			return nil, err
		}
		argv, err := b.prefix(name, dir)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, way{name, dir, argv})
	}
	return all, nil
}

// prefix is what stands before a command that runs in dir in this way.
func (b *bench) prefix(name, dir string) ([]string, error) {
	inside := []string{"run", "--workspace", dir, "--"}
	switch name {
	case live:
		return append([]string{b.ringfence}, inside...), nil
	case review:
		return slices.Concat([]string{b.ringfence}, slices.Insert(inside, 1, "--review")), nil
	case unkept:
		return append([]string{"env", "RINGFENCE_MUTATE=keeper", b.unkept}, inside...), nil
	}
	return b.plainMount(dir)
}

// plainMount is bubblewrap with the view of a session, the workspace writable.
func (b *bench) plainMount(dir string) ([]string, error) {
	// A first run makes the project's state, which the dry run only names.
	if _, err := run(b.command(dir, b.inside([]string{"--workspace", dir}, "true")...)); err != nil {
		return nil, err
	}
	argv, err := b.bubblewrap(dir, "--workspace", dir)
	if err != nil {
		return nil, err
	}
	at := -1
	for i := range argv {
		if i+2 < len(argv) && argv[i] == "--ro-bind" && argv[i+1] == dir && argv[i+2] == dir {
			at = i
		}
	}
	if at < 0 || argv[len(argv)-1] != "true" {
		return nil, errors.New("the dry run does not mount the workspace as expected")
	}
	argv[at] = "--bind"
	return argv[:len(argv)-1], nil
}
