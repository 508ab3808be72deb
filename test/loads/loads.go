// Package loads is the list of what agents load from the folder they are started in,
// as their own code was read: docs/loads.md is written from it, and tests put one
// canary for every entry into a folder.
package loads

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

//go:embed loads.toml
var list []byte

// Agent is one of those that were read.
type Agent struct {
	Name    string            `toml:"name"`
	Title   string            `toml:"title"`
	Version string            `toml:"version"` // that was read
	Files   map[string]string `toml:"files"`   // the folder of canaries
	Load    []Load            `toml:"load"`
}

// Load is one thing that an agent loads.
type Load struct {
	Path   string `toml:"path"`
	What   string `toml:"what"`
	Canary string `toml:"canary"` // the name of its canary, if it runs unasked
	Text   bool   `toml:"text"`   // for the model: nothing runs
	Asked  string `toml:"asked"`  // how it is asked for
	Unseen string `toml:"unseen"` // why it has no canary
}

// All is the list.
func All() ([]Agent, error) {
	var all struct {
		Agent []Agent `toml:"agent"`
	}
	err := toml.NewDecoder(bytes.NewReader(list)).DisallowUnknownFields().Decode(&all)
	return all.Agent, err
}

// Of returns the list of one agent.
func Of(name string) (Agent, error) {
	all, err := All()
	for _, a := range all {
		if a.Name == name {
			return a, err
		}
	}
	return Agent{}, fmt.Errorf("no agent %q: %w", name, err)
}

// Ran is the name of the file that a canary leaves.
func Ran(canary string) string { return "ran-" + canary }

// link begins the text of a file that is a link, with where it leads.
const link = "-> "

// Plant writes the folder of canaries.
func (a Agent) Plant(dir string) error {
	for path, text := range a.Folder(dir) {
		at := filepath.Join(dir, path)
		err := os.MkdirAll(filepath.Dir(at), 0o700)
		to, is := strings.CutPrefix(text, link)
		mode := os.FileMode(0o600)
		if strings.HasPrefix(text, "#!") {
			mode = 0o700
		}
		switch {
		case err != nil:
		case is:
			err = os.Symlink(to, at)
		default:
			err = os.WriteFile(at, []byte(text), mode)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Folder is the files of canaries, for a folder at dir.
func (a Agent) Folder(dir string) map[string]string {
	pairs := []string{"{DIR}", dir}
	for _, l := range a.Load {
		if l.Canary != "" {
			pairs = append(pairs, "{RAN "+l.Canary+"}", "touch "+dir+"/"+Ran(l.Canary))
		}
	}
	fill := strings.NewReplacer(pairs...)
	out := map[string]string{}
	for path, text := range a.Files {
		out[path] = fill.Replace(text)
	}
	return out
}

// Canaries are the names of all of them.
func (a Agent) Canaries() []string {
	var out []string
	for _, l := range a.Load {
		if l.Canary != "" {
			out = append(out, l.Canary)
		}
	}
	return out
}

// Page is the list for people.
func Page(all []Agent) string {
	var b strings.Builder
	b.WriteString("# What agents load from a folder\n\nRead from the code of these versions. What *runs unasked* is [taken out](scan.md) inside until `ringfence trust` accepts it. A test\n" +
		"starts the real agent in a folder with one canary for each of them that can be shown so: without ringfence each runs, inside none\n" +
		"before it is trusted, and each after. (Written from `test/loads/loads.toml`: `go test ./test/loads -update`.)\n")
	for _, a := range all {
		fmt.Fprintf(&b, "\n## %s %s\n\n| Where | What | Runs |\n|---|---|---|\n", a.Title, a.Version)
		for _, l := range a.Load {
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", strings.ReplaceAll(strings.ReplaceAll(l.Path, "; ", "`; `"), ", ", "`, `"), l.What, l.runs())
		}
	}
	return b.String()
}

func (l Load) runs() string {
	switch {
	case l.Canary != "":
		return "unasked; shown by a canary"
	case l.Text:
		return "no: text or data"
	case l.Asked != "":
		return "when it is asked for: " + l.Asked
	}
	return "unasked; not shown by a canary: " + l.Unseen
}
