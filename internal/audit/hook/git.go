package hook

import (
	"slices"
	"strings"
)

// git follows git: a push is judged by where it goes, and a branch that is checked out
// is remembered for it.
func git(l *look, _ string, args []string, in string) {
	dir := l.sh.dir
	aliases := map[string]string{}
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "-C" && i+1 < len(args):
			i++
			dir = absFrom(dir, args[i])
		case a == "-c" && i+1 < len(args):
			i++
			l.gitSetting(args[i], aliases)
		case a == "--git-dir" || a == "--work-tree" || a == "--namespace" || a == "--exec-path" || a == "--super-prefix" || a == "--config-env":
			i++
		case len(a) > 1 && a[0] == '-':
		default:
			l.gitCommand(dir, aliases, a, args[i+1:], in)
			return
		}
	}
}

// gitSetting reads an alias that is given on the command line.
func (l *look) gitSetting(setting string, aliases map[string]string) {
	key, v, _ := strings.Cut(setting, "=")
	key = strings.ToLower(key)
	if name, ok := strings.CutPrefix(key, "alias."); ok {
		aliases[name] = v
	}
	switch key {
	case "core.sshcommand", "core.editor", "core.pager", "core.fsmonitor", "sequence.editor", "diff.external":
		l.script(v, "")
	}
}

func (l *look) gitCommand(dir string, aliases map[string]string, name string, args []string, in string) {
	if alias := aliases[name]; alias != "" {
		if code, ok := strings.CutPrefix(alias, "!"); ok {
			l.script(code+" "+strings.Join(args, " "), in)
			return
		}
		words := append(strings.Fields(alias), args...)
		l.gitCommand(dir, nil, words[0], words[1:], in)
		return
	}
	l.gitLoses(dir, name, args)
	switch name {
	case "push", "send-pack":
		l.push(dir, args)
	case "checkout", "switch":
		words := operands(args, "bBcC")
		if option(args, "bBcC", "create") || option(args, "", "orphan") {
			for i, a := range args {
				if strings.Trim(a, "-bBcCtf") == "" && i+1 < len(args) {
					l.heads[dir] = args[i+1]
				}
			}
		} else if len(words) == 1 && !slices.Contains(args, "--") {
			l.heads[dir] = words[0]
		}
	case "submodule", "rebase", "bisect", "filter-branch":
		l.gitRuns(name, args)
	case "config":
		if words := operands(args, "f"); len(words) > 1 && strings.HasPrefix(strings.ToLower(words[0]), "alias.") {
			if code, ok := strings.CutPrefix(words[1], "!"); ok {
				l.script(code, "")
			}
		}
	}
}

// gitRuns are the subcommands that run a command of the user's.
func (l *look) gitRuns(name string, args []string) {
	for i, a := range args {
		switch {
		case name == "submodule" && a == "foreach", name == "bisect" && a == "run":
			if rest := operandsFrom(args[i+1:], ""); len(rest) > 0 {
				l.script(strings.Join(rest, " "), "")
			}
			return
		case name == "rebase" && (a == "-x" || a == "--exec") && i+1 < len(args),
			name == "filter-branch" && strings.HasSuffix(a, "-filter") && i+1 < len(args):
			l.script(args[i+1], "")
		}
	}
}

// pushValues are the options of push that have a value.
const pushValues = "o"

// push judges where it goes, and whether it overwrites what is there.
func (l *look) push(dir string, args []string) {
	forced := option(args, "f", "") || exactly(args, "--force", "--forc", "--mirror", "--prune")
	lease := slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--force-with-lease") })
	deletes := option(args, "d", "delete")
	if option(args, "n", "dry-run") && !option(args, "", "no-dry-run") {
		return
	}
	b := l.branches(dir)
	words := operands(longValues(args, "--repo", "--receive-pack", "--exec", "--push-option", "--recurse-submodules"), pushValues)
	refs := words[min(1, len(words)):]
	if forced {
		l.find(Deny, "force-push", "A forced push overwrites what others have. Push without force, or ask the person.")
	}
	if exactly(args, "--all", "--branches", "--mirror") {
		l.find(Deny, "push", "This pushes every branch, the default one too. Name the branch.")
	}
	if len(refs) == 0 {
		refs = []string{"HEAD"}
		if exactly(args, "--tags") {
			refs = nil
		}
	}
	for _, ref := range refs {
		l.pushRef(ref, b, deletes, lease)
	}
	if lease {
		l.find(Ask, "force-push", "A forced push overwrites what others may have.")
	}
}

func exactly(args []string, names ...string) bool {
	return slices.ContainsFunc(args, func(a string) bool { return slices.Contains(names, a) })
}

// longValues drops the values of long options that stand apart.
func longValues(args []string, names ...string) []string {
	var out []string
	for i := 0; i < len(args); i++ {
		out = append(out, args[i])
		if slices.Contains(names, args[i]) {
			i++
		}
	}
	return out
}

func (l *look) pushRef(ref string, b Branches, deletes, lease bool) {
	if strings.HasPrefix(ref, "+") {
		l.find(Deny, "force-push", "A + before a branch forces the push, which overwrites what others have.")
		ref = ref[1:]
	}
	src, dst, colon := strings.Cut(ref, ":")
	if !colon {
		dst = src
	}
	removes := deletes || colon && src == ""
	dst = strings.TrimPrefix(strings.TrimPrefix(dst, "refs/"), "heads/")
	if dst == "HEAD" || dst == "@" || dst == "" {
		dst = b.Current
	}
	switch {
	case dst == "":
	case guarded(dst, b):
		verb := "pushes to"
		if removes {
			verb = "deletes"
		}
		l.find(Deny, "push", "This "+verb+" "+say(dst)+", the default branch. Push a branch of your own and let a person merge it.")
	case strings.ContainsAny(dst, "*"):
		l.find(Deny, "push", "This pushes every branch, the default one too. Name the branch.")
	case !known(dst) && (removes || lease):
		l.find(Ask, "push", "It is not known here which branch this changes.")
	case removes && !strings.HasPrefix(dst, "tags/"):
		l.find(Ask, "push", "This deletes the branch "+say(dst)+" for everybody.")
	}
}

func guarded(name string, b Branches) bool {
	switch name {
	case "main", "master", "trunk", "production", "release":
		return true
	}
	return slices.Contains(b.Guarded, name)
}

// branches is what is known of the repository in a directory.
func (l *look) branches(dir string) Branches {
	var b Branches
	if l.sh.where.Git != nil && known(dir) {
		b = l.sh.where.Git(dir)
	}
	if head := l.heads[dir]; head != "" {
		b.Current = head
	}
	return b
}
