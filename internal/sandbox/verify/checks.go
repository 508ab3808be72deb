package verify

import (
	"slices"

	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// Check is a numbered proof that one defence holds. The numbers are for people to
// cite and do not change; a new check gets a new one.
type Check struct {
	N         int
	Name      string // of its probe
	Defence   string
	Mechanism string
	Wall      plan.Wall // "" where policy cannot waive it
	Net       bool      // proved in a sandbox whose gate leads to canaries
	Gate      bool      // and not without a gate
	// Some holds for a check that only some rungs claim. All others are every rung's,
	// whatever one says of itself.
	Some bool
}

// Checks lists every check.
func Checks() []Check {
	return slices.Concat(walls(), network(), trees(), places(), machines())
}

func walls() []Check {
	return []Check{
		{N: 1, Name: "entered", Defence: "the sandbox is entered", Mechanism: "user namespace", Wall: plan.WallUser},
		{N: 2, Name: "no-new-privs", Defence: "no privilege by set-user-ID", Mechanism: "no_new_privs", Wall: plan.WallNoNewPriv},
		{N: 3, Name: "home", Defence: "HOME of the host is absent", Mechanism: "private HOME", Wall: plan.WallMount},
		{N: 4, Name: "env", Defence: "environment of the host is absent", Mechanism: "built from nothing"},
		{N: 5, Name: "env-names", Defence: "secret and loader names not set", Mechanism: "allow-list of names"},
		{N: 6, Name: "caps", Defence: "no capability in any set", Mechanism: "dropped, secure bits locked", Wall: plan.WallCaps},
		{N: 7, Name: "pid", Defence: "processes of the host out of reach", Mechanism: "PID namespace", Wall: plan.WallPID},
		{N: 8, Name: "ipc", Defence: "SysV IPC of the host out of reach", Mechanism: "IPC namespace", Wall: plan.WallIPC},
		{N: 9, Name: "uts", Defence: "host name is not told", Mechanism: "UTS namespace", Wall: plan.WallUTS},
		{N: 10, Name: "tty", Defence: "nothing types into a terminal", Mechanism: "own devpts, seccomp: TIOCSTI", Wall: plan.WallTTY},
		{N: 11, Name: "vscode", Defence: "VS Code IPC bridges are absent", Mechanism: "private /tmp and /run", Wall: plan.WallMount},
		{N: 12, Name: "runtime", Defence: "user runtime directory is absent", Mechanism: "private /run", Wall: plan.WallMount},
		{N: 13, Name: "secrets", Defence: "container secrets are absent", Mechanism: "private /run", Wall: plan.WallMount},
		{N: 14, Name: "netrc", Defence: "netrc is absent", Mechanism: "private HOME", Wall: plan.WallMount},
		{N: 15, Name: "xauthority", Defence: "X authority and sockets are absent", Mechanism: "private HOME and /tmp", Wall: plan.WallMount},
		{N: 16, Name: "gitconfig", Defence: "git config is curated", Mechanism: "GIT_CONFIG_GLOBAL, read-only"},
		{N: 17, Name: "browser", Defence: "browser and extension RPC absent", Mechanism: "private HOME and /tmp", Wall: plan.WallMount},
		{N: 18, Name: "view", Defence: "files of the host are absent", Mechanism: "mount namespace, empty root", Wall: plan.WallMount},
		{N: 19, Name: "nosuid", Defence: "set-user-ID bits are inert", Mechanism: "nosuid on every mount", Wall: plan.WallMount},
		{N: 20, Name: "etc", Defence: "/etc does not name host or users", Mechanism: "synthetic /etc", Wall: plan.WallMount},
		{N: 21, Name: "tmp", Defence: "/tmp, /var/tmp of the host absent", Mechanism: "private tmpfs", Wall: plan.WallMount},
		{N: 22, Name: "shm", Defence: "/dev/shm of the host is absent", Mechanism: "private tmpfs", Wall: plan.WallMount},
		{N: 23, Name: "devices", Defence: "devices are the minimal few", Mechanism: "own /dev", Wall: plan.WallMount},
		{N: 24, Name: "tables", Defence: "kernel tables are not told", Mechanism: "no /sys, masks in /proc", Wall: plan.WallMount},
		{N: 25, Name: "proc-sys", Defence: "kernel settings cannot be written", Mechanism: "read-only /proc", Wall: plan.WallMount},
		{N: 26, Name: "told", Defence: "/proc/1 tells no secret", Mechanism: "clean argv and environ", Wall: plan.WallPID},
		{N: 27, Name: "keeper", Defence: "the supervisor is out of reach", Mechanism: "PID 1 not dumpable"},
		{N: 28, Name: "fds", Defence: "no inherited descriptor", Mechanism: "close_range"},
		{N: 29, Name: "keyring", Defence: "session keyring is out of reach", Mechanism: "fresh keyring, seccomp", Wall: plan.WallKeyring},
		{N: 30, Name: "nested", Defence: "no nested user namespace", Mechanism: "count 0, seccomp", Wall: plan.WallNested},
		{N: 31, Name: "landlock", Defence: "writing is limited a second time", Mechanism: "Landlock", Wall: plan.WallLandlock},
		{N: 32, Name: "seccomp", Defence: "dangerous calls are refused", Mechanism: "seccomp filter", Wall: plan.WallSeccomp},
		{N: 33, Name: "mount-calls", Defence: "the view cannot be rebuilt", Mechanism: "seccomp: mount family", Wall: plan.WallSeccomp},
		{N: 34, Name: "families", Defence: "no netlink, packet, vsock sockets", Mechanism: "seccomp: socket families", Wall: plan.WallSeccomp},
		{N: 35, Name: "net", Defence: "no network interface of the host", Mechanism: "network namespace", Wall: plan.WallNet},
		{N: 36, Name: "loopback", Defence: "loopback of the host out of reach", Mechanism: "network namespace", Wall: plan.WallNet},
		{N: 37, Name: "abstract", Defence: "abstract sockets out of reach", Mechanism: "network ns, Landlock scope", Wall: plan.WallNet},
		{N: 38, Name: "sockets", Defence: "agent and engine sockets absent", Mechanism: "private /tmp and /run", Wall: plan.WallMount},
		{N: 39, Name: "dbus", Defence: "D-Bus is absent", Mechanism: "private /run", Wall: plan.WallMount},
		{N: 40, Name: "cgroup", Defence: "cgroups of the host are unseen", Mechanism: "cgroup namespace, no /sys", Wall: plan.WallCgroup},
		{N: 41, Name: "workspace", Defence: "the workspace alone is shared", Mechanism: "one writable bind", Wall: plan.WallMount},
		{N: 42, Name: "work", Defence: "work is possible", Mechanism: "own loopback, files, pty"},
	}
}

// trees is what the host and the agent both have before them.
func trees() []Check {
	return []Check{
		{N: 63, Name: "held", Defence: "what runs unasked is held back", Mechanism: "keeper, private layer"},
		{N: 64, Name: "masked", Defence: "secrets in the workspace are masked", Mechanism: "phantoms over the files"},
		{N: 65, Name: "git", Defence: "host git runs nothing of the session", Mechanism: "one model of git directories"},
		{N: 66, Name: "undo", Defence: "undo loses nothing", Mechanism: "undo store, told before"},
	}
}

// places is what a rung may have beyond the walls.
func places() []Check {
	return []Check{
		{N: 67, Name: "kernel", Defence: "the kernel is not the host's", Mechanism: "a kernel of the rung's own", Some: true},
		{N: 68, Name: "link", Defence: "a link carries what the gate allows", Mechanism: "strict frames, the gate here", Gate: true, Some: true},
		{N: 69, Name: "link-end", Defence: "no network without its link", Mechanism: "streams end with the link", Gate: true, Some: true},
	}
}

// network is what the gate and the namespace around it hold. Without the network
// wall there is nothing for them to stand on.
func network() []Check {
	list := []Check{
		{N: 43, Name: "gate-loopback", Defence: "no name leads to host loopback", Mechanism: "gate: ranges, own addresses"},
		{N: 44, Name: "gate-own", Defence: "no name leads to the host itself", Mechanism: "gate: the kernel's routes"},
		{N: 45, Name: "gate-embedded", Defence: "IPv4 within IPv6 is out of reach", Mechanism: "gate: table of ranges"},
		{N: 46, Name: "gate-metadata", Defence: "cloud metadata is out of reach", Mechanism: "gate: table of ranges"},
		{N: 47, Name: "gate-private4", Defence: "private IPv4 is out of reach", Mechanism: "gate: table of ranges"},
		{N: 48, Name: "gate-private6", Defence: "private IPv6 is out of reach", Mechanism: "gate: table of ranges"},
		{N: 49, Name: "gate-literal", Defence: "addresses without a name are refused", Mechanism: "gate: judged by name"},
		{N: 50, Name: "gate-name", Defence: "a denied name is never looked up", Mechanism: "gate: decide, then resolve"},
		{N: 51, Name: "gate-tls", Defence: "TLS for another server is refused", Mechanism: "gate: ClientHello"},
		{N: 52, Name: "gate-http", Defence: "HTTP for another host is refused", Mechanism: "gate: Host of every request"},
		{N: 53, Name: "gate-proxy", Defence: "the proxy endpoint decides the same", Mechanism: "gate: one decision for all"},
		{N: 54, Name: "udp", Defence: "UDP is refused at once", Mechanism: "nftables"},
		{N: 55, Name: "raw", Defence: "no raw and no packet sockets", Mechanism: "seccomp, no capability", Wall: plan.WallSeccomp},
		{N: 56, Name: "routes", Defence: "addresses and routes stay the same", Mechanism: "no capability", Wall: plan.WallCaps},
		{N: 57, Name: "rules", Defence: "packet rules stay the same", Mechanism: "seccomp, no capability", Wall: plan.WallSeccomp},
		{N: 58, Name: "control", Defence: "the control socket is out of reach", Mechanism: "network ns, Landlock scope"},
		{N: 59, Name: "reach", Defence: "an allowed name is reached", Mechanism: "capture and gate"},
		{N: 60, Name: "death", Defence: "the network ends with its gate", Mechanism: "the gate alone listens"},
		{N: 61, Name: "gate-broker", Defence: "a brokered host is the broker's", Mechanism: "gate: hands over"},
		{N: 62, Name: "gate-decoy", Defence: "a decoy does not leave", Mechanism: "gate: searches plain bytes"},
	}
	for i := range list {
		c := &list[i]
		if c.Net = true; c.Wall == "" {
			c.Wall = plan.WallNet
		}
		c.Gate = !slices.Contains([]string{"udp", "raw", "routes", "rules"}, c.Name)
	}
	return list
}
