package object

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

const (
	maxBudget = 256 << 20 // bytes to read and inflate for one Store
	indexCost = 16 << 10  // what looking into one more pack counts for
	// As git's own, and more stores than anybody has.
	maxAlternateDepth = 5
	maxStores         = 64
)

// ErrMissing says that no store holds the object.
var ErrMissing = errors.New("not in the object store of this repository")

// Store answers for the object stores of one repository. It is made for one
// question about one object (a commit with its tree and parents) and is closed
// afterwards: files of a repository come and go.
type Store struct {
	dirs   []*os.File // the stores, own one first
	budget budget
}

// Open opens the object stores at paths, which are absolute and hold no symlink,
// and those that they borrow from by info/alternates, as far as these lie in
// one of the workspaces. Stores that do not exist are passed over.
func Open(paths, workspaces []string) (*Store, error) {
	s := &Store{budget: maxBudget}
	var seen []string
	for level := 0; len(paths) > 0 && level <= maxAlternateDepth; level++ {
		var next []string
		for _, path := range paths {
			if slices.Contains(seen, path) || len(seen) == maxStores {
				continue
			}
			seen = append(seen, path)
			d, err := openStore(path)
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) || level > 0 && err != nil {
				continue
			}
			if err != nil {
				s.Close()
				return nil, fmt.Errorf("open object store: %w", err)
			}
			s.dirs = append(s.dirs, d)
			next = append(next, borrowed(d, path, workspaces)...)
		}
		paths = next
	}
	return s, nil
}

// Close lets go of the stores.
func (s *Store) Close() {
	for _, d := range s.dirs {
		_ = d.Close() // it was read only
	}
}

// Has returns nil if a store holds the object id and it is of type t; otherwise
// an error with ErrMissing in its chain.
func (s *Store) Has(id ID, t Type) error {
	_, err := s.Read(id, t)
	return err
}

// Read returns the content of the object id, which is of type t, or an error with
// ErrMissing in its chain. What it returns has that id.
func (s *Store) Read(id ID, t Type) ([]byte, error) {
	if id.names(Tree, nil) && t == Tree {
		return nil, nil // git knows the empty tree without having it
	}
	last := ErrMissing
	for _, d := range s.dirs {
		for _, look := range []func(*os.File, ID) (Type, []byte, error){s.loose, s.packed} {
			found, content, err := look(d, id)
			switch {
			case errors.Is(err, errBudget):
				return nil, fmt.Errorf("%s %s: %w: %w", t, id, ErrMissing, err)
			case err != nil && !errors.Is(err, ErrMissing):
				last = fmt.Errorf("%w: %w", ErrMissing, err)
			case err == nil && id.names(found, content) && found == t:
				return content, nil
			}
		}
	}
	return nil, fmt.Errorf("%s %s: %w", t, id, last)
}

// packed looks for the object in the packs.
func (s *Store) packed(d *os.File, id ID) (Type, []byte, error) {
	names, err := packNames(d)
	if err != nil {
		return "", nil, err
	}
	last := ErrMissing
	for _, name := range names {
		t, content, err := s.inPack(d, name, id)
		if err == nil || errors.Is(err, errBudget) {
			return t, content, err
		}
		if !errors.Is(err, ErrMissing) {
			last = err
		}
	}
	return "", nil, last
}

func (s *Store) inPack(d *os.File, name string, id ID) (Type, []byte, error) {
	if err := s.budget.take(indexCost); err != nil {
		return "", nil, err
	}
	idx, size, err := openFile(d, name+".idx")
	if err != nil {
		return "", nil, err
	}
	defer idx.Close()
	x, err := openIndex(idx, size, int(id.size))
	if err != nil {
		return "", nil, err
	}
	offset, ok, err := x.find(id)
	if err != nil {
		return "", nil, err
	}
	if !ok {
		return "", nil, ErrMissing
	}
	f, size, err := openFile(d, name+".pack")
	if err != nil {
		return "", nil, err
	}
	defer f.Close()
	p := &packFile{index: x, r: f, size: size}
	t, content, err := p.object(offset, &s.budget)
	if err == nil && !id.names(t, content) {
		err = errPack
	}
	return t, content, err
}
