package trees

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/session/launch"
)

// manyPaths are as many as are looked at.
func manyPaths() string {
	var b strings.Builder
	for i := range maxNamed {
		fmt.Fprintf(&b, `"../nowhere%d", `, i)
	}
	return b.String()
}

func TestMissingSiblings(t *testing.T) {
	elsewhere := t.TempDir()
	for name, tt := range map[string]struct {
		file, text string
		want       []string // below the home
	}{
		"go replace":        {"go.mod", "module m\nreplace example.test/lib => ../lib\nreplace example.test/in => ./in\nreplace example.test/v => example.test/w v1.0.0\n", []string{"lib"}},
		"go work":           {"go.work", "go 1.24\nuse (\n\t.\n\t../lib\n\t../other\n)\n", []string{"lib", "other"}},
		"npm":               {"package.json", `{"workspaces": ["in", "../lib"], "dependencies": {"a": "file:../other", "b": "^1", "c": "link:./in"}}`, []string{"lib", "other"}},
		"npm packages":      {"package.json", `{"workspaces": {"packages": ["../lib"]}}`, []string{"lib"}},
		"pnpm":              {"pnpm-workspace.yaml", "packages:\n  - 'in/*'\n  - \"../lib/*\"\nother:\n  - ../other\n", []string{"lib"}},
		"cargo":             {"Cargo.toml", "[dependencies]\na = { path = \"../lib\" }\nb = \"1\"\n[workspace]\nmembers = [\"in\"]\n[patch.crates-io]\nc = { path = \"../other\" }\n", []string{"lib", "other"}},
		"not there":         {"go.mod", "module m\nreplace a.test/b => ../nowhere\n", nil},
		"shown":             {"go.mod", "module m\nreplace a.test/b => ../shown/deep\n", nil},
		"the home":          {"package.json", `{"workspaces": ["..", "../..", "/", "../../.."]}`, nil},
		"a credential":      {"package.json", `{"workspaces": ["../.ssh", "../.aws"]}`, nil},
		"the system":        {"package.json", `{"workspaces": ["/usr/lib", "/etc"]}`, nil},
		"a file":            {"package.json", `{"workspaces": ["../plain"]}`, nil},
		"through a link":    {"package.json", `{"workspaces": ["../link", "../link/in"]}`, nil},
		"elsewhere":         {"package.json", `{"workspaces": ["` + elsewhere + `"]}`, nil},
		"one, many times":   {"package.json", `{"workspaces": [` + strings.Repeat(`"../nowhere", `, 2*maxNamed) + `"../lib"]}`, []string{"lib"}},
		"too many":          {"package.json", `{"workspaces": [` + manyPaths() + `"../lib"]}`, nil},
		"not what it says":  {"go.mod", "\x00\x00", nil},
		"wrong types":       {"package.json", `{"workspaces": 7, "dependencies": [1], "devDependencies": {"a": {}}}`, nil},
		"wrong types, TOML": {"Cargo.toml", "dependencies = 7\n[workspace]\nmembers = {}\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			ws := filepath.Join(home, "project")
			for _, d := range []string{"project/in", "lib", "other", "shown/deep", ".ssh", ".aws"} {
				if err := os.MkdirAll(filepath.Join(home, d), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Symlink("project", filepath.Join(home, "link")); err != nil {
				t.Fatal(err)
			}
			for path, text := range map[string]string{"plain": "", ".ssh/id_ed25519": "x", ".aws/credentials": "x", "project/" + tt.file: tt.text} {
				if err := os.WriteFile(filepath.Join(home, path), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var b launch.Base
			b.User.Home, b.Workspaces, b.Dir, b.Policy = home, []launch.Workspace{{Path: ws}}, ws, &policy.Policy{}
			var got []string
			for _, m := range missingSiblings(b, []plan.Mount{{Dst: ws}, {Dst: filepath.Join(home, "shown")}}) {
				got = append(got, strings.TrimPrefix(m.Path, home+"/"))
			}
			slices.Sort(got)
			if !slices.Equal(got, tt.want) {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// FuzzSiblings: whatever a project's files hold, no reader fails.
func FuzzSiblings(f *testing.F) {
	for _, s := range []string{"module m\nreplace a => ../b\n", `{"workspaces":["../x"]}`, "packages:\n- ../x\n", "[dependencies]\na={path=\"../x\"}\n", "go 1.24\nuse ../x\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, m := range manifests {
			for _, p := range m.read(text) {
				if at := beforeWildcard(p); strings.ContainsAny(at, "*?[{!") {
					t.Errorf("%q: %q", p, at)
				}
			}
		}
	})
}
