package scan

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

// script is the name of one, to which interpreters add an ending.
func (u *usage) script(name string) {
	u.names = append(u.names, used{name: name, runs: true, dir: true})
	for _, ext := range []string{".js", ".mjs", ".cjs", ".ts", ".py", ".pm", ".rb", ".sh", "/index.js", "/__main__.py", "/__init__.py"} {
		u.names = append(u.names, used{name: name + ext, runs: true})
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
