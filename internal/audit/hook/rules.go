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
	judge func(w *walk, name string, args []string)
}

func (r rule) applies(name string) bool { return slices.Contains(r.names, name) }

var rules = []rule{
	{strings.Fields("rm rimraf trash srm del-cli"), removal},
	{strings.Fields("chmod chown chgrp setfacl"), permissions},
	{strings.Fields("sudo doas su pkexec run0 sudoedit gksudo kdesu sudo-rs please"), privilege},
	{strings.Fields("terraform tofu terragrunt pulumi cdk"), infrastructure},
	{strings.Fields("dd cp mv ln rsync shred truncate install unlink cat"), overwriting},
	{strings.Fields("wipefs blkdiscard sgdisk sfdisk parted fdisk mke2fs mkswap cryptsetup badblocks hdparm"), disks},
	{strings.Fields("shutdown reboot halt poweroff init telinit systemctl loginctl kill killall5"), power},
	{strings.Fields("history fc"), historyCommand},
	{strings.Fields("crontab"), crontab},
}

// say shows a path to people.
func say(name string) string {
	name = strings.NewReplacer("\x00", "…", "\x05", "…", "\x06", "…").Replace(literal(name))
	if len(name) > 200 {
		name = name[:200] + "…"
	}
	return strconv.Quote(name)
}

// removal is rm -r and its like.
func removal(w *walk, name string, args []string) {
	if option(args, "", "no-preserve-root") {
		w.find(Deny, "rm", "This removes the root of the file system.")
		return
	}
	deep := name != "rm" && name != "srm" || option(args, "rR", "recursive")
	if !deep && slices.ContainsFunc(args, func(a string) bool { return !known(a) && strings.HasPrefix(a, "-") }) {
		deep = true
	}
	for _, target := range operands(args, "") {
		w.historyFile(target)
		if device(target) {
			w.find(Ask, "rm", "This removes the device "+say(target)+".")
		}
		all := everything(path.Base(target))
		if !deep && !all {
			continue
		}
		level := w.reaches(target)
		if !deep && level == much {
			level = perhaps // only the files in there
		}
		w.lost(level, target, "removes")
	}
}

// lost tells what is lost.
func (w *walk) lost(level reach, target, verb string) {
	switch level {
	case much:
		w.find(Deny, "rm", "This "+verb+" "+say(target)+": a root, a home, the directory itself or one above it. Name what is to go, below it.")
	case perhaps:
		w.find(Ask, "rm", "This "+verb+" "+say(target)+", and what that is depends on what is not known here.")
	}
	if level == little && path.Base(target) == ".git" {
		w.find(Ask, "rm", "This "+verb+" the history of a repository.")
	}
}

// permissions are changed for all the world, or for a whole tree that is not one's own.
func permissions(w *walk, name string, args []string) {
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
		if deep && w.reaches(t) == much && !w.within(t) {
			w.find(Deny, "chmod", "This changes the permissions of "+say(t)+" and all below it.")
		}
	}
	if name != "chmod" {
		return
	}
	switch open, wide := worldWritable(mode); {
	case wide || open && deep:
		w.find(Deny, "chmod", "Mode "+say(mode)+" lets everybody write. Give the owner what it needs: u+rwX.")
	case open:
		w.find(Ask, "chmod", "Mode "+say(mode)+" lets everybody write.")
	case !known(mode) && deep:
		w.find(Ask, "chmod", "This changes permissions of a whole tree, and the mode is not known here.")
	}
}

// within holds for the directory itself: changing its permissions is daily work.
func (w *walk) within(target string) bool {
	return known(target) && strings.TrimRight(w.abs(target), "/\x01") == path.Clean(w.where.Dir)
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

func privilege(w *walk, name string, args []string) {
	w.find(Deny, "privilege", name+" takes the rights of another user. Do it without, or tell the person which command needs them.")
}

func infrastructure(w *walk, name string, args []string) {
	words := operands(args, "")
	verb := func(v string) bool { return slices.Contains(words, v) }
	automatic := false
	for _, a := range args {
		switch strings.TrimLeft(a, "-") {
		case "destroy", "destroy=true":
			if a[0] == '-' && !verb("plan") {
				w.find(Deny, "destroy", "This destroys infrastructure. A person does that, having seen the plan.")
			}
		case "auto-approve", "auto-approve=true", "yes", "y", "terragrunt-non-interactive", "non-interactive":
			automatic = a[0] == '-'
		}
	}
	switch {
	case verb("destroy"):
		w.find(Deny, "destroy", "This destroys infrastructure. A person does that, having seen the plan.")
	case automatic && (verb("apply") || verb("up")):
		w.find(Ask, "destroy", "This changes infrastructure without showing the plan first.")
	}
}

// overwriting is what replaces a disk, a root or a history by something else.
func overwriting(w *walk, name string, args []string) {
	words := operands(args, "tSegmos")
	switch name {
	case "dd":
		for _, a := range args {
			if file, ok := strings.CutPrefix(a, "of="); ok {
				w.overwritten(file)
			}
		}
		return
	case "rsync":
		if n := len(words); n > 0 && slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--del") }) {
			if w.reaches(words[n-1]) == much && !w.within(words[n-1]) && !strings.Contains(words[n-1], ":") {
				w.find(Deny, "rm", "This makes "+say(words[n-1])+" a copy of another place, and removes all else in it.")
			}
		}
	case "mv":
		for _, t := range words[:max(0, len(words)-1)] {
			if !everything(path.Base(t)) {
				w.lost(w.reaches(t), t, "moves away")
			} else if w.reaches(t) == much && !w.within(t) {
				w.find(Deny, "rm", "This moves away all of "+say(path.Dir(t))+".")
			}
		}
	case "shred", "truncate", "unlink":
		for _, t := range words {
			w.historyFile(t)
			w.overwritten(t)
		}
	case "ln":
		if len(words) == 2 && words[0] == "/dev/null" {
			w.historyFile(words[1])
		}
	case "cp", "install":
		if len(words) > 1 && words[0] == "/dev/null" {
			w.historyFile(words[1])
		}
	}
	if n := len(words); n > 1 && name != "cat" {
		w.overwritten(words[n-1])
	}
}

// overwritten is a file that a command writes.
func (w *walk) overwritten(name string) {
	if device(name) {
		w.find(Deny, "disk", "This writes to the device "+say(name)+".")
	}
	w.historyFile(name)
}

// opened is a file that the shell opens.
func (w *walk) opened(name string) {
	if strings.HasPrefix(name, "/dev/tcp/") || strings.HasPrefix(name, "/dev/udp/") {
		w.find(Deny, "network-shell", "This makes the shell itself speak to a network.")
	}
}

func disks(w *walk, name string, args []string) {
	if option(args, "l", "list") && !option(args, "n", "") || slices.Contains(args, "print") {
		return
	}
	if slices.ContainsFunc(args, device) || slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "/dev/") }) {
		w.find(Deny, "disk", name+" changes a disk.")
	}
}

func power(w *walk, name string, args []string) {
	words := operands(args, "")
	switch name {
	case "systemctl", "loginctl":
		for _, verb := range strings.Fields("poweroff reboot halt kexec suspend hibernate hybrid-sleep soft-reboot emergency rescue exit") {
			if len(words) > 0 && words[0] == verb {
				w.find(Deny, "power", "This stops the machine.")
			}
		}
	case "init", "telinit":
		if len(words) > 0 && strings.Trim(words[0], "016sS") == "" {
			w.find(Deny, "power", "This stops the machine.")
		}
	case "kill":
		for i, a := range args {
			if a == "-1" && (i > 0 || len(args) == 1) {
				w.find(Deny, "power", "This ends every process there is.")
			}
		}
	default:
		if !slices.Contains(args, "--help") && !slices.Contains(args, "--version") {
			w.find(Deny, "power", "This stops the machine.")
		}
	}
}

func crontab(w *walk, _ string, args []string) {
	if option(args, "r", "") {
		w.find(Deny, "rm", "This removes all of a user's cron jobs.")
	}
}

const historyReason = "This hides what was typed. The history is the person's."

func historyCommand(w *walk, name string, args []string) {
	if name == "history" && option(args, "cwd", "clear") && !option(args, "a", "") || name == "fc" && option(args, "p", "") {
		w.find(Deny, "history", historyReason)
	}
}

// historyFile is a file that is removed or overwritten.
func (w *walk) historyFile(name string) {
	switch path.Base(literal(name)) {
	case ".bash_history", ".zsh_history", ".zhistory", ".sh_history", ".history", "fish_history", ".local_history":
		w.find(Deny, "history", historyReason)
	}
}

func (w *walk) historyVariable(name string, values []string) {
	v := strings.Join(values, "")
	switch {
	case name == "HISTFILE" && (v == "" || v == "/dev/null"), (name == "HISTSIZE" || name == "HISTFILESIZE" || name == "SAVEHIST") && v == "0",
		name == "HISTIGNORE" && v == "*":
		w.find(Deny, "history", historyReason)
	}
}
