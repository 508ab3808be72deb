package mutate

import "slices"

// inContainerUnturned are the walls and checks of containers that cannot be taken away.
var inContainerUnturned = map[string]string{
	"kernel":       notClaimed,
	"link":         notClaimed,
	"link-end":     notClaimed,
	"nic":          notClaimed,
	"share":        notClaimed,
	"keyring":      "the engine gives every container a session keyring of its own",
	"wall keyring": "as above",
}

// inContainer are the defences of containers. They are raised by the same code as native's. Where
// the engine has one of the kind too, both are left out; where nothing starts without one,
// that is what is shown.
var inContainer = slices.Concat([]mutation{
	// Who is in a container has no right to the other namespaces.
	{name: "user", missing: []string{"entered", "nested"}, may: []string{"held"}, refused: true},
	// The container has nothing but shares: what the walls stand on is not there.
	{name: "mount", same: true, refuses: true},
	{name: "mount,landlock", same: true, missing: []string{"gitconfig", "view", "nosuid", "devices", "tables", "proc-sys", "masked", "pid", "keeper", "landlock", "cgroup", "work"}},
	{name: "pid", missing: []string{"pid", "told", "keeper", "tables"}},
}, playedIn("ipc", "uts", "net", "net,landlock", "cgroup", "nested", "caps", "caps,seccomp", "no-new-privs", "landlock", "seccomp", "tty"),
	playedIn("keeper", "masks", "judge", "store", "etc", "env", "fds", "home", "tmp", "shm", "run", "dumpable", "gitconfig", "capture", "nftables", "refuse"),
	gateAtOnce)

// playedIn are mutations of the native rung that say the same of a container.
func playedIn(names ...string) (out []mutation) {
	for _, m := range mutations {
		if slices.Contains(names, m.name) {
			m.same = true // what differs between users is played on the native rung
			out = append(out, m)
		}
	}
	return out
}
