package mutate

import "slices"

// mutation is one defence left out, by the name that the test build knows, and the
// checks that must then be missing.
type mutation struct {
	name    string
	missing []string
	asRoot  []string // besides, for uid 0
	public  []string // besides, where the host has a public address of its own
	may     []string // where another wall, or this host, decides
	refused bool     // an ordinary user cannot start such a sandbox at all
	// The rung itself refuses to start it. Where missing has checks, a host may be on which
	// it starts, and they turn.
	refuses bool
	same    bool // the code that is left out asks nothing about who runs it
}

var (
	filtered = []string{"tty", "seccomp", "mount-calls", "families", "raw"}
	files    = []string{"home", "vscode", "runtime", "secrets", "netrc", "xauthority", "gitconfig", "browser", "view", "nosuid", "etc",
		"tmp", "shm", "devices", "tables", "proc-sys", "sockets", "dbus", "workspace", "held", "masked", "git", "undo"}
	// What the gate must be asked about before it can be seen to refuse.
	gated = []string{"gate-loopback", "gate-own", "gate-embedded", "gate-metadata", "gate-private4", "gate-private6", "gate-name",
		"reach", "death"}
	// In the network of the host nothing is tried.
	network = slices.Concat(gated, []string{"control", "gate-literal", "gate-tls", "gate-http", "gate-proxy", "gate-broker", "gate-decoy", "udp", "raw", "routes", "rules"})
)

var mutations = []mutation{
	{name: "keeper", missing: []string{"held", "git", "undo"}},
	{name: "masks", missing: []string{"masked"}},
	// At the end everything is applied that waits, whatever git would do with it.
	{name: "judge", same: true, missing: []string{"held", "git"}},
	// The store is not told of what goes; undo takes objects for files of the session, or
	// what somebody did since for the session's.
	{name: "store", same: true, missing: []string{"undo"}},
	{name: "objects", same: true, missing: []string{"undo"}},
	{name: "late", same: true, missing: []string{"undo"}},
	// Without it root can still make the other namespaces; the count of nested
	// ones would then be the host's, so that goes along.
	{name: "user", missing: []string{"entered", "nested"}, may: []string{"held"}, refused: true},
	// The old /proc and the terminals come with the host's mounts, and there is no
	// directory of our own for Landlock to protect.
	{name: "mount", missing: slices.Concat(files, []string{"tty", "pid", "told", "keeper", "landlock", "cgroup", "work"})},
	// A fresh /proc cannot be mounted, so the host's is there, unmasked.
	{name: "pid", missing: []string{"pid", "told", "keeper", "tables"}},
	{name: "ipc", missing: []string{"ipc"}},
	{name: "uts", missing: []string{"uts"}},
	// Landlock keeps abstract sockets shut where the kernel has its scopes.
	{name: "net", missing: slices.Concat(network, []string{"net", "loopback", "work"}), may: []string{"abstract"}},
	{name: "net,landlock", missing: slices.Concat(network, []string{"net", "loopback", "work", "abstract", "landlock"})},
	{name: "cgroup", missing: []string{"cgroup"}},
	{name: "keyring", missing: []string{"keyring"}},
	{name: "nested", missing: []string{"nested"}},
	// With all capabilities of the namespace root reads a process that is not
	// dumpable; an ordinary user keeps only those of the set-up.
	{name: "caps", missing: []string{"caps", "routes"}, asRoot: []string{"keeper"}},
	// The filter alone keeps the packet rules, and so does the lack of capabilities.
	{name: "caps,seccomp", missing: slices.Concat(filtered, []string{"caps", "routes", "rules"}), asRoot: []string{"keeper"}},
	// Landlock and seccomp demand it, so they go along.
	{name: "no-new-privs", missing: slices.Concat(filtered, []string{"no-new-privs", "landlock", "held", "git", "undo"})},
	{name: "landlock", missing: []string{"landlock"}},
	{name: "seccomp", missing: filtered},
	// The host's devpts may not let us open its multiplexer.
	{name: "tty", missing: []string{"tty"}, may: []string{"work"}},
	{name: "etc", same: true, missing: []string{"etc"}},
	{name: "env", same: true, missing: []string{"env", "env-names", "gitconfig"}},
	{name: "fds", same: true, missing: []string{"fds"}},
	{name: "home", missing: []string{"home", "netrc", "xauthority", "gitconfig", "browser"}},
	{name: "tmp", missing: []string{"tmp", "vscode", "browser", "sockets", "workspace", "work"}, may: []string{"xauthority"}},
	{name: "shm", missing: []string{"shm", "work"}},
	{name: "run", missing: []string{"runtime", "secrets", "sockets", "dbus"}, may: []string{"vscode"}},
	{name: "dumpable", missing: []string{"keeper"}},
	{name: "gitconfig", same: true, missing: []string{"gitconfig"}},
	// A network that is not captured goes nowhere: what the gate holds is not proved. The
	// control of a session is there without a gate, and out of reach.
	{name: "capture", same: true, missing: gated},
	// A kernel without nftables: the walls hold, the network is refused.
	{name: "nftables", same: true, missing: network},
	{name: "refuse", same: true, missing: []string{"udp"}},
	// Loopback and the host's own addresses are refused for being the host's, too.
	{name: "range", same: true, missing: []string{"gate-embedded", "gate-metadata", "gate-private4", "gate-private6"}},
	// What the host has may be private addresses alone, which the table knows.
	{name: "own", same: true, public: []string{"gate-own"}},
	{name: "range,own", same: true, missing: []string{"gate-loopback", "gate-own", "gate-embedded", "gate-metadata", "gate-private4", "gate-private6"}},
	{name: "literal", same: true, missing: []string{"gate-literal", "gate-proxy"}},
	// A brokered host is not looked up either before the broker asks.
	{name: "lookup", same: true, missing: []string{"gate-name", "gate-broker"}},
	{name: "sni", same: true, missing: []string{"gate-tls"}},
	{name: "host", same: true, missing: []string{"gate-http"}},
	{name: "proxy", same: true, missing: []string{"gate-proxy"}},
	{name: "broker", same: true, missing: []string{"gate-broker"}},
	{name: "decoy", same: true, missing: []string{"gate-decoy"}},
	// Somebody else holds the sockets when the gate is gone.
	{name: "ports", same: true, missing: []string{"death"}},
}
