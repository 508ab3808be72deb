package mutate

import "slices"

// mutation is one defence left out, by the name that the test build knows, and the
// checks that must then be missing.
type mutation struct {
	name    string
	missing []string
	asRoot  []string // besides, for uid 0
	may     []string // where another wall, or this host, decides
	refused bool     // an ordinary user cannot start such a sandbox at all
}

var (
	filtered = []string{"tty", "seccomp", "mount-calls", "families"}
	files    = []string{"home", "vscode", "runtime", "secrets", "netrc", "xauthority", "gitconfig", "browser", "view", "nosuid", "etc",
		"tmp", "shm", "devices", "tables", "proc-sys", "sockets", "dbus", "workspace"}
)

var mutations = []mutation{
	// Without it root can still make the other namespaces; the count of nested
	// ones would then be the host's, so that goes along.
	{name: "user", missing: []string{"entered", "nested"}, refused: true},
	// The old /proc and the terminals come with the host's mounts, and there is no
	// directory of our own for Landlock to protect.
	{name: "mount", missing: slices.Concat(files, []string{"tty", "pid", "told", "keeper", "landlock", "cgroup", "work"})},
	// A fresh /proc cannot be mounted, so the host's is there, unmasked.
	{name: "pid", missing: []string{"pid", "told", "keeper", "tables"}},
	{name: "ipc", missing: []string{"ipc"}},
	{name: "uts", missing: []string{"uts"}},
	// Landlock keeps abstract sockets shut where the kernel has its scopes.
	{name: "net", missing: []string{"net", "loopback", "work"}, may: []string{"abstract"}},
	{name: "net,landlock", missing: []string{"net", "loopback", "work", "abstract", "landlock"}},
	{name: "cgroup", missing: []string{"cgroup"}},
	{name: "keyring", missing: []string{"keyring"}},
	{name: "nested", missing: []string{"nested"}},
	// With all capabilities of the namespace root reads a process that is not
	// dumpable; an ordinary user keeps only those of the set-up.
	{name: "caps", missing: []string{"caps"}, asRoot: []string{"keeper"}},
	// Landlock and seccomp demand it, so they go along.
	{name: "no-new-privs", missing: slices.Concat(filtered, []string{"no-new-privs", "landlock"})},
	{name: "landlock", missing: []string{"landlock"}},
	{name: "seccomp", missing: filtered},
	// The host's devpts may not let us open its multiplexer.
	{name: "tty", missing: []string{"tty"}, may: []string{"work"}},
	{name: "env", missing: []string{"env", "env-names", "gitconfig"}},
	{name: "fds", missing: []string{"fds"}},
	{name: "home", missing: []string{"home", "netrc", "xauthority", "gitconfig", "browser"}},
	{name: "tmp", missing: []string{"tmp", "vscode", "browser", "sockets", "workspace", "work"}, may: []string{"xauthority"}},
	{name: "shm", missing: []string{"shm", "work"}},
	{name: "run", missing: []string{"runtime", "secrets", "sockets", "dbus"}, may: []string{"vscode"}},
	{name: "dumpable", missing: []string{"keeper"}},
	{name: "gitconfig", missing: []string{"gitconfig"}},
}
