package pretrust

import (
	"path"
	"slices"
	"strings"
)

// searched are variables that list directories in which programs or their parts are
// looked for.
var searched = []string{"PATH", "NODE_PATH", "PYTHONPATH", "PERL5LIB", "RUBYLIB"}

// variables is one that is set. Its value may be a name, options with names in them
// ("--require ./x.js"), or a list of directories.
func (u *usage) variables(name, value string) {
	u.names = append(u.names, used{name: value})
	if words := strings.Fields(value); len(words) > 1 {
		for _, w := range words {
			_, behind, _ := strings.Cut(w, "=")
			u.names = append(u.names, used{name: w}, used{name: behind})
		}
	}
	if !slices.Contains(searched, strings.ToUpper(name)) {
		return
	}
	for dir := range strings.SplitSeq(value, ":") {
		if dir != any1 && dir != "" { // what it was before
			u.dirs = append(u.dirs, dir)
		}
	}
}

// readsProgram: an interpreter that is given no script, so that it runs what it reads.
func readsProgram(names []string) bool {
	i := slices.IndexFunc(names, func(n string) bool { return !strings.HasPrefix(n, "-") && !slices.Contains(wrappers, path.Base(n)) })
	if i < 0 {
		return false
	}
	program := path.Base(names[i])
	if !slices.Contains(interpreters, program) || slices.Contains([]string{"source", ".", "awk", "gawk", "mawk", "sed", "make", "gmake", "just", "java", "run-parts", "swift", "dotnet", "jq"}, program) {
		return false
	}
	for _, n := range names[i+1:] {
		if n == "-" || n == "-s" {
			return true
		}
		if !strings.HasPrefix(n, "-") || !strings.HasPrefix(n, "--") && strings.ContainsAny(n, "cemEp") {
			return false // a script, or a program in the line itself
		}
	}
	return true
}

// readers are programs that run what stands in a file of a name of their own.
type readers map[string][]string

var read = readers{
	"make": {"Makefile", "makefile", "GNUmakefile"}, "gmake": {"Makefile", "makefile", "GNUmakefile"},
	"just": {"justfile", "Justfile", ".justfile"}, "task": {"Taskfile.yml", "Taskfile.yaml"}, "rake": {"Rakefile"},
	"npm": {"package.json"}, "pnpm": {"package.json"}, "yarn": {"package.json", ".yarnrc.yml", ".yarnrc"}, "bun": {"package.json", "bunfig.toml"},
	"deno": {"deno.json", "deno.jsonc"}, "composer": {"composer.json"}, "cargo": {"Cargo.toml", "build.rs"},
	"pre-commit": {".pre-commit-config.yaml"}, "lefthook": {"lefthook.yml", "lefthook.yaml", ".lefthook.yml"},
	"docker": {"compose.yml", "compose.yaml", "docker-compose.yml", "docker-compose.yaml"}, "docker-compose": {"compose.yml", "compose.yaml", "docker-compose.yml", "docker-compose.yaml"},
	"tox": {"tox.ini"}, "nox": {"noxfile.py"}, "pytest": {"conftest.py", "pytest.ini"}, "mise": {"mise.toml", ".mise.toml"},
}

// of lists the files that a command of this program reads by itself.
func (r readers) of(program string, args []string) []string {
	if program == "docker" && !slices.Contains(args, "compose") {
		return nil
	}
	return r[program]
}

// script is the name of one, to which interpreters add an ending.
func (u *usage) script(name string) {
	u.names = append(u.names, used{name, true})
	for _, ext := range []string{".js", ".mjs", ".cjs", ".ts", ".py", ".pm", ".rb", ".sh", "/index.js", "/__main__.py", "/__init__.py"} {
		u.names = append(u.names, used{name + ext, true})
	}
}

// imports are the words of a program in the line itself that may be names of others.
func (u *usage) imports(text string) {
	words := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\n\"'`;|&<>()=,{}[]", r) })
	if len(words) > maxWords || strings.Contains(text, any1) {
		u.unnamed = true
		return
	}
	for _, w := range words {
		u.script(w)
		if mod := strings.ReplaceAll(w, ".", "/"); mod != w && !strings.Contains(w, "/") {
			u.script(mod)
		}
	}
}
