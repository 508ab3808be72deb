package faults

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/tier"
)

// Where nothing runs and nothing is mounted, all that a launch can find of an earlier
// one is the state on the disk. Most kills leave one of a few shapes of it, and the next
// launch is tried once for each.
var shapes = map[string]bool{}

// tried reports whether the next launch was tried already on a state of this shape.
func tried(t *testing.T, state string) bool {
	t.Helper()
	s := shape(t, state)
	was := shapes[s]
	shapes[s] = true
	return was && !tier.All()
}

// againAfter is again, unless the world is as it was and it was tried on such a state.
func againAfter(t *testing.T, tidy bool) []string {
	t.Helper()
	if tried(t, stateDir) && tidy {
		return nil
	}
	return again(t)
}

// named are the parts of names that differ from launch to launch.
var named = regexp.MustCompile(`[0-9a-zA-Z]{8,}`)

// shape describes a state: what there is, of what kind, and whether it is empty or ends
// in the middle of a line. How many sessions there were before makes no difference.
func shape(t *testing.T, state string) string {
	t.Helper()
	var lines []string
	err := filepath.WalkDir(state, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrPermission) {
			return fs.SkipDir // what overlayfs keeps for itself; its name and mode are taken down
		}
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		line := fmt.Sprintf("%s %v", named.ReplaceAllString(strings.TrimPrefix(path, state), "*"), info.Mode())
		if d.Type().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			line += fmt.Sprintf(" empty %v whole %v", len(data) == 0, bytes.HasSuffix(data, []byte("\n")))
		}
		lines = append(lines, line)
		return nil
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), "\n")
}
