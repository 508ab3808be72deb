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
func (w *writer) aboutTo(at place, how How) error {
	if w.Record == nil {
		return nil
	}
	if len(at.rel) > maxPath {
		return errDeep
	}
	dir, name, err := w.parent(at)
	if err == nil {
		defer unix.Close(dir)
		// The store may link to the file: from here on the time of its last change is ours.
		if e, lerr := look(dir, name); lerr == nil && e.kind != change.Directory {
			if err := w.begin(e.ident); err != nil {
				return err
			}
		}
		err = w.Record.Save(at.tree, at.rel, dir, name, how)
	}
	if missing(err) {
		return nil
	}
	return w.recorded(err)
}

// aboutToMake tells it of a name that is about to be made.
func (w *writer) aboutToMake(at place, dir bool) error {
	if w.Record == nil {
		return nil
	}
	return w.recorded(w.Record.Created(at.tree, at.rel, dir))
}

// aboutToRename tells it of an entry that is about to get another name. failed takes that back.
func (w *writer) aboutToRename(from, to place, dir bool) (failed func(), err error) {
	if w.Record == nil {
		return func() {}, nil
	}
	err = w.Record.Renamed(from.tree, from.rel, to.tree, to.rel, dir)
	if errors.Is(err, unix.ENAMETOOLONG) {
		return nil, errDeep // this one stays where it is
	}
	return func() { w.Record.NotRenamed(from.tree, from.rel, to.tree, to.rel) }, w.recorded(err)
}

// errRecord ends a run: nothing may be taken away that is not kept.
var errRecord = errors.New("what undo takes away cannot be kept")

func (w *writer) recorded(err error) error {
	if err == nil {
		return nil
	}
	w.broken = true
	return fmt.Errorf("%w: %w", errRecord, err)
}

// Settle notes which renames of a log were never made, because what wrote it was killed in
// between. That can be seen only as long as nobody has changed the trees since.
func (l *Log) Settle() error {
	if len(l.unmoved) == 0 {
		return nil
	}
	w := &writer{Log: l, records: recordFile{fd: -1}}
	defer func() { unix.Close(w.records.fd) }()
	if err := w.openRecords(); err != nil {
		return fmt.Errorf("undo: %w", err)
	}
	for len(l.unmoved) > 0 {
		if err := w.note(&record{op: opBack, id: l.unmoved[0]}); err != nil {
			return fmt.Errorf("undo: %w", err)
		}
		l.unmoved = l.unmoved[1:]
	}
	return nil
}
