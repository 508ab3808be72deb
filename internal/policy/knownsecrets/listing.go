package knownsecrets

import (
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
)

// listings are the names in directories, in small letters. The catalogue names hundreds of
// places, and a home has few of them: one look at a directory answers for all below it.
// They only ever say that something is absent; what may be there is asked for by its name.
type listings map[string]map[string]bool

// mostNames bounds a directory that is read. Of a larger one each name is asked for.
const mostNames = 4096

// may says whether the path rel below dir can exist.
func (l listings) may(dir, rel string) bool {
	for {
		names, known := l[dir]
		if !known {
			names = list(dir)
			l[dir] = names
		}
		name, rest, deeper := strings.Cut(rel, "/")
		if names != nil && !names[strings.ToLower(name)] { // some directories do not tell letters by their case
			return false
		}
		if names == nil || !deeper {
			return true
		}
		dir, rel = dir+"/"+name, rest
	}
}

// list reads a directory; nil: it cannot be told what is there.
func list(dir string) map[string]bool {
	f, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return map[string]bool{}
	}
	if err != nil {
		return nil
	}
	defer f.Close()
	found, err := f.Readdirnames(mostNames)
	if err != nil && !errors.Is(err, io.EOF) || len(found) == mostNames {
		return nil
	}
	names := make(map[string]bool, len(found))
	for _, n := range found {
		names[strings.ToLower(n)] = true
	}
	return names
}
