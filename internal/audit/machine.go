package audit

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/sandbox/hostfacts"
)

// rootChecks: ways to become root.
var rootChecks = []Check{
	{ID: "AU-140", Severity: High, Title: "sudo asks for no password",
		Gets: "root on this machine, by one word in front of a command", Fix: "take NOPASSWD out of {} by visudo", probe: freeSudo},
	{ID: "AU-141", Severity: High, Title: "The user is in a group that is as good as root",
		Gets: "root on this machine", Fix: `as root: gpasswd -d "$USER" {}`, probe: rootGroups},
	{ID: "AU-142", Severity: High, Title: "The agent would run as root",
		Gets: "the machine", Fix: "work as an ordinary user", probe: func(l *look) []hit {
			if l.UID != 0 {
				return nil
			}
			return []hit{{path: "uid 0"}}
		}},
}

// kernelChecks: what the kernel lets happen, and what it cannot help with.
var kernelChecks = []Check{
	{ID: "AU-150", Severity: High, Title: "An ordinary user can make no user namespace here",
		Gets: "nothing by itself, but no sandbox can be built", Fix: "ringfence doctor (which names the switch)", probe: noNamespaces},
	{ID: "AU-151", Severity: Medium, Title: "The kernel has no Landlock",
		Gets: "one wall less: a mistake in the mounts is not caught", Fix: "boot with lsm=landlock,..., or a kernel of 5.13 or later",
		probe: kernelSays("landlock", func(l *look) bool { return l.Facts.Landlock == 0 })},
	{ID: "AU-152", Severity: High, Title: "The kernel filters no system calls",
		Gets: "the whole surface of the kernel", Fix: "use a kernel with CONFIG_SECCOMP_FILTER",
		probe: kernelSays("seccomp", func(l *look) bool { return l.Facts.Calls.Seccomp != hostfacts.Present })},
	{ID: "AU-153", Severity: Medium, Title: "Processes may look into each other",
		Gets: "what other programs of the user hold in memory: the bare agent reads an ssh-agent's keys",
		Fix:  "as root: sysctl -w kernel.yama.ptrace_scope=1", probe: kernelSays("kernel.yama.ptrace_scope", func(l *look) bool { return l.Facts.Sysctl.YamaPtraceScope == 0 })},
	{ID: "AU-154", Severity: Medium, Title: "A program can type into the terminal it runs in",
		Gets: "commands in the user's shell when the agent has ended", Fix: "as root: sysctl -w dev.tty.legacy_tiocsti=0",
		probe: kernelSays("dev.tty.legacy_tiocsti", func(l *look) bool { return l.Facts.Sysctl.LegacyTIOCSTI == 1 })},
	{ID: "AU-155", Severity: Low, Title: "The kernel shows its addresses",
		Gets: "what an exploit of the kernel needs to know first", Fix: "as root: sysctl -w kernel.kptr_restrict=1",
		probe: kernelSays("kernel.kptr_restrict", func(l *look) bool { return l.Kernel.KptrRestrict == 0 })},
	{ID: "AU-156", Severity: Low, Title: "Everybody can read the kernel's log",
		Gets: "addresses, and what other users' devices do", Fix: "as root: sysctl -w kernel.dmesg_restrict=1",
		probe: kernelSays("kernel.dmesg_restrict", func(l *look) bool { return l.Kernel.DmesgRestrict == 0 })},
	{ID: "AU-157", Severity: Medium, Title: "Everybody can load BPF programs",
		Gets: "a part of the kernel that exploits like", Fix: "as root: sysctl -w kernel.unprivileged_bpf_disabled=2",
		probe: kernelSays("kernel.unprivileged_bpf_disabled", func(l *look) bool { return l.Kernel.BPFDisabled == 0 })},
	{ID: "AU-158", Severity: Low, Title: "This machine has no unified control groups",
		Gets: "memory and processes without a bound", Fix: "boot with systemd.unified_cgroup_hierarchy=1",
		probe: kernelSays("cgroup v2", func(l *look) bool { return !l.Kernel.CgroupV2 })},
}

func kernelSays(name string, bad func(*look) bool) func(*look) []hit {
	return func(l *look) []hit {
		if bad(l) {
			return []hit{{path: name}}
		}
		return nil
	}
}

func noNamespaces(l *look) []hit {
	s := l.Facts.Sysctl
	switch {
	case s.MaxUserNS == 0:
		return []hit{{path: "user.max_user_namespaces", detail: "0"}}
	case l.UID == 0:
		return nil
	case s.UnprivUserNS == 0:
		return []hit{{path: "kernel.unprivileged_userns_clone", detail: "0"}}
	case s.AppArmorUserNS == 1:
		return []hit{{path: "kernel.apparmor_restrict_unprivileged_userns", detail: "1; a profile for ringfence lifts it"}}
	}
	return nil
}

// freeSudo reads sudo's rules where they can be read. It never runs sudo.
func freeSudo(l *look) (hits []hit) {
	if l.UID == 0 {
		return nil
	}
	user, groups := l.everybody().identity()
	files := []string{l.at("/etc/sudoers")}
	dropIns := l.names(l.at("/etc/sudoers.d"))
	slices.Sort(dropIns)
	for _, name := range dropIns {
		files = append(files, l.at("/etc/sudoers.d/"+name))
	}
	for _, file := range files {
		if _, err := l.read(file, maxSettings); err != nil && !errors.Is(err, errAbsent) {
			l.notes = append(l.notes, fmt.Sprintf("%s cannot be read: whether sudo asks for a password is unknown", l.word(file)))
			continue
		}
		l.lines(file, maxSettings, func(n int, line string) bool {
			who, rule, _ := strings.Cut(strings.TrimSpace(line), " ")
			group, isGroup := strings.CutPrefix(who, "%")
			mine := who == "ALL" || who == user && user != "" || isGroup && slices.Contains(groups, group)
			if mine && strings.Contains(rule, "NOPASSWD:") {
				hits = append(hits, hit{path: file, line: n, detail: "for " + who})
			}
			return true
		})
	}
	return hits
}

// mighty groups own devices or daemons that hand out root.
var mighty = []string{"lxd", "incus-admin", "disk", "libvirt", "shadow"}

func rootGroups(l *look) (hits []hit) {
	_, groups := l.everybody().identity()
	for _, g := range groups {
		if slices.Contains(mighty, g) && l.UID != 0 {
			hits = append(hits, hit{path: filepath.Join(l.at("/etc"), "group"), detail: g, about: g})
		}
	}
	return hits
}
