package gitoracle

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// own are the programs that the host's script starts itself, and those that
// scripts of git's own start. None of them executes anything by its arguments.
var own = map[string]bool{
	"git": true, "find": true, "sort": true, "head": true, "cat": true, "true": true, "uname": true, "sed": true, "basename": true,
	"dirname": true, "gh": true, "direnv": true, "tr": true, "expr": true, "gettext": true, "envsubst": true, "script": true, "rm": true, "grep": true,
}

var system = []string{"/usr/local/bin", "/usr/bin", "/bin", "/usr/lib/git-core", "/usr/libexec/git-core"}

// localUpload is how git starts the other side of a remote that is a directory.
var localUpload = regexp.MustCompile(`^git-(upload|receive)-pack '[^']*'$`)

// sshHost is a name of a host that ssh cannot take for an option.
var sshHost = regexp.MustCompile(`^([a-z]+@)?[a-z][a-z.]*$`)

// ours reports whether the host's own commands may execute that. Everything is
// known by its shape; a shell with a text of its own is never ours.
func (s *scene) ours(path string, argv []string) bool {
	dir, name := filepath.Split(path)
	if !slices.Contains(system, filepath.Clean(dir)) || len(argv) == 0 {
		return false
	}
	switch {
	case name == "bash" && len(argv) > 2 && argv[1] == "-c" && argv[2] == hostScript:
		return true
	case (name == "bash" || name == "sh") && len(argv) == 3 && argv[1] == "-c" && (argv[2] == "git log -p -2" || argv[2] == "git branch"):
		return true // what script(1) was told to run
	case name == "bash" && len(argv) > 2 && argv[1] == "-c" && strings.HasPrefix(argv[2], "eval \"$(\"/usr/bin/direnv\" stdlib)\""):
		return true // what it makes of .envrc is seen by itself
	case name == "sh" && len(argv) == 4 && argv[1] == "-c" && argv[2] == argv[3]:
		return localUpload.MatchString(argv[2])
	case name == "sh" && len(argv) == 3 && argv[1] == "-c":
		return localUpload.MatchString(argv[2])
	case name == "ssh":
		return len(argv) >= 3 && sshHost.MatchString(argv[len(argv)-2]) && !slices.ContainsFunc(argv, func(a string) bool { return strings.Contains(a, "Command") })
	case strings.HasPrefix(name, "git-"):
		return true
	}
	return own[name]
}
