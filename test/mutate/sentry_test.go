package mutate

import "slices"

// onSentryUnturned are the walls and checks of gVisor that cannot be taken away.
var onSentryUnturned = map[string]string{
	"abstract":      "the sentry has abstract sockets of its own, and none leads to the host",
	"landlock":      "it is missing already",
	"link":          notClaimed,
	"link-end":      notClaimed,
	"nic":           notClaimed,
	"share":         notClaimed,
	"pid":           "the sentry has processes of its own, and none of the host's is among them",
	"wall landlock": "the sentry has none; the one around PID 1 holds nothing that the agent reaches",
	"wall tty":      "the sentry has terminals of its own, and none of the host's",
}

// onSentry are the defences of gVisor. A launch takes longer here, so that defences which
// do not stand on each other are left out together. The walls around the sentry are first: where one of
// them is not there, the launch is refused. What begins with sentry is raised on it.
var onSentry = slices.Concat([]mutation{
	{name: "user", same: true, refuses: true},
	{name: "mount", same: true, refuses: true},
	{name: "pid", same: true, refuses: true},
	{name: "nested", same: true, refuses: true},
	{name: "caps", same: true, refuses: true},
	{name: "no-new-privs", same: true, refuses: true},
	{name: "seccomp", same: true, refuses: true},
	// A host that has a loopback alone is not told from a network of our own by its
	// interfaces; the witness sees it.
	{name: "net", same: true, refuses: true, missing: slices.Concat(gated, []string{"net", "loopback", "udp", "work"})},
	{name: "ipc,uts,cgroup,keyring", same: true, missing: []string{"ipc", "uts", "cgroup", "keyring"}},

	{name: "kernel", same: true, missing: []string{"kernel"}},
	// Another user has no right to what is the person's.
	{name: "sentry-user", missing: []string{"entered"},
		may: []string{"home", "netrc", "xauthority", "gitconfig", "browser", "sockets", "dbus", "workspace", "work", "held", "masked", "git", "undo"}},
	{name: "sentry-bounding", missing: []string{"caps"}},
	{name: "sentry-privileges", same: true, missing: append([]string{"no-new-privs", "keyring", "nested"}, filtered...)},
	{name: "sentry-seccomp", same: true, missing: append([]string{"keyring", "nested"}, filtered...)},
	{name: "sentry-root,sentry-nosuid,sentry-proc,sentry-sys,sentry-devices", same: true, missing: []string{"view", "nosuid", "proc-sys", "tables", "devices"}},
	{name: "sentry-told,dumpable", same: true, missing: []string{"told", "keeper"}},
	{name: "fds", same: true, missing: []string{"fds"}},

	{name: "home", same: true, missing: []string{"home", "netrc", "xauthority", "gitconfig", "browser"}},
	{name: "tmp", same: true, missing: []string{"tmp", "vscode", "browser", "sockets", "workspace", "work"}, may: []string{"xauthority"}},
	{name: "shm", same: true, missing: []string{"shm", "work"}},
	{name: "run", same: true, missing: []string{"runtime", "secrets", "sockets", "dbus"}, may: []string{"vscode"}},
	{name: "etc", same: true, missing: []string{"etc"}},
	{name: "env", same: true, missing: []string{"env", "env-names", "gitconfig"}},
	{name: "review", same: true, missing: []string{"workspace", "held", "masked", "git", "undo"}},
	{name: "masks", same: true, missing: []string{"masked"}},

	{name: "capture", same: true, missing: gated},
	{name: "nftables", same: true, missing: network},
	{name: "refuse", same: true, missing: []string{"udp"}},
	{name: "ports", same: true, missing: []string{"death"}},
}, gateAtOnce)

// gateAtOnce leaves out all that the gate decides by. It is the same on every rung, and native
// has each of them.
var gateAtOnce = []mutation{
	{name: "range,own,literal,lookup,sni,host,proxy,broker,decoy", same: true, missing: []string{"gate-loopback", "gate-own", "gate-embedded",
		"gate-metadata", "gate-private4", "gate-private6", "gate-literal", "gate-name", "gate-tls", "gate-http", "gate-proxy", "gate-broker", "gate-decoy"}},
}
