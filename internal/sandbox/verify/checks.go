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
}

// Checks lists every check.
func Checks() []Check {
	list := slices.Concat(walls(), network(), trees())
	for i := range list {
		list[i].N = i + 1
	}
	return list
}

func walls() []Check {
	return []Check{
		{Name: "entered", Defence: "the sandbox is entered", Mechanism: "user namespace", Wall: plan.WallUser},
		{Name: "no-new-privs", Defence: "no privilege by set-user-ID", Mechanism: "no_new_privs", Wall: plan.WallNoNewPriv},
		{Name: "home", Defence: "HOME of the host is absent", Mechanism: "private HOME", Wall: plan.WallMount},
		{Name: "env", Defence: "environment of the host is absent", Mechanism: "built from nothing"},
		{Name: "env-names", Defence: "secret and loader names not set", Mechanism: "allow-list of names"},
		{Name: "caps", Defence: "no capability in any set", Mechanism: "dropped, secure bits locked", Wall: plan.WallCaps},
		{Name: "pid", Defence: "processes of the host out of reach", Mechanism: "PID namespace", Wall: plan.WallPID},
		{Name: "ipc", Defence: "SysV IPC of the host out of reach", Mechanism: "IPC namespace", Wall: plan.WallIPC},
		{Name: "uts", Defence: "host name is not told", Mechanism: "UTS namespace", Wall: plan.WallUTS},
		{Name: "tty", Defence: "nothing types into a terminal", Mechanism: "own devpts, seccomp: TIOCSTI", Wall: plan.WallTTY},
		{Name: "vscode", Defence: "VS Code IPC bridges are absent", Mechanism: "private /tmp and /run", Wall: plan.WallMount},
		{Name: "runtime", Defence: "user runtime directory is absent", Mechanism: "private /run", Wall: plan.WallMount},
		{Name: "secrets", Defence: "container secrets are absent", Mechanism: "private /run", Wall: plan.WallMount},
		{Name: "netrc", Defence: "netrc is absent", Mechanism: "private HOME", Wall: plan.WallMount},
		{Name: "xauthority", Defence: "X authority and sockets are absent", Mechanism: "private HOME and /tmp", Wall: plan.WallMount},
		{Name: "gitconfig", Defence: "git config is curated", Mechanism: "GIT_CONFIG_GLOBAL, read-only"},
		{Name: "browser", Defence: "browser and extension RPC absent", Mechanism: "private HOME and /tmp", Wall: plan.WallMount},
		{Name: "view", Defence: "files of the host are absent", Mechanism: "mount namespace, empty root", Wall: plan.WallMount},
		{Name: "nosuid", Defence: "set-user-ID bits are inert", Mechanism: "nosuid on every mount", Wall: plan.WallMount},
		{Name: "etc", Defence: "/etc does not name host or users", Mechanism: "synthetic /etc", Wall: plan.WallMount},
		{Name: "tmp", Defence: "/tmp, /var/tmp of the host absent", Mechanism: "private tmpfs", Wall: plan.WallMount},
		{Name: "shm", Defence: "/dev/shm of the host is absent", Mechanism: "private tmpfs", Wall: plan.WallMount},
		{Name: "devices", Defence: "devices are the minimal few", Mechanism: "own /dev", Wall: plan.WallMount},
		{Name: "tables", Defence: "kernel tables are not told", Mechanism: "no /sys, masks in /proc", Wall: plan.WallMount},
		{Name: "proc-sys", Defence: "kernel settings cannot be written", Mechanism: "read-only /proc", Wall: plan.WallMount},
		{Name: "told", Defence: "/proc/1 tells no secret", Mechanism: "clean argv and environ", Wall: plan.WallPID},
		{Name: "keeper", Defence: "the supervisor is out of reach", Mechanism: "PID 1 not dumpable"},
		{Name: "fds", Defence: "no inherited descriptor", Mechanism: "close_range"},
		{Name: "keyring", Defence: "session keyring is out of reach", Mechanism: "fresh keyring, seccomp", Wall: plan.WallKeyring},
		{Name: "nested", Defence: "no nested user namespace", Mechanism: "count 0, seccomp", Wall: plan.WallNested},
		{Name: "landlock", Defence: "writing is limited a second time", Mechanism: "Landlock", Wall: plan.WallLandlock},
		{Name: "seccomp", Defence: "dangerous calls are refused", Mechanism: "seccomp filter", Wall: plan.WallSeccomp},
		{Name: "mount-calls", Defence: "the view cannot be rebuilt", Mechanism: "seccomp: mount family", Wall: plan.WallSeccomp},
		{Name: "families", Defence: "no netlink, packet, vsock sockets", Mechanism: "seccomp: socket families", Wall: plan.WallSeccomp},
		{Name: "net", Defence: "no network interface of the host", Mechanism: "network namespace", Wall: plan.WallNet},
		{Name: "loopback", Defence: "loopback of the host out of reach", Mechanism: "network namespace", Wall: plan.WallNet},
		{Name: "abstract", Defence: "abstract sockets out of reach", Mechanism: "network ns, Landlock scope", Wall: plan.WallNet},
		{Name: "sockets", Defence: "agent and engine sockets absent", Mechanism: "private /tmp and /run", Wall: plan.WallMount},
		{Name: "dbus", Defence: "D-Bus is absent", Mechanism: "private /run", Wall: plan.WallMount},
		{Name: "cgroup", Defence: "cgroups of the host are unseen", Mechanism: "cgroup namespace, no /sys", Wall: plan.WallCgroup},
		{Name: "workspace", Defence: "the workspace alone is shared", Mechanism: "one writable bind", Wall: plan.WallMount},
		{Name: "work", Defence: "work is possible", Mechanism: "own loopback, files, pty"},
	}
}

// trees is what the host and the agent both have before them.
func trees() []Check {
	return []Check{
		{Name: "held", Defence: "what runs unasked is held back", Mechanism: "keeper, private layer"},
		{Name: "masked", Defence: "secrets in the workspace are masked", Mechanism: "phantoms over the files"},
		{Name: "git", Defence: "host git runs nothing of the session", Mechanism: "one model of git directories"},
		{Name: "undo", Defence: "undo loses nothing", Mechanism: "undo store, told before"},
	}
}

// network is what the gate and the namespace around it hold. Without the network
// wall there is nothing for them to stand on.
func network() []Check {
	list := []Check{
		{Name: "gate-loopback", Defence: "no name leads to host loopback", Mechanism: "gate: ranges, own addresses"},
		{Name: "gate-own", Defence: "no name leads to the host itself", Mechanism: "gate: the kernel's routes"},
		{Name: "gate-embedded", Defence: "IPv4 within IPv6 is out of reach", Mechanism: "gate: table of ranges"},
		{Name: "gate-metadata", Defence: "cloud metadata is out of reach", Mechanism: "gate: table of ranges"},
		{Name: "gate-private4", Defence: "private IPv4 is out of reach", Mechanism: "gate: table of ranges"},
		{Name: "gate-private6", Defence: "private IPv6 is out of reach", Mechanism: "gate: table of ranges"},
		{Name: "gate-literal", Defence: "addresses without a name are refused", Mechanism: "gate: judged by name"},
		{Name: "gate-name", Defence: "a denied name is never looked up", Mechanism: "gate: decide, then resolve"},
		{Name: "gate-tls", Defence: "TLS for another server is refused", Mechanism: "gate: ClientHello"},
		{Name: "gate-http", Defence: "HTTP for another host is refused", Mechanism: "gate: Host of every request"},
		{Name: "gate-proxy", Defence: "the proxy endpoint decides the same", Mechanism: "gate: one decision for all"},
		{Name: "udp", Defence: "UDP is refused at once", Mechanism: "nftables"},
		{Name: "raw", Defence: "no raw and no packet sockets", Mechanism: "seccomp, no capability", Wall: plan.WallSeccomp},
		{Name: "routes", Defence: "addresses and routes stay the same", Mechanism: "no capability", Wall: plan.WallCaps},
		{Name: "rules", Defence: "packet rules stay the same", Mechanism: "seccomp, no capability", Wall: plan.WallSeccomp},
		{Name: "control", Defence: "the control socket is out of reach", Mechanism: "network ns, Landlock scope"},
		{Name: "reach", Defence: "an allowed name is reached", Mechanism: "capture and gate"},
		{Name: "death", Defence: "the network ends with its gate", Mechanism: "the gate alone listens"},
		{Name: "gate-broker", Defence: "a brokered host is the broker's", Mechanism: "gate: hands over"},
		{Name: "gate-decoy", Defence: "a decoy does not leave", Mechanism: "gate: searches plain bytes"},
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
