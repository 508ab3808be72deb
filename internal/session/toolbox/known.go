package toolbox

import (
	_ "embed"
	"path"
	"slices"
	"strings"
	"sync"

	"ringfence.dev/ringfence/internal/policy"
)

//go:embed known.txt
var knownText string

// known is which tools have a command, where that cannot be told from its name.
var known = sync.OnceValue(func() map[string][]policy.Tool {
	out := map[string][]policy.Tool{}
	for line := range strings.Lines(knownText) {
		f := strings.Fields(line)
		if len(f) < 2 || f[0] == "#" {
			continue
		}
		for _, v := range f[1:] {
			t, err := policy.ParseTool(v)
			if err != nil {
				panic("known.txt: " + err.Error()) // part of the program, and tested
			}
			out[f[0]] = append(out[f[0]], t)
		}
	}
	return out
})

// Sources are the tools that a wish can mean: itself, where it names its source; else those
// of policy that end so, those that are known by that name, and the Debian package of it. Only
// sources whose package manager is there count.
func Sources(wish string, allow policy.List, has func(program string) bool) (out []policy.Tool, err error) {
	if strings.Contains(wish, ":") {
		t, err := policy.ParseTool(wish)
		return []policy.Tool{t}, err
	}
	add := func(t policy.Tool) {
		if has(Programs[t.Source]) && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	for _, r := range allow {
		if t, err := policy.ParseTool(r.Value); err == nil && (path.Base(t.Name) == wish || slices.Contains(known()[wish], t)) {
			add(t)
		}
	}
	for _, t := range known()[wish] {
		add(t)
	}
	t, err := policy.ParseTool("debian:" + wish)
	if err == nil && len(known()[wish]) == 0 {
		add(t)
	}
	if err != nil && len(out) == 0 {
		return nil, err
	}
	return out, nil
}

// Programs are what of the host fetches the tools of a source.
var Programs = map[string]string{"debian": "apt-get", "npm": "npm", "pypi": "python3", "go": "go", "crates": "cargo", "nix": "nix"}
