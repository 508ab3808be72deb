package trees

import (
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/file/settings"
	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/session/launch"
)

// Bounds of what a project's files may name.
const (
	maxManifest = 1 << 20
	maxNamed    = 256 // that are looked at, in all files
	maxSiblings = 16
)

// manifests are the files of a project that name directories beside it, with their readers.
// Each returns paths as they are written.
var manifests = []struct {
	name string
	read func([]byte) []string
}{
	{"go.mod", goModPaths}, {"go.work", goWorkPaths}, {"package.json", packagePaths}, {"pnpm-workspace.yaml", pnpmPaths}, {"Cargo.toml", cargoPaths},
}

// missingSiblings names directories of the host that the files of the project build on and
// that are not shown, with the flag that shows each. The files may be an agent's: they are
// bounded, only what is there is named, and a person decides.
func missingSiblings(b launch.Base, mounts []plan.Mount) (out []launch.Missing) {
	for _, n := range namedPaths(b) {
		if len(out) == maxSiblings {
			break
		}
		if sibling(b, n.Path, mounts) {
			out = append(out, n)
		}
	}
	return out
}

// namedPaths are the paths that the files of the project name, each once. Nothing is asked
// of them yet.
func namedPaths(b launch.Base) (out []launch.Missing) {
	seen := map[string]bool{}
	for _, dir := range slices.Compact([]string{b.Workspaces[0].Path, b.Dir}) {
		for _, m := range manifests {
			text, err := file.Read(filepath.Join(dir, m.name), maxManifest, unix.O_NOFOLLOW)
			if err != nil {
				continue
			}
			for _, p := range m.read(text) {
				at := beforeWildcard(p)
				if !filepath.IsAbs(at) {
					at = filepath.Join(dir, at)
				}
				at = filepath.Clean(at)
				if seen[at] || file.Within(at, dir) {
					continue
				}
				if len(out) == maxNamed {
					return out
				}
				seen[at] = true
				out = append(out, launch.Missing{Path: at, By: m.name})
			}
		}
	}
	return out
}

// sibling holds for a directory of the host that is there and not shown. What would be
// refused is not named: nobody is to be led to ask for it.
func sibling(b launch.Base, at string, mounts []plan.Mount) bool {
	if file.Within(b.User.Home, at) || launch.System(at) || strings.ContainsRune(at, 0) {
		return false
	}
	if slices.ContainsFunc(mounts, func(m plan.Mount) bool { return file.Within(at, m.Dst) }) {
		return false
	}
	return besides(b, at) && b.RefuseCredentials(at, "") == nil
}

// besides holds for a directory beside the workspace or in the home. An agent chose the
// path: the kernel is asked of no other place, follows no link and enters no other
// filesystem, for to look at an automounter or a dead server is a request, or never ends.
func besides(b launch.Base, at string) bool {
	for _, anchor := range []string{filepath.Dir(b.Workspaces[0].Path), b.User.Home} {
		rel, err := filepath.Rel(anchor, at)
		if err != nil || anchor == "/" || !filepath.IsLocal(rel) {
			continue
		}
		dir, err := unix.Open(anchor, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			continue
		}
		fd, err := sys.Open(dir, rel, unix.O_PATH|unix.O_DIRECTORY, sys.Beneath|unix.RESOLVE_NO_XDEV|unix.RESOLVE_NO_MAGICLINKS)
		unix.Close(dir)
		if err == nil {
			unix.Close(fd)
			return true
		}
	}
	return false
}

// beforeWildcard is the directory in which a pattern begins to vary.
func beforeWildcard(p string) string {
	parts := strings.Split(p, "/")
	if i := slices.IndexFunc(parts, func(s string) bool { return strings.ContainsAny(s, "*?[{!") }); i >= 0 {
		parts = parts[:i]
	}
	return strings.Join(parts, "/")
}

func goModPaths(text []byte) (out []string) {
	f, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		return nil // go says what is wrong
	}
	for _, r := range f.Replace {
		if r.New.Version == "" {
			out = append(out, r.New.Path)
		}
	}
	return out
}

func goWorkPaths(text []byte) (out []string) {
	f, err := modfile.ParseWork("go.work", text, nil)
	if err != nil {
		return nil
	}
	for _, u := range f.Use {
		out = append(out, u.Path)
	}
	for _, r := range f.Replace {
		if r.New.Version == "" {
			out = append(out, r.New.Path)
		}
	}
	return out
}

// loose reads what tools of others read, within bounds.
var loose = settings.Rules{Comments: true, Depth: 64, Nodes: 100000}

// packagePaths reads workspaces, and dependencies that are directories.
func packagePaths(text []byte) (out []string) {
	n, err := loose.JSON(text)
	if err != nil {
		return nil
	}
	for _, at := range [][]string{{"workspaces"}, {"workspaces", "packages"}} {
		for _, w := range n.Get(at...).Strs() {
			out = append(out, w.Text)
		}
	}
	for _, kind := range []string{"dependencies", "devDependencies", "optionalDependencies", "peerDependencies"} {
		for _, d := range n.Get(kind).Members() {
			for _, scheme := range []string{"file:", "link:", "portal:"} {
				if p, ok := strings.CutPrefix(d.Str(), scheme); ok {
					out = append(out, p)
				}
			}
		}
	}
	return out
}

// pnpmPaths reads the list of packages, as people and pnpm write it: one a line.
func pnpmPaths(text []byte) (out []string) {
	in := false
	for line := range strings.Lines(string(text)) {
		trimmed := strings.TrimSpace(line)
		item, isItem := strings.CutPrefix(trimmed, "- ")
		switch {
		case trimmed == "" || trimmed[0] == '#':
		case strings.HasPrefix(line, "packages:"):
			in = true
		case in && isItem:
			out = append(out, strings.TrimSuffix(strings.Trim(strings.TrimSpace(item), `'"`), "/"))
		default:
			in = false
		}
	}
	return out
}

// cargoPaths reads members of a workspace and every dependency with a path.
func cargoPaths(text []byte) (out []string) {
	n, _, err := loose.TOML(text)
	if err != nil {
		return nil
	}
	for _, m := range n.Get("workspace", "members").Strs() {
		out = append(out, m.Text)
	}
	for _, table := range []string{"dependencies", "dev-dependencies", "build-dependencies"} {
		for _, at := range []*settings.Node{n.Get(table), n.Get("workspace", table)} {
			for _, d := range at.Members() {
				out = append(out, d.Get("path").Str())
			}
		}
	}
	for _, registry := range n.Get("patch").Members() {
		for _, d := range registry.Members() {
			out = append(out, d.Get("path").Str())
		}
	}
	return out
}
