package undo

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/workspace/change"
)

// A restore changes the trees as a session does, and is written down like one: what it is
// about to take away is kept in another store, from which it can be brought back. What
// cannot be kept there (it is over the limits) is said when that is asked for.

// aboutTo tells the store of this run that an entry is about to change.
func (r *restorer) aboutTo(at spot, how How) error {
	if r.Record == nil {
		return nil
	}
	if len(at.rel) > maxPath {
		return errDeep
	}
	dir, name, err := r.parent(at)
	if err == nil {
		defer unix.Close(dir)
		// The store may link to the file: from here on the time of its last change is ours.
		if e, lerr := look(dir, name); lerr == nil && e.kind != change.Directory {
			if err := r.begin(e.ident); err != nil {
				return err
			}
		}
		err = r.Record.Save(at.tree, at.rel, dir, name, how)
	}
	if missing(err) {
		return nil
	}
	return r.recorded(err)
}

// aboutToMake tells it of a name that is about to be made.
func (r *restorer) aboutToMake(at spot, dir bool) error {
	if r.Record == nil {
		return nil
	}
	return r.recorded(r.Record.Created(at.tree, at.rel, dir))
}

// aboutToRename tells it of an entry that is about to get another name. failed takes that back.
func (r *restorer) aboutToRename(from, to spot, dir bool) (failed func(), err error) {
	if r.Record == nil {
		return func() {}, nil
	}
	err = r.Record.Renamed(from.tree, from.rel, to.tree, to.rel, dir)
	if errors.Is(err, unix.ENAMETOOLONG) {
		return nil, errDeep // this one stays where it is
	}
	return func() { r.Record.NotRenamed(from.tree, from.rel, to.tree, to.rel) }, r.recorded(err)
}

// errRecord ends a run: nothing may be taken away that is not kept.
var errRecord = errors.New("what undo takes away cannot be kept")

func (r *restorer) recorded(err error) error {
	if err == nil {
		return nil
	}
	r.broken = true
	return fmt.Errorf("%w: %w", errRecord, err)
}

// Settle notes which renames of a log were never made, because what wrote it was killed in
// between. That can be seen only as long as nobody has changed the trees since.
func (l *Log) Settle() error {
	if len(l.unmoved) == 0 {
		return nil
	}
	r := &restorer{Log: l, tape: tape{fd: -1}}
	defer func() { unix.Close(r.tape.fd) }()
	if err := r.openTape(); err != nil {
		return fmt.Errorf("undo: %w", err)
	}
	for len(l.unmoved) > 0 {
		if err := r.note(&record{op: opBack, id: l.unmoved[0]}); err != nil {
			return fmt.Errorf("undo: %w", err)
		}
		l.unmoved = l.unmoved[1:]
	}
	return nil
}
