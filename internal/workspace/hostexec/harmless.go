package hostexec

import "strings"

// keywords are names that mean something in a git directory. A submodule called so
// would make its own files look like those of another.
var keywords = map[string]bool{
	"objects": true, "refs": true, "logs": true, "hooks": true, "info": true, "modules": true, "worktrees": true, "config": true,
	".git": true, "": true, ".": true, "..": true,
}

// printable reports whether s is text without anything hidden in it.
func printable(s string) bool { return spelt("x"+strings.ReplaceAll(s, "/", "_")) == "" }
