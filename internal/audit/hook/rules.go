package hook

import (
	"path"
	"slices"
	"strconv"
	"strings"
)

// rule judges commands of some names.
type rule struct {
	names []string
	judge func(l *look, name string, args []string, in string)
}

// rules are all that is known of commands. They are set when the program starts, since
// some of them run others.
var rules []rule

func init() {
	add := func(judge func(*look, string, []string, string), names string) {
		rules = append(rules, rule{strings.Fields(names), judge})
	}
	add(removal, "rm rimraf trash srm del-cli")
	add(permissions, "chmod chown chgrp setfacl")
	add(privilege, "sudo doas su pkexec run0 sudoedit gksudo kdesu sudo-rs please")
	add(infrastructure, "terraform tofu terragrunt pulumi cdk")
	add(cloud, "kubectl oc helm gcloud gsutil az doctl flyctl fly gh glab dropdb dropuser")
	add(aws, "aws")
	add(database, "psql mysql mariadb sqlite3 sqlcmd mongosh mongo redis-cli cqlsh clickhouse-client duckdb")
	add(overwriting, "dd cp mv ln rsync shred truncate install unlink tee")
	add(disks, "wipefs blkdiscard sgdisk sfdisk parted fdisk mke2fs mkswap cryptsetup badblocks hdparm")
	add(power, "shutdown reboot halt poweroff init telinit systemctl loginctl kill killall5")
	add(historyCommand, "history fc set unset")
	add(crontab, "crontab")
	add(git, "git")
	// What runs others, or changes how the line goes on.
	add(cd, "cd pushd")
	add(popd, "popd")
	add(eval, "eval")
	add(source, "source .")
	add(trap, "trap")
	add(alias, "alias")
	add(reads, "read mapfile readarray")
	add(sh, "sh bash dash zsh ksh ash mksh fish rbash yash csh tcsh")
	add(interpreter, "python python2 python3 perl ruby node nodejs deno bun php lua pypy3 pwsh awk gawk mawk nawk osascript Rscript tclsh")
	add(stdin, "at batch")
	add(joined, "watch")
	add(dashC, "script flock")
	add(typed, "tmux screen zellij")
	add(xargs, "xargs parallel")
	add(findFiles, "find")
	add(fd, "fd fdfind")
	add(downloads, strings.Join(fetchers, " "))
}

// say shows a path to people.
func say(name string) string {
	name = strings.NewReplacer(unset, "…", some, "…", remote, "…").Replace(name)
	if len(name) > 200 {
		name = name[:200] + "…"
	}
	return strconv.Quote(name)
}

// removal is rm -r and its like.
func removal(l *look, name string, args []string, _ string) {
	if option(args, "", "no-preserve-root") {
		l.find(Deny, "rm", "This removes the root of the file system.")
		return
	}
	deep := name != "rm" && name != "srm" || option(args, "rR", "recursive")
	if !deep && slices.ContainsFunc(args, func(a string) bool { return !known(a) && strings.HasPrefix(a, "-") }) {
		deep = true
	}
	for _, target := range operands(args, "") {
		l.historyFile(target)
		if device(target) {
			l.find(Ask, "rm", "This removes the device "+say(target)+".")
		}
		all := everything(path.Base(target))
		if !deep && !all {
			continue
		}
		level := l.sh.reaches(target)
		if !deep && level == much {
			level = perhaps // only the files in there
		}
		l.lost(level, target, "removes")
		if level == little && deep {
			l.removedWork(target)
		}
	}
}

// lost tells what is lost.
func (l *look) lost(level reach, target, verb string) {
	switch level {
	case much:
		l.find(Deny, "rm", "This "+verb+" "+say(target)+": a root, a home, the directory itself or one above it. Name what is to go, below it.")
	case perhaps:
		l.find(Ask, "rm", "This "+verb+" "+say(target)+", and what that is depends on what is not known here.")
	}
	if level == little && path.Base(target) == ".git" {
		l.find(Ask, "rm", "This "+verb+" the history of a repository.")
	}
}

// permissions are changed for all the world, or for a whole tree that is not one's own.
func permissions(l *look, name string, args []string, _ string) {
	deep := option(args, "R", "recursive")
	words := operands(args, "")
	if name == "chmod" {
		// A mode may begin with a dash: -w is one.
		words = slices.DeleteFunc(slices.Clone(args), func(a string) bool {
			return a == "--" || strings.HasPrefix(a, "--") || len(a) > 1 && a[0] == '-' && strings.Trim(a[1:], "Rvcf") == ""
		})
	}
	if len(words) == 0 {
		return
	}
	mode, targets := words[0], words[1:]
	if option(args, "", "reference") || name == "setfacl" {
		mode, targets = "", words
	}
	for _, t := range targets {
		if deep && l.sh.reaches(t) == much && !l.sh.within(t) {
			l.find(Deny, "chmod", "This changes the permissions of "+say(t)+" and all below it.")
		}
	}
	if name != "chmod" {
		return
	}
	switch open, wide := worldWritable(mode); {
	case wide || open && deep:
		l.find(Deny, "chmod", "Mode "+say(mode)+" lets everybody write. Give the owner what it needs: u+rwX.")
	case open:
		l.find(Ask, "chmod", "Mode "+say(mode)+" lets everybody write.")
	case !known(mode) && deep:
		l.find(Ask, "chmod", "This changes permissions of a whole tree, and the mode is not known here.")
	}
}

// within holds for the directory itself: changing its permissions is daily work.
func (s *state) within(target string) bool {
	return known(target) && strings.TrimRight(s.abs(target), "/*") == path.Clean(s.where.Dir)
}

// worldWritable reports whether a mode lets everybody write, and whether it lets
// everybody do everything.
func worldWritable(mode string) (open, wide bool) {
	if mode != "" && strings.Trim(mode, "01234567=") == "" {
		n, err := strconv.ParseUint(strings.TrimLeft(mode, "="), 8, 32)
		return err == nil && n&0o2 != 0 && n&0o1000 == 0, err == nil && n&0o777 == 0o777 && n&0o1000 == 0
	}
	for clause := range strings.SplitSeq(mode, ",") {
		i := strings.IndexAny(clause, "+=")
		if i < 0 {
			continue
		}
		who, what := clause[:i], clause[i+1:]
		if strings.Contains(what, "w") && strings.ContainsAny(who, "ao") {
			open = true
			all := strings.Contains(who, "a") || strings.Contains(who, "u") && strings.Contains(who, "g")
			wide = wide || all && strings.Contains(what, "r") && strings.ContainsAny(what, "xX")
		}
	}
	return open, wide
}

func privilege(l *look, name string, args []string, _ string) {
	l.find(Deny, "privilege", name+" takes the rights of another user. Do it without, or tell the person which command needs them.")
}

func infrastructure(l *look, name string, args []string, _ string) {
	words := operands(args, "")
	verb := func(v string) bool { return slices.Contains(words, v) }
	automatic := false
	for _, a := range args {
		switch strings.TrimLeft(a, "-") {
		case "destroy", "destroy=true":
			if a[0] == '-' && !verb("plan") {
				l.find(Deny, "destroy", "This destroys infrastructure. A person does that, having seen the plan.")
			}
		case "auto-approve", "auto-approve=true", "yes", "y", "terragrunt-non-interactive", "non-interactive":
			automatic = a[0] == '-'
		}
	}
	switch {
	case verb("destroy"):
		l.find(Deny, "destroy", "This destroys infrastructure. A person does that, having seen the plan.")
	case automatic && (verb("apply") || verb("up")):
		l.find(Ask, "destroy", "This changes infrastructure without showing the plan first.")
	}
}

// overwriting is what replaces a disk, a root or a history by something else.
func overwriting(l *look, name string, args []string, _ string) {
	words := operands(args, "tSegmos")
	switch name {
	case "dd":
		for _, a := range args {
			if file, ok := strings.CutPrefix(a, "of="); ok {
				l.overwritten(file)
			}
		}
		return
	case "rsync":
		if n := len(words); n > 0 && slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--del") }) {
			if l.sh.reaches(words[n-1]) == much && !l.sh.within(words[n-1]) && !strings.Contains(words[n-1], ":") {
				l.find(Deny, "rm", "This makes "+say(words[n-1])+" a copy of another place, and removes all else in it.")
			}
		}
	case "mv":
		for _, t := range words[:max(0, len(words)-1)] {
			if !everything(path.Base(t)) {
				l.lost(l.sh.reaches(t), t, "moves away")
			} else if l.sh.reaches(t) == much && !l.sh.within(t) {
				l.find(Deny, "rm", "This moves away all of "+say(path.Dir(t))+".")
			}
		}
	case "shred", "truncate", "unlink", "tee":
		for _, t := range words {
			l.historyFile(t)
			l.overwritten(t)
		}
	case "ln":
		if len(words) == 2 && words[0] == "/dev/null" {
			l.historyFile(words[1])
		}
	case "cp", "install":
		if len(words) > 1 && words[0] == "/dev/null" {
			l.historyFile(words[1])
		}
	}
	if n := len(words); n > 1 {
		l.overwritten(words[n-1])
	}
}

// overwritten is a file that a command writes.
func (l *look) overwritten(name string) {
	if device(name) {
		l.find(Deny, "disk", "This writes to the device "+say(name)+".")
	}
	l.historyFile(name)
}

func disks(l *look, name string, args []string, _ string) {
	if option(args, "l", "list") && !option(args, "n", "") || slices.Contains(args, "print") {
		return
	}
	if slices.ContainsFunc(args, device) || slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "/dev/") }) {
		l.find(Deny, "disk", name+" changes a disk.")
	}
}

func power(l *look, name string, args []string, _ string) {
	words := operands(args, "")
	switch name {
	case "systemctl", "loginctl":
		for _, verb := range strings.Fields("poweroff reboot halt kexec suspend hibernate hybrid-sleep soft-reboot emergency rescue exit") {
			if len(words) > 0 && words[0] == verb {
				l.find(Deny, "power", "This stops the machine.")
			}
		}
	case "init", "telinit":
		if len(words) > 0 && strings.Trim(words[0], "016sS") == "" {
			l.find(Deny, "power", "This stops the machine.")
		}
	case "kill":
		for i, a := range args {
			if a == "-1" && (i > 0 || len(args) == 1) {
				l.find(Deny, "power", "This ends every process there is.")
			}
		}
	default:
		if !slices.Contains(args, "--help") && !slices.Contains(args, "--version") {
			l.find(Deny, "power", "This stops the machine.")
		}
	}
}

func crontab(l *look, _ string, args []string, _ string) {
	if option(args, "r", "") {
		l.find(Deny, "rm", "This removes all of a user's cron jobs.")
	}
}

const historyReason = "This hides what was typed. The history is the person's."

func historyCommand(l *look, name string, args []string, _ string) {
	if name == "history" && option(args, "cwd", "clear") && !option(args, "a", "") || name == "fc" && option(args, "p", "") ||
		name == "set" && len(args) > 1 && args[0] == "+o" && args[1] == "history" {
		l.find(Deny, "history", historyReason)
	}
	if name == "unset" {
		for _, v := range operands(args, "") {
			l.historyVariable(v, "")
			delete(l.sh.vars, v)
		}
	}
}

// historyFile is a file that is removed or overwritten.
func (l *look) historyFile(name string) {
	switch path.Base(name) {
	case ".bash_history", ".zsh_history", ".zhistory", ".sh_history", ".history", "fish_history", ".local_history":
		l.find(Deny, "history", historyReason)
	}
}

func (l *look) historyVariable(name, v string) {
	switch {
	case name == "HISTFILE" && (v == "" || v == "/dev/null"), (name == "HISTSIZE" || name == "HISTFILESIZE" || name == "SAVEHIST") && v == "0",
		name == "HISTIGNORE" && v == "*":
		l.find(Deny, "history", historyReason)
	}
}
