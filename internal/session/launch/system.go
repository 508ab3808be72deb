package launch

import (
	"os"
	"path/filepath"

	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// SystemNodes looks up which of the system's paths exist here.
func SystemNodes() []plan.Node {
	var out []plan.Node
	for _, p := range plan.SystemPaths() {
		real, err := filepath.EvalSymlinks(p)
		if err != nil {
			continue // not here, or dangling: nothing to show
		}
		st, err := os.Stat(real)
		if err != nil || !st.IsDir() && !st.Mode().IsRegular() {
			continue
		}
		n := plan.Node{Path: p, Real: real}
		if link, err := os.Readlink(p); err == nil {
			n.Link = link
		}
		out = append(out, n)
	}
	return out
}
