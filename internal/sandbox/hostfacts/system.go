package hostfacts

import (
	"os"
	"path/filepath"

	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// System looks up which of the system's paths exist here.
func System() []plan.Node { return nodes(plan.SystemPaths()) }

// image are the places of an image where programs are, beside those of every system:
// what a team puts into an image it wants to be used. Its /etc, /root, /home and /var may
// hold what is nobody's business.
var image = []string{"/opt", "/nix", "/gnu", "/go", "/app"}

// ImagePaths are the names that Image looks for, in its order.
func ImagePaths() []string { return append(plan.SystemPaths(), image...) }

// Image is System for an image that nobody lives in, and for another machine.
func Image() []plan.Node { return nodes(ImagePaths()) }

func nodes(paths []string) []plan.Node {
	var out []plan.Node
	for _, p := range paths {
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
