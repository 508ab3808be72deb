package state

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// maxDepth bounds the descriptors that a removal holds open.
const maxDepth = 32

// removeTree deletes name in dir with all that is below it. An agent may have
// left anything there: symlinks are unlinked and never followed, directories
// without permissions are opened up, a nesting of any depth takes no more
// descriptors than a shallow one.
func removeTree(dir int, name string) error {
	top, err := openDirAt(dir, name)
	if err != nil {
		return fmt.Errorf("remove %q: %w", name, err)
	}
	defer unix.Close(top)
	r := remover{top: top, buf: make([]byte, 32<<10)}
	if err := r.empty(top, 0); err != nil {
		return err
	}
	return unix.Unlinkat(dir, name, unix.AT_REMOVEDIR)
}

type remover struct {
	top int
	buf []byte
}

func (r *remover) empty(fd, depth int) error {
	if err := unlockFD(fd); err != nil {
		return err
	}
	for {
		found, err := names(fd, r.buf)
		if err != nil || len(found) == 0 {
			return err
		}
		for _, name := range found {
			if err := r.remove(fd, name, depth); err != nil {
				return fmt.Errorf("remove %q: %w", name, err)
			}
			step("removed one")
		}
	}
}

func (r *remover) remove(fd int, name string, depth int) error {
	switch err := unix.Unlinkat(fd, name, 0); err {
	case nil, unix.ENOENT:
		return nil
	case unix.EISDIR:
	default:
		return err
	}
	sub, err := openDirAt(fd, name)
	if err != nil {
		return err
	}
	defer unix.Close(sub)
	if depth == maxDepth {
		// Too deep to go on from here: the loop at the top meets it again.
		if err := unlockFD(sub); err != nil {
			return err
		}
		return unix.Renameat(fd, name, r.top, scratchPrefix+NewID())
	}
	if err := r.empty(sub, depth+1); err != nil {
		return err
	}
	return unix.Unlinkat(fd, name, unix.AT_REMOVEDIR)
}
