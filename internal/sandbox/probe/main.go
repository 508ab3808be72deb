package probe

import (
	"encoding/json"
	"fmt"
	"io"

	"golang.org/x/sys/unix"
)

// Arg is the hidden command that runs the battery.
const Arg = "__check"

// StandArg makes it stand and wait instead: a process to be seen and touched.
// Any further argument is not read, only shown by ps.
const StandArg = "stand"

// BatteryArg is what Arg means by itself. A further argument is only shown by ps.
const BatteryArg = "battery"

// nothingArg makes it end at once, for probes that need a child.
const nothingArg = "nothing"

// self is our own program, under whatever name it is visible.
const self = "/proc/self/exe"

// battery is every probe, in the order of the checks. Those that occupy a name
// that another looks at come last.
var battery = []struct {
	name string
	run  func(*Target) Result
}{
	{"entered", entered},
	{"no-new-privs", func(*Target) Result { return NoNewPrivs(readStatus("/proc/self/status")) }},
	{"home", nothing("home")},
	{"env", environment},
	{"env-names", names},
	{"caps", func(*Target) Result { return Capabilities(readStatus("/proc/self/status")) }},
	{"pid", processes},
	{"ipc", sharedMemory},
	{"uts", hostname},
	{"tty", typing},
	{"vscode", nothing("vscode")},
	{"runtime", nothing("runtime")},
	{"secrets", nothing("secrets")},
	{"netrc", nothing("netrc")},
	{"xauthority", nothing("xauthority")},
	{"gitconfig", gitConfig},
	{"browser", nothing("browser")},
	{"view", root},
	{"nosuid", inert},
	{"etc", synthetic},
	{"tmp", nothing("tmp")},
	{"shm", nothing("shm")},
	{"devices", devices},
	{"tables", tables},
	{"proc-sys", settings},
	{"told", told},
	{"keeper", keeper},
	{"fds", descriptors},
	{"keyring", sessionKey},
	{"nested", nesting},
	{"landlock", func(t *Target) Result { return Landlock(string(t.Own)) }},
	{"seccomp", filter},
	{"mount-calls", mountCalls},
	{"families", families},
	{"net", interfaces},
	{"loopback", loopback},
	{"abstract", abstract},
	{"sockets", nothing("sockets")},
	{"dbus", nothing("dbus")},
	{"cgroup", cgroups},
	{"workspace", workspace},
	{"work", work},
	{"held", held},
	{"masked", masked},
	{"git", git},
	{"undo", undo},
	{"kernel", kernel},
}

// Names lists the probes of the battery.
func Names() []string {
	var out []string
	for _, p := range battery {
		out = append(out, p.name)
	}
	return out
}

// Main is the hidden command: a Target on in, or with NetArg a NetTarget, and an
// Answer on out.
func Main(args []string, in io.Reader, out io.Writer) int {
	left := inherited() // before we open anything ourselves
	switch {
	case len(args) > 0 && args[0] == StandArg:
		return stand(in, out)
	case len(args) > 0 && args[0] == NetArg:
		return write(out, netMain(args[1:], in))
	case len(args) > 0 && args[0] == BeatArg:
		return beat(in)
	case len(args) > 0 && args[0] != BatteryArg:
		return 0
	}
	var a Answer
	t, err := DecodeTarget(in)
	if err != nil {
		a.Error = err.Error()
	} else {
		t.inherited = left
		for _, p := range battery {
			a.Results = append(a.Results, p.run(t))
		}
	}
	return write(out, a)
}

func write(out io.Writer, a Answer) int {
	if err := json.NewEncoder(out).Encode(a); err != nil || a.Error != "" {
		return 2
	}
	return 0
}

// stand says that it is there and waits for the end of in. It lets anybody of
// the same user trace it, which Yama otherwise keeps to ancestors: what keeps an
// agent away from it must be the sandbox.
func stand(in io.Reader, out io.Writer) int {
	const setPtracer, anybody = 0x59616d61, ^uintptr(0)
	unix.Prctl(setPtracer, anybody, 0, 0, 0) // no Yama: nothing to lift
	fmt.Fprintln(out, "ready")
	io.Copy(io.Discard, in)
	return 0
}
