package policy

import "slices"

// form is the shape of a key's value.
type form int

const (
	formList  form = iota // ["a", "b"]
	formPorts             // [1, 2]
	formPairs             // [1, "2:3"]
	formTable             // NAME = "value"
	formWord              // one string
	formCount             // an integer
	formSize              // bytes: an integer, or a string with a unit
	formArgs              // a list in which a value may stand twice
	formFlag              // true or false
)

func (f form) String() string {
	return [...]string{"a list of strings", "a list of port numbers", `a list of port numbers or pairs such as "8080:3000"`,
		"a table of strings", "a string", "an integer", `an integer or a size such as "2GiB"`,
		"a list of strings", "true or false"}[f]
}

// key is one key of the file. The table below is the only place that knows the
// keys: the decoder, the printer and the schema all walk it.
type key struct {
	section, name string
	form          form
	about         string
	check         func(string) error  // of one value
	pattern       string              // what a schema can say of check
	words         func() []string     // the only values, unless nil
	same          func(string) string // what two values or names may not share; the text if nil
	most          int                 // values of a list; 0: as many as a file may hold
	zero          bool                // of a limit: it may be 0
	list          func(*Policy) *List
	limit         func(*Policy) **Limit
	word          func(*Policy) **Rule
	flag          func(*Policy) **Flag
	table         *table
}

// table is what a key that is a table has besides.
type table struct {
	at      func(*Policy) *[]Setting
	check   func(string) error // of a name
	pattern string
	quoted  bool // names are printed in quotes
}

// known lists the only values of k, if there are such.
func (k *key) known() []string {
	if k.words == nil {
		return nil
	}
	return k.words()
}

func (k *key) String() string { return "[" + k.section + "] " + k.name }

const (
	patternPath = `^(/|~/)[^*?\[]*$`
	patternMask = `^[^*?\[]+$`
	patternName = `^[A-Za-z_][A-Za-z0-9_]*$`

	patternHost   = `^([A-Z]+(,[A-Z]+)* )?((https|http|tcp)://)?(\*\.)?[^*/:\s]+(:[0-9]{1,5})?(/\S*)?$`
	patternDeny   = `^((\*\.)?[^*/:\s]+(:[0-9]{1,5})?|[0-9./:]+|\[[0-9a-fA-F:./]+\](:[0-9]{1,5})?|[0-9a-fA-F:]+(/[0-9]+)?)$`
	patternIP     = `^(\[[0-9A-Fa-f:.]+(/[0-9]+)?\]|[0-9.]+(/[0-9]+)?):[0-9]{1,5}$`
	patternPair   = `^[0-9]{1,5}:[0-9]{1,5}$`
	patternProxy  = `^(none|env|(https?|socks5h?)://[^/@\s]+:[0-9]{1,5})$`
	patternBudget = `^(\*\.)?[^*/:\s]+$`
	patternBytes  = `^[0-9]+([KMG]i?B)?$`
)

var keys = []key{
	{section: "workspace", name: "paths", form: formList, check: checkWorkspace, pattern: patternPath,
		about: "Directories that are workspaces too, besides the one that the session starts in: PATH, or PATH:ro for read-only.",
		list:  func(p *Policy) *List { return &p.Workspace.Paths }},
	{section: "workspace", name: "view", form: formWord, words: func() []string { return views },
		about: "How changes reach the host: at once (live), or after you apply them (review).",
		word:  func(p *Policy) **Rule { return &p.Workspace.View }},
	{section: "workspace", name: "mask", form: formList, check: checkGlob, pattern: patternGlob, most: maxGlobs,
		about: "More files of secrets. The agent sees phantom values in them. NAME matches in every directory, a path begins at the top of a workspace; * and ** are wildcards.",
		list:  func(p *Policy) *List { return &p.Workspace.Mask }},
	{section: "workspace", name: "reveal", form: formList, check: checkReveal, pattern: patternReveal, most: maxGlobs,
		about: "Files that the agent sees unchanged, even if another rule masks them: a path from the top of a workspace, /PATH or ~/PATH; * and ** are wildcards.",
		list:  func(p *Policy) *List { return &p.Workspace.Reveal }},
	{section: "workspace", name: "undo", form: formSize, zero: true,
		about: "Most bytes that one session saves for undo; 0 saves nothing.",
		limit: func(p *Policy) **Limit { return &p.Workspace.Undo }},
	{section: "workspace", name: "undo-file", form: formSize, zero: true,
		about: "Largest file that is saved for undo; 0 saves none.",
		limit: func(p *Policy) **Limit { return &p.Workspace.UndoFile }},
	{section: "workspace", name: "undo-total", form: formSize,
		about: "Most bytes that all sessions together save for undo. The oldest are deleted first. Changes that wait for review are never deleted.",
		limit: func(p *Policy) **Limit { return &p.Workspace.UndoTotal }},

	{section: "files", name: "read", form: formList, check: checkPath, pattern: patternPath,
		about: "Paths that the agent can read. Below a writable path, they become read-only.",
		list:  func(p *Policy) *List { return &p.Files.Read }},
	{section: "files", name: "write", form: formList, check: checkPath, pattern: patternPath,
		about: "Paths that the agent can read and write.",
		list:  func(p *Policy) *List { return &p.Files.Write }},
	{section: "files", name: "mask", form: formList, check: checkMask, pattern: patternMask,
		about: "Paths that are hidden, even if another rule allows them. A relative path is hidden in every workspace.",
		list:  func(p *Policy) *List { return &p.Files.Mask }},
	{section: "files", name: "expose", form: formList, check: checkPath, pattern: patternPath,
		about: "Known credentials that the agent may see. Without this they are refused.",
		list:  func(p *Policy) *List { return &p.Files.Expose }},

	{section: "env", name: "pass", form: formList, check: checkName, pattern: patternName,
		about: "Variables that the agent gets from your environment.",
		list:  func(p *Policy) *List { return &p.Env.Pass }},
	{section: "env", name: "force", form: formList, check: checkName, pattern: patternName,
		about: "Variables that the agent gets although ringfence refuses their names (loaders, secrets).",
		list:  func(p *Policy) *List { return &p.Env.Force }},
	{section: "env", name: "set", form: formTable, check: checkText,
		about: "Variables that are set to a value that you write here.",
		table: &table{at: func(p *Policy) *[]Setting { return &p.Env.Set }, check: checkName, pattern: patternName}},

	{section: "network", name: "mode", form: formWord, words: func() []string { return modes },
		about: "Which hosts can be reached: none, the agent's own API, those that development needs, or every public host.",
		word:  func(p *Policy) **Rule { return &p.Network.Mode }},
	{section: "network", name: "groups", form: formList, check: checkSwitch, words: switches, same: switched,
		about: "Groups of hosts that are added to the mode (+NAME) or removed from it (-NAME).",
		list:  func(p *Policy) *List { return &p.Network.Groups }},
	{section: "network", name: "allow", form: formList, check: checkHost, pattern: patternHost,
		about: "Hosts that can be reached: NAME, *.NAME, NAME:PORT, tcp://NAME:PORT, or METHOD http://NAME/PATH/*.",
		list:  func(p *Policy) *List { return &p.Network.Allow }},
	{section: "network", name: "deny", form: formList, check: checkDeny, pattern: patternDeny,
		about: "Hosts that cannot be reached, even if another rule allows them: NAME, *.NAME, an address or a range such as 203.0.113.0/24, for every port; or with :PORT, IPv6 in brackets.",
		list:  func(p *Policy) *List { return &p.Network.Deny }},
	{section: "network", name: "ip", form: formList, check: checkIP, pattern: patternIP,
		about: "Addresses that can be reached, also internal ones: ADDRESS:PORT or RANGE:PORT, IPv6 in brackets.",
		list:  func(p *Policy) *List { return &p.Network.IP }},
	{section: "network", name: "publish", form: formPairs, check: checkPublish, pattern: patternPair,
		about: "Ports of servers inside that you can reach on the host's loopback: PORT, or \"HOST:INSIDE\" if the numbers differ.",
		list:  func(p *Policy) *List { return &p.Network.Publish }},
	{section: "network", name: "host-ports", form: formPorts, check: checkPort,
		about: "Ports of the host's loopback that the agent can reach, at the same number.",
		list:  func(p *Policy) *List { return &p.Network.HostPorts }},
	{section: "network", name: "proxy", form: formWord, check: checkProxy, pattern: patternProxy,
		about: "Upstream proxy for connections from the host: none, env (your proxy variables), http://HOST:PORT, https://HOST:PORT or socks5h://HOST:PORT. It looks up the names that a rule allows.",
		word:  func(p *Policy) **Rule { return &p.Network.Proxy }},
	{section: "network", name: "budget", form: formTable, check: checkBytes, pattern: patternBytes, same: plainHost,
		about: "Most bytes that a session sends to each host of a name. If several match, the lowest counts.",
		table: &table{at: func(p *Policy) *[]Setting { return &p.Network.Budget }, check: checkBudget, pattern: patternBudget, quoted: true}},

	{section: "limits", name: "pids", form: formCount, about: "Most processes and threads of the whole session.",
		limit: func(p *Policy) **Limit { return &p.Limits.Pids }},
	{section: "limits", name: "memory", form: formSize, about: "Most memory that the whole session uses.",
		limit: func(p *Policy) **Limit { return &p.Limits.Memory }},
	{section: "limits", name: "memory-share", form: formCount,
		about: "Most memory that a session uses, in percent of the machine's. It counts if `memory` is not set and the host can enforce a limit.",
		limit: func(p *Policy) **Limit { return &p.Limits.Share }},
	{section: "limits", name: "tmp", form: formSize, about: "Size of /tmp.",
		limit: func(p *Policy) **Limit { return &p.Limits.Tmp }},
	{section: "limits", name: "home", form: formSize, about: "Size of the private HOME. What a project saves there does not count.",
		limit: func(p *Policy) **Limit { return &p.Limits.Home }},
	{section: "limits", name: "shm", form: formSize, about: "Size of /dev/shm.",
		limit: func(p *Policy) **Limit { return &p.Limits.Shm }},
	{section: "limits", name: "open", form: formCount, about: "Most open files of one process.",
		limit: func(p *Policy) **Limit { return &p.Limits.Open }},

	{section: "rung", name: "use", form: formWord, words: RungNames,
		about: "Where the walls stand. A rung that cannot be had here refuses the launch: no other is taken instead.",
		word:  func(p *Policy) **Rule { return &p.Rung.Use }},
	{section: "rung", name: "engine", form: formWord, check: checkProgram, pattern: `^/`,
		about: "The socket of the container engine; not written: the one of DOCKER_HOST, else the usual one. A project has no say.",
		word:  func(p *Policy) **Rule { return &p.Rung.Engine }},
	{section: "rung", name: "container", form: formWord, words: func() []string { return []string{UsualContainer, ConfinedContainer} },
		about: "How a container is asked for: `usual`, or `confined` where the engine must keep its own seccomp profile and covers of /proc. Then some walls are missing. A project has no say.",
		word:  func(p *Policy) **Rule { return &p.Rung.Container }},
	{section: "rung", name: "image", form: formWord, check: CheckImage,
		about: "The image of which a container has its programs, `NAME` or `NAME@sha256:DIGEST`; not written: it has this machine's. It is never fetched. A project names it after trust, where nobody else does.",
		word:  func(p *Policy) **Rule { return &p.Rung.Image }},
	{section: "rung", name: "runsc", form: formWord, check: checkProgram, pattern: `^/`,
		about: "The program of gVisor; not written: `runsc` in a directory of root's on PATH. Others must not be able to change it. A project has no say.",
		word:  func(p *Policy) **Rule { return &p.Rung.Runsc }},
	{section: "rung", name: "runsc-sha256", form: formWord, check: checkSum, pattern: `^[0-9a-f]{64}$`,
		about: "The SHA-256 that this program must have. A project has no say.",
		word:  func(p *Policy) **Rule { return &p.Rung.RunscSum }},
	{section: "rung", name: "gvisor-network", form: formWord, words: func() []string { return []string{"own", HostNetwork} },
		about: "Whose network stack the agent has on gVisor: gVisor's `own`, or the `host`'s in the sandbox's network, which an agent can attack. Not written: own. A project has no say.",
		word:  func(p *Policy) **Rule { return &p.Rung.Network }},
	{section: "rung", name: "qemu", form: formWord, check: checkProgram, pattern: `^/`,
		about: "The emulator of virtual machines; not written: `qemu-system-x86_64` in a directory of root's on PATH. A project has no say.",
		word:  func(p *Policy) **Rule { return &p.Rung.Qemu }},
	{section: "rung", name: "kernel", form: formWord, check: checkProgram, pattern: `^/`,
		about: "The kernel of a virtual machine, `/path/vmlinuz-VERSION`, with its modules in `/lib/modules/VERSION` or `../lib/modules/VERSION` beside it; not written: the newest in /boot. A project has no say.",
		word:  func(p *Policy) **Rule { return &p.Rung.Kernel }},
	{section: "rung", name: "kernel-sha256", form: formWord, check: checkSum, pattern: `^[0-9a-f]{64}$`,
		about: "The SHA-256 that this kernel must have. A project has no say.",
		word:  func(p *Policy) **Rule { return &p.Rung.KernelSum }},
	{section: "rung", name: "modules-sha256", form: formWord, check: checkSum, pattern: `^[0-9a-f]{64}$`,
		about: "The SHA-256 that the modules of this kernel must have, of those that a virtual machine loads: of the lines that `sha256sum` says of their files, sorted by name. The journal of a session tells it. A project has no say.",
		word:  func(p *Policy) **Rule { return &p.Rung.ModulesSum }},
	{section: "rung", name: "qemu-sha256", form: formWord, check: checkSum, pattern: `^[0-9a-f]{64}$`,
		about: "The SHA-256 that the emulator of a virtual machine must have. A project has no say.",
		word:  func(p *Policy) **Rule { return &p.Rung.QemuSum }},
	{section: "rung", name: "accel", form: formWord, words: accels,
		about: "What makes the processor of a virtual machine: `kvm`, or software (`tcg`), which is many times slower, is no boundary that the emulator's authors promise, and meets no demand for more than native. Not written: kvm. A project has no say.",
		word:  func(p *Policy) **Rule { return &p.Rung.Accel }},
	{section: "rung", name: "memory", form: formSize,
		about: "Memory of a virtual machine. Not written: 2 GiB, or what the machine and the session's limit have room for. A project has no say.",
		limit: func(p *Policy) **Limit { return &p.Rung.Memory }},
	{section: "rung", name: "cpus", form: formCount,
		about: "Processors of a virtual machine. Not written: 2. A project has no say.",
		limit: func(p *Policy) **Limit { return &p.Rung.CPUs }},
	{section: "rung", name: "disk", form: formSize,
		about: "Disk of a virtual machine, for all that a session writes. Not written: 8 GiB. A project has no say.",
		limit: func(p *Policy) **Limit { return &p.Rung.Disk }},
	{section: "rung", name: "ssh", form: formWord, check: CheckMachine, pattern: patternMachine,
		about: "The machine of the rung `ssh`, by the name that your own ssh has for it: `HOST` or `USER@HOST`. `--rung ssh:HOST` says both. A project has no say.",
		word:  func(p *Policy) **Rule { return &p.Rung.SSH }},
	{section: "rung", name: "keep", form: formWord, check: checkKeep, pattern: patternKeep,
		about: "How long a session on another machine stands still and waits when its link is lost: `0s` to `24h`, `10m` where nothing is written. After that it ends, and what it changed waits there, sealed to a key that only this machine has. A project has no say.",
		word:  func(p *Policy) **Rule { return &p.Rung.Keep }},

	{section: "require", name: "rung", form: formList, words: RungNames,
		about: "Rungs of which one must be used for a launch to go ahead. A rung above all of them will do as well.",
		list:  func(p *Policy) *List { return &p.Require.Rung }},
	{section: "require", name: "walls", form: formList, words: WallNames,
		about: "Walls that must stand, or the launch is refused. Name all of them: a list that leaves one out is an error.",
		list:  func(p *Policy) *List { return &p.Require.Walls }},
	{section: "require", name: "limits", form: formList, words: func() []string { return limitNames },
		about: "Limits that the host must enforce, or the launch is refused.",
		list:  func(p *Policy) *List { return &p.Require.Limits }},

	{section: "broker", name: "secrets", form: formList, check: checkSecretName, pattern: patternSecret,
		about: "Secrets that sessions may use. Without this key: all of them. An empty list: none.",
		list:  func(p *Policy) *List { return &p.Broker.Secrets }},
	{section: "broker", name: "model-allow", form: formList, words: func() []string { return modelFeatures },
		about: "All that the agent may ask of the provider of a model besides answers: to search the web, to fetch pages, to run code, to keep files, to call MCP servers. Without this key: search, and in mode locked nothing.",
		list:  func(p *Policy) *List { return &p.Broker.ModelAllow }},
	{section: "broker", name: "git", form: formList, words: func() []string { return gitRefusals },
		about: "What git may do although ringfence refuses it by default.",
		list:  func(p *Policy) *List { return &p.Broker.Git }},
	{section: "broker", name: "protected", form: formList, check: checkBranch, pattern: patternBranch,
		about: "Branches that a session cannot push to, besides the default branch: NAME, with * for any text without a slash.",
		list:  func(p *Policy) *List { return &p.Broker.Protected }},
	{section: "broker", name: "repos", form: formList, check: checkRepo, pattern: patternRepo, same: plainRepo,
		about: "Repositories that a session may use like its own, on a forge where it has a remote: HOST/OWNER/NAME. Without HOST: github.com or gitlab.com.",
		list:  func(p *Policy) *List { return &p.Broker.Repos }},
	{section: "broker", name: "open", form: formList, check: checkOpen, pattern: patternOpen,
		about: "Requests that may change something on a common host, also with a credential that the agent brought: METHOD HOST/PATH, or * HOST/** for the whole host.",
		list:  func(p *Policy) *List { return &p.Broker.Open }},
	{section: "broker", name: "decoys", form: formFlag,
		about: "Whether ringfence puts decoys where a thief looks for credentials.",
		flag:  func(p *Policy) **Flag { return &p.Broker.Decoys }},
	{section: "broker", name: "forges", form: formFlag,
		about: "Whether your logins of forges (gh, glab, secrets) are used. Without them a session reads what is public.",
		flag:  func(p *Policy) **Flag { return &p.Broker.Forges }},
	{section: "broker", name: "sign", form: formFlag,
		about: "Whether a session can sign commits and tags with your key. The key stays outside.",
		flag:  func(p *Policy) **Flag { return &p.Broker.Sign }},

	{section: "supply", name: "age", form: formWord, check: checkAge, pattern: patternAge,
		about: "Minimum age of a package version that is installed, in days or hours: 3d, 72h. 0: any age.",
		word:  func(p *Policy) **Rule { return &p.Supply.Age }},
	{section: "supply", name: "scripts", form: formFlag,
		about: "Whether packages may run scripts during installation.",
		flag:  func(p *Policy) **Flag { return &p.Supply.Scripts }},
	{section: "supply", name: "allow", form: formList, check: checkPackage, pattern: patternPackage, most: maxPackages,
		about: "Packages without these rules: NAME, npm:NAME, pypi:NAME, crates:NAME or go:PATH; * at the end stands for any text.",
		list:  func(p *Policy) *List { return &p.Supply.Allow }},
	{section: "supply", name: "deny", form: formList, check: checkPackage, pattern: patternPackage, most: maxPackages,
		about: "Packages that are refused in every version, written as in allow. What is allowed there is refused all the same.",
		list:  func(p *Policy) *List { return &p.Supply.Deny }},

	{section: serverSection, name: unnamedKey, form: formWord, words: func() []string { return unnamedWords },
		about: "What becomes of MCP servers of the agent's own settings on the host that no [mcp.NAME] names: none stays outside, ask asks you at the start, all brings them, each in a sandbox of its own. Without this key: none. A project's file can only write none.",
		word:  func(p *Policy) **Rule { return &p.Unnamed }},
	{section: "tools", name: "allow", form: formList, check: checkTool, pattern: patternTool, most: maxTools,
		about: "Tools that are fetched when an agent wants them, without a question: debian:NAME, npm:NAME, pypi:NAME, crates:NAME, go:PATH or nix:NAME.",
		list:  func(p *Policy) *List { return &p.Tools.Allow }},
	{section: "tools", name: "default", form: formWord, words: func() []string { return []string{ToolsAsk, ToolsNone} },
		about: "What holds for all other tools: a person may add them (`ask`), or nobody (`none`). Not written: ask.",
		word:  func(p *Policy) **Rule { return &p.Tools.Default }},

	{section: "scan", name: "on-hit", form: formWord, words: func() []string { return hitWords },
		about: "What follows when a tool returns text that tries to give the agent orders: warn tells you, tighten also closes the network but for the model, for the rest of the session. Without this key: warn. It is a smoke detector, and errs.",
		word:  func(p *Policy) **Rule { return &p.Scan.OnHit }},

	{section: "project", name: "for", form: formWord, words: PostureNames,
		about: "What you are about to do: a named bundle of policy, as with --for. `ringfence postures` prints them. The file of a project can only make a session stricter with it.",
		word:  func(p *Policy) **Rule { return &p.Project.For }},

	{section: "agent", name: "history", form: formWord, words: func() []string { return []string{PrivateHistory, SharedHistory} },
		about: "Whether conversations of this project are copied between the agent on the host and the one inside (`shared`). The host's agent then reads what the agent inside wrote. Not written: private.",
		word:  func(p *Policy) **Rule { return &p.Agent.History }},
	{section: "agent", name: "inner", form: formWord, words: func() []string { return innerWords },
		about: "Whether the agent's own sandbox is on inside: on, or the launch is refused with the reason; off; auto (the default): on where the rung has a kernel of its own and lets a sandbox be made in it. No rung does today: docs/ladder.md says why.",
		word:  func(p *Policy) **Rule { return &p.Agent.Inner }},
}

// sections lists the sections in the order of the table, and those of named tables last.
func sections() []string {
	var out []string
	for i := range keys {
		if len(out) == 0 || out[len(out)-1] != keys[i].section {
			out = append(out, keys[i].section)
		}
	}
	for _, n := range allNamed {
		if !slices.Contains(out, n.title()) {
			out = append(out, n.title())
		}
	}
	return out
}

// keysOf lists the names of one section's keys.
func keysOf(section string) []string {
	var out []string
	for i := range keys {
		if keys[i].section == section {
			out = append(out, keys[i].name)
		}
	}
	return out
}

func findKey(section, name string) *key {
	for i := range keys {
		if keys[i].section == section && keys[i].name == name {
			return &keys[i]
		}
	}
	return nil
}
