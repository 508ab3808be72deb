package agent

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/file/sys"
)

//go:embed profiles/*.toml
var builtin embed.FS

// maxProfile bounds a profile; the longest built-in one has 4 KiB.
const maxProfile = 64 << 10

// Load returns the profile of that name: the user's own from userDir if there is
// one, which then replaces the built-in one as a whole, else the built-in one.
// A user's file that cannot be read or understood is an error, never a fallback.
func Load(name, userDir string) (*Profile, error) {
	if !validName(name) {
		return nil, unknown(name, userDir)
	}
	if userDir != "" {
		file := filepath.Join(userDir, name+".toml")
		data, err := readBounded(file)
		switch {
		case err == nil:
			return decode(data, name, file)
		case !errors.Is(err, fs.ErrNotExist):
			return nil, fault.New(fault.Usage, "", "agent %s: %w", name, err)
		}
	}
	data, err := builtin.ReadFile("profiles/" + name + ".toml")
	if err != nil {
		return nil, unknown(name, userDir)
	}
	return decode(data, name, BuiltIn)
}

// Names lists the agents that Load knows, sorted, without the plain command.
func Names(userDir string) ([]string, error) {
	seen := map[string]bool{}
	entries, err := builtin.ReadDir("profiles")
	if err != nil {
		return nil, fmt.Errorf("list profiles: %w", err)
	}
	if userDir != "" {
		own, err := os.ReadDir(userDir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("list agents: %w", err)
		}
		entries = append(entries, own...)
	}
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".toml"); ok && validName(name) {
			seen[name] = true
		}
	}
	delete(seen, Command)
	names := make([]string, 0, len(seen))
	for name := range seen {
		names = append(names, name)
	}
	sort.Strings(names)
	return names, nil
}

func unknown(name, userDir string) error {
	hint := "any program runs with: ringfence run -- PROGRAM"
	if names, err := Names(userDir); err == nil {
		hint = "known: " + strings.Join(names, ", ") + "; " + hint
	}
	return fault.New(fault.Usage, hint, "no agent named %q", name)
}

// validName keeps a name from being a path: lower-case letters, digits, dashes.
func validName(name string) bool {
	if name == "" || len(name) > 32 || name[0] == '-' {
		return false
	}
	return strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// readBounded reads a small regular file whole. Anything else is refused before
// it is opened: opening a pipe would hang. A profile says what an agent is shown, so
// nobody else may have written it.
func readBounded(name string) ([]byte, error) {
	if _, err := sys.Owned(name); err != nil {
		return nil, err
	}
	return file.Read(name, maxProfile, 0)
}
