package hook

import (
	"slices"
	"strings"
)

// git follows git: a push is judged by where it goes, and a branch that is checked out
// is remembered for it.
func (w *walk) git(_ string, args []string, stdin string) string {
	dir := w.dir
	aliases := map[string]string{}
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "-C" && i+1 < len(args):
			i++
			dir = w.absFrom(dir, args[i])
		case a == "-c" && i+1 < len(args):
			i++
			w.gitSetting(args[i], aliases)
		case a == "--git-dir" || a == "--work-tree" || a == "--namespace" || a == "--exec-path" || a == "--super-prefix" || a == "--config-env":
			i++
		case len(a) > 1 && a[0] == '-':
		default:
			return w.gitCommand(dir, aliases, a, args[i+1:], stdin)
		}
	}
	return hidden(stdin)
}

// gitSetting reads an alias that is given on the command line.
func (w *walk) gitSetting(setting string, aliases map[string]string) {
	key, v, _ := strings.Cut(setting, "=")
	key = strings.ToLower(key)
	if name, ok := strings.CutPrefix(key, "alias."); ok {
		aliases[name] = v
	}
	switch key {
	case "core.sshcommand", "core.editor", "core.pager", "core.fsmonitor", "sequence.editor", "diff.external":
		w.script(v, "")
	}
}

func (w *walk) gitCommand(dir string, aliases map[string]string, name string, args []string, stdin string) string {
	if alias := aliases[name]; alias != "" {
		if code, ok := strings.CutPrefix(alias, "!"); ok {
			return w.script(code+" "+strings.Join(args, " "), stdin)
		}
		words := append(strings.Fields(alias), args...)
		return w.gitCommand(dir, nil, words[0], words[1:], stdin)
	}
	switch name {
	case "push", "send-pack":
		w.push(dir, args)
	case "checkout", "switch":
		words := operands(args, "bBcC")
		if option(args, "bBcC", "create") || option(args, "", "orphan") {
			for i, a := range args {
				if strings.Trim(a, "-bBcCtf") == "" && i+1 < len(args) {
					w.heads[dir] = args[i+1]
				}
			}
		} else if len(words) == 1 && !slices.Contains(args, "--") {
			w.heads[dir] = words[0]
		}
	case "submodule", "rebase", "bisect", "filter-branch":
		w.gitRuns(name, args)
	case "config":
		if words := operands(args, "f"); len(words) > 1 && strings.HasPrefix(strings.ToLower(words[0]), "alias.") {
			if code, ok := strings.CutPrefix(words[1], "!"); ok {
				w.script(code, "")
			}
		}
	}
	return string(some)
}

// gitRuns are the subcommands that run a command of the user's.
func (w *walk) gitRuns(name string, args []string) {
	for i, a := range args {
		switch {
		case name == "submodule" && a == "foreach", name == "bisect" && a == "run":
			if rest := operandsFrom(args[i+1:], ""); len(rest) > 0 {
				w.script(strings.Join(rest, " "), "")
			}
			return
		case name == "rebase" && (a == "-x" || a == "--exec") && i+1 < len(args),
			name == "filter-branch" && strings.HasSuffix(a, "-filter") && i+1 < len(args):
			w.script(args[i+1], "")
		}
	}
}

// pushValues are the options of push that have a value.
const pushValues = "o"

// push judges where it goes, and whether it overwrites what is there.
func (w *walk) push(dir string, args []string) {
	forced := option(args, "f", "") || exactly(args, "--force", "--forc", "--mirror", "--prune")
	lease := slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--force-with-lease") })
	deletes := option(args, "d", "delete")
	if option(args, "n", "dry-run") && !option(args, "", "no-dry-run") {
		return
	}
	b := w.branches(dir)
	words := operands(longValues(args, "--repo", "--receive-pack", "--exec", "--push-option", "--recurse-submodules"), pushValues)
	refs := words[min(1, len(words)):]
	if forced {
		w.find(Deny, "force-push", "A forced push overwrites what others have. Push without force, or ask the person.")
	}
	if exactly(args, "--all", "--branches", "--mirror") {
		w.find(Deny, "push", "This pushes every branch, the default one too. Name the branch.")
	}
	if len(refs) == 0 {
		refs = []string{"HEAD"}
		if exactly(args, "--tags") {
			refs = nil
		}
	}
	for _, ref := range refs {
		w.pushRef(ref, b, deletes, lease)
	}
	if lease {
		w.find(Ask, "force-push", "A forced push overwrites what others may have.")
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

func (w *walk) pushRef(ref string, b Branches, deletes, lease bool) {
	if strings.HasPrefix(ref, "+") {
		w.find(Deny, "force-push", "A + before a branch forces the push, which overwrites what others have.")
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
	case guarded(literal(dst), b):
		verb := "pushes to"
		if removes {
			verb = "deletes"
		}
		w.find(Deny, "push", "This "+verb+" "+say(dst)+", the default branch. Push a branch of your own and let a person merge it.")
	case strings.ContainsAny(dst, "*\x01"):
		w.find(Deny, "push", "This pushes every branch, the default one too. Name the branch.")
	case !known(dst) && (removes || lease):
		w.find(Ask, "push", "It is not known here which branch this changes.")
	case removes && !strings.HasPrefix(dst, "tags/"):
		w.find(Ask, "push", "This deletes the branch "+say(dst)+" for everybody.")
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
func (w *walk) branches(dir string) Branches {
	var b Branches
	if w.where.Git != nil && known(dir) {
		b = w.where.Git(dir)
	}
	if head := w.heads[dir]; head != "" {
		b.Current = head
	}
	return b
}
