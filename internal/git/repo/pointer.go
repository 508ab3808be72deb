package repo

import (
	"bytes"
	"errors"
	"path/filepath"
)

// maxPath is the longest path Linux opens; maxGitfile is the longest gitfile
// that can therefore be meant. git reads up to 1 MiB and strips any number of
// line ends, which is how a padded file shows two readers two targets.
const (
	maxPath    = 4095
	maxGitfile = int64(len(gitfilePrefix) + maxPath + 1)
)

const gitfilePrefix = "gitdir: "

// parseGitfile returns the target of a .git file in exactly the form that git
// writes: "gitdir: PATH" and at most one newline.
func parseGitfile(b []byte) (string, error) {
	rest, ok := bytes.CutPrefix(b, []byte(gitfilePrefix))
	if !ok {
		return "", errors.New(`does not begin with "gitdir: "`)
	}
	return parsePath(rest)
}

// parsePath returns the one path of a file that holds nothing else.
func parsePath(b []byte) (string, error) {
	b = bytes.TrimSuffix(b, []byte("\n"))
	if len(b) == 0 {
		return "", errors.New("holds no path")
	}
	if len(b) > maxPath {
		return "", errors.New("holds a path that is too long")
	}
	for _, c := range b {
		if c < ' ' || c == 0x7f {
			return "", errors.New("holds a control character or a second line")
		}
	}
	return string(b), nil
}

// readPath returns the one path that the file name in d holds.
func (d *dir) readPath(name string) (string, error) {
	b, err := d.read(name, maxPath+1)
	if err != nil {
		return "", err
	}
	return parsePath(b)
}

func malformed(at *dir, err error) error {
	return refuse(repairHint, "%q is not a pointer that git wrote: %w", filepath.Join(at.path, ".git"), err)
}
