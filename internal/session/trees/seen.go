package trees

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"ringfence.dev/ringfence/internal/session/launch"
	"ringfence.dev/ringfence/internal/state"
)

// ForgetSeen removes what is remembered of trees that are gone, and of those whose
// findings have not changed for longer than age where that is not zero: what was found
// in them, and where secrets were. A tree that comes back is looked at as a new one.
func ForgetSeen(dirs state.Dirs, now time.Time, age time.Duration) (int, error) {
	dir := filepath.Join(dirs.State, "scans")
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	n := 0
	for _, e := range entries {
		info, ierr := e.Info()
		if ierr != nil || !e.Type().IsRegular() || !strings.HasSuffix(e.Name(), ".json") || !staleSeen(filepath.Join(dir, e.Name()), info, now, age) {
			continue
		}
		for _, kind := range []string{"scans", "masks"} {
			if rerr := os.Remove(filepath.Join(dirs.State, kind, e.Name())); rerr != nil && !errors.Is(rerr, fs.ErrNotExist) {
				err = errors.Join(err, rerr)
			}
		}
		n++
	}
	return n, err
}

func staleSeen(file string, info fs.FileInfo, now time.Time, age time.Duration) bool {
	if age > 0 && now.Sub(info.ModTime()) > age {
		return true
	}
	data, err := launch.ReadIfPresent(file, maxSeen)
	var seen seenScan
	if err != nil || json.Unmarshal(data, &seen) != nil {
		return true
	}
	root, err := strconv.Unquote(seen.Root)
	if err != nil || !filepath.IsAbs(root) {
		return true
	}
	_, err = os.Lstat(root)
	return errors.Is(err, fs.ErrNotExist)
}

// seenScan is what is remembered of a tree, in the state of the host.
type seenScan struct {
	Root  string   `json:"root"`  // quoted
	Shown string   `json:"shown"` // digest of what was shown
	Known []string `json:"known"` // quoted paths where there is something to look at
}
