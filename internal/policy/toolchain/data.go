package toolchain

import (
	"bytes"
	_ "embed"
	"path/filepath"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"

	"ringfence.dev/ringfence/internal/file"
)

//go:embed toolchains.toml
var embedded []byte

// table is the embedded data.
type table struct {
	Toolchain []chain   `toml:"toolchain"`
	Refuse    []refusal `toml:"refuse"`
	Cache     []Cache   `toml:"cache"`
}

// chain is one toolchain; toolchains.toml says what the fields mean.
type chain struct {
	Name   string    `toml:"name"`
	Roots  []string  `toml:"roots"`
	Home   string    `toml:"home"`
	Beside []string  `toml:"beside"`
	Show   []string  `toml:"show"`
	Hide   []string  `toml:"hide"`
	Also   []string  `toml:"also"`
	With   []string  `toml:"with"`
	Env    []string  `toml:"env"`
	Copy   []partial `toml:"copy"`
}

// partial is a TOML file of which only some top-level tables are shown.
type partial struct {
	Path string   `toml:"path"`
	Keep []string `toml:"keep"`
}

type refusal struct {
	Path   string `toml:"path"`
	Reason string `toml:"reason"`
}

// Cache is a directory under HOME that is the project's own: read-write, empty
// at first and kept, so that a poisoned cache never reaches the host.
type Cache struct {
	Path string `toml:"path"` // starts with "~/"
}

// data is decoded at the first use, not at start-up. It is part of the program:
// a mistake in it is found by the tests and would be a bug here.
var data = sync.OnceValue(func() table {
	var t table
	d := toml.NewDecoder(bytes.NewReader(embedded))
	if err := d.DisallowUnknownFields().Decode(&t); err != nil {
		panic("toolchains.toml: " + err.Error())
	}
	for i, c := range t.Toolchain {
		if len(c.Show) == 0 {
			t.Toolchain[i].Show = []string{"."}
		}
	}
	return t
})

// Caches lists the caches that every project has to itself.
func Caches() []Cache { return append([]Cache(nil), data().Cache...) }

// inHome puts home in the place of a leading "~".
func inHome(path, home string) string {
	if rel, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(home, rel)
	}
	return path
}

// above returns the beginning of path that a pattern of the data matches, name by
// name. Only the data is a pattern: a HOME may have brackets in its name.
func above(pattern, home, path string) (string, bool) {
	base, rest := "/", strings.TrimPrefix(pattern, "/")
	if rel, ok := strings.CutPrefix(pattern, "~/"); ok {
		base, rest = home, rel
	}
	if !file.Within(path, base) {
		return "", false
	}
	names := strings.Split(strings.TrimPrefix(path[len(base):], "/"), "/")
	n := strings.Count(rest, "/") + 1
	if len(names) < n {
		return "", false
	}
	head := strings.Join(names[:n], "/")
	ok, err := filepath.Match(rest, head)
	return filepath.Join(base, head), ok && err == nil
}
