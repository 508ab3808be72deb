package undo

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file/sys"
)

// Store writes down what a session changes. It may be used by many at once, with
// one rule: who asks about a name and then changes it does not let another one do
// the same with this name, or move a directory above it, in between.
type Store struct {
	mu      sync.RWMutex
	free    sync.Cond // an object is not busy any more
	limits  Limits
	names   *names
	records recordFile
	empty   int64 // how long the records are as long as there are none of changes
	kept    int   // the directory of the contents
	sum     int64
	copies  []uint32
	trees   []string
	roots   []int            // descriptors of the trees
	inodes  map[inode]*image // of files with several names, as they were
	heads   map[place]uint32 // what is kept of files that are called HEAD
	buf     []byte
	closed  bool
	lost    func(tree int, rel, why string)
}

// OnLost has f told of each file that is not kept, before it changes. It is to be called
// before anything is saved. The store waits for f, so f must not wait.
func (s *Store) OnLost(f func(tree int, rel, why string)) { s.lost = f }

type inode struct {
	dev uint64
	ident
}

// Create makes the store of a session in the new directory dir. The trees are
// known by their index from here on.
func Create(dir string, trees []string, limits Limits) (*Store, error) {
	head := record{op: opHead, trees: trees}
	if len(trees) == 0 || len(trees) > maxTrees || len(head.append(nil)) > maxRecord {
		return nil, fmt.Errorf("create undo store: %d trees", len(trees))
	}
	for _, t := range trees {
		if !filepath.IsAbs(t) || len(t) > maxText {
			return nil, fmt.Errorf("create undo store: tree %q is not an absolute path", t)
		}
	}
	s := &Store{limits: limits, names: newNames(len(trees)), inodes: map[inode]*image{}, heads: map[place]uint32{}, kept: -1, records: recordFile{fd: -1},
		trees: slices.Clone(trees)}
	s.free.L = &s.mu
	err := s.create(dir, head)
	if err == nil {
		err = s.openTrees()
	}
	if err != nil {
		s.release()
		return nil, fmt.Errorf("create undo store: %w", err)
	}
	return s, nil
}

func (s *Store) create(dir string, head record) (err error) {
	kept := filepath.Join(dir, keptName)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	if err := os.Mkdir(kept, 0o700); err != nil {
		return err
	}
	if s.kept, err = unix.Open(kept, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0); err != nil {
		return fmt.Errorf("open %q: %w", kept, err)
	}
	log := filepath.Join(dir, logName)
	const flags = unix.O_WRONLY | unix.O_APPEND | unix.O_CREAT | unix.O_EXCL | unix.O_CLOEXEC
	if s.records.fd, err = unix.Open(log, flags, 0o600); err != nil {
		return fmt.Errorf("create %q: %w", log, err)
	}
	err = s.log(&head)
	s.empty = s.records.size
	return err
}

func (s *Store) release() {
	all := []*int{&s.records.fd, &s.kept}
	for i := range s.roots {
		all = append(all, &s.roots[i])
	}
	for _, fd := range all {
		closeIf(*fd)
		*fd = -1
	}
}

func (s *Store) openTrees() error {
	for _, t := range s.trees {
		fd, err := sys.OpenSource(t)
		if err != nil {
			return err
		}
		s.roots = append(s.roots, fd)
	}
	return nil
}

// inode says which inode is in a place, so that the log can be held against the
// disk when it is not certain that what it says came to pass.
func (s *Store) inode(p place) inode {
	fd, err := openAt(s.roots[p.tree], p.rel, unix.O_PATH)
	if err != nil {
		return inode{}
	}
	defer unix.Close(fd)
	e, err := look(fd, "")
	if err != nil {
		return inode{}
	}
	return inode{e.dev, e.ident}
}

// log writes records before anything else knows of them.
func (s *Store) log(records ...*record) error {
	if s.closed {
		return ErrClosed
	}
	if s.names.count > maxNames || s.records.size > maxLog {
		return ErrFull
	}
	s.buf = pack(s.buf[:0], records...)
	return s.records.write(s.buf)
}

func (s *Store) check(places ...place) error {
	for _, p := range places {
		if p.tree < 0 || p.tree >= len(s.names.roots) {
			return fmt.Errorf("undo: there is no tree %d", p.tree)
		}
		if err := checkPath(p.rel); err != nil {
			return fmt.Errorf("undo: %w", err)
		}
	}
	return nil
}

// known reports whether nothing needs to be written down of a name that is about
// to be made.
func (s *Store) known(p place) (bool, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return false, ErrClosed
	}
	return s.names.ours(p), nil
}

// Created is told of a name that does not exist and is about to be made. If it
// turns out that the name exists, nobody may write to it before Save was asked.
func (s *Store) Created(tree int, rel string, dir bool) error {
	p := place{tree, rel}
	if err := s.check(p); err != nil {
		return err
	}
	if known, err := s.known(p); known || err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.names.ours(p) {
		return nil
	}
	if err := s.log(&record{op: opCreated, from: p, dir: dir}); err != nil {
		return fmt.Errorf("undo: %w", err)
	}
	s.names.created(p)
	return nil
}

// Renamed is told of an entry that is about to get another name. What it replaces
// was saved before. When the rename fails, NotRenamed must follow. A rename by which
// something would get out of reach is refused, with unix.ENAMETOOLONG in the error.
func (s *Store) Renamed(tree int, from string, toTree int, to string, dir bool) error {
	a, b := place{tree, from}, place{toTree, to}
	if err := s.check(a, b); err != nil {
		return err
	}
	if a == b {
		return nil
	}
	if tree == toTree && (inside(from, to) || inside(to, from)) {
		return fmt.Errorf("undo: rename %q to %q: %w", from, to, unix.EINVAL)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.names.bare(a) && s.names.bare(b) && !s.closed {
		s.names.remember(rename{from: a, to: b, silent: true})
		return nil
	}
	if s.names.grows(a, b) {
		return fmt.Errorf("undo: rename %q to %q: %w", from, to, unix.ENAMETOOLONG)
	}
	one := s.inode(a)
	if one != (inode{}) && one == s.inode(b) {
		s.names.remember(rename{from: a, to: b, silent: true})
		return nil // two names of one file: it does nothing
	}
	if err := s.log(&record{op: opRenamed, from: a, to: b, dir: dir, ident: one.ident}); err != nil {
		return fmt.Errorf("undo: %w", err)
	}
	s.names.renamed(a, b)
	return nil
}

// NotRenamed takes the last such Renamed back: the rename failed.
func (s *Store) NotRenamed(tree int, from string, toTree int, to string) error {
	a, b := place{tree, from}, place{toTree, to}
	if err := s.check(a, b); err != nil || a == b {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.names.recall(a, b)
	if i < 0 {
		return fmt.Errorf("undo: %q was not renamed to %q of late", from, to)
	}
	if s.names.recent[i].silent {
		s.names.recent = append(s.names.recent[:i], s.names.recent[i+1:]...)
		return nil
	}
	if err := s.log(&record{op: opNotRenamed, from: a, to: b}); err != nil {
		return fmt.Errorf("undo: %w", err)
	}
	s.names.notRenamed(i)
	return nil
}

// Linked is told of a hard link that is about to be made: to does not exist yet.
// What is written through the new name is kept for the old one.
func (s *Store) Linked(tree int, from string, toTree int, to string) error {
	a, b := place{tree, from}, place{toTree, to}
	if err := s.check(a, b); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &record{op: opLinked, from: a, to: b}
	mine := s.names.ours(a)
	if mine {
		r = &record{op: opCreated, from: b}
	}
	if mine && s.names.ours(b) && !s.closed {
		return nil
	}
	if err := s.log(r); err != nil {
		return fmt.Errorf("undo: %w", err)
	}
	if mine {
		s.names.created(b)
	} else {
		s.names.linked(a, b)
	}
	return nil
}

// Empty says whether nothing was written down so far.
func (s *Store) Empty() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.names.count == 0 && int(s.names.next) == len(s.names.roots)
}

// Close notes the end of the session and brings everything to the disk.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	defer s.release()
	err := s.noteLeft()
	wait := s.records.size > s.empty // for the disk: else there is nothing to lose
	end, late := s.now()
	if err = errors.Join(err, late); err == nil {
		err = s.records.write(pack(nil, &record{op: opEnd, end: end}))
	}
	s.closed = true
	if wait {
		err = errors.Join(err, s.sync())
	}
	if err != nil {
		return fmt.Errorf("close undo store: %w", err)
	}
	return nil
}

// now asks the clock of the file system: what changed before has no later time.
func (s *Store) now() (moment, error) {
	if err := unix.Fchmod(s.records.fd, 0o600); err != nil {
		return moment{}, err
	}
	e, err := look(s.records.fd, "")
	return e.ctime, err
}

const manyCopies = 64

func (s *Store) sync() error {
	if len(s.copies) > manyCopies {
		return allToDisk(s.kept)
	}
	for _, id := range s.copies {
		fd, err := unix.Openat(s.kept, blobName(id), unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
		if err != nil {
			return err
		}
		err = toDisk(fd)
		unix.Close(fd)
		if err != nil {
			return err
		}
	}
	return errors.Join(toDisk(s.kept), toDisk(s.records.fd))
}

// Keeps reports whether a file of this size could still be kept.
func (s *Store) Keeps(size int64) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return size <= s.limits.File && size <= s.limits.Total-s.sum
}

// Kept reports whether a change of what is at a path loses nothing any more: it is kept,
// or the session's own.
func (s *Store) Kept(tree int, rel string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.names.enough(place{tree, rel}, Write)
}
