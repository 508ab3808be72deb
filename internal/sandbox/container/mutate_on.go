//go:build ringfence_mutate

package container

import (
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

const mutateEnv = "RINGFENCE_MUTATE"

func mutated(what string) bool {
	return slices.Contains(strings.Split(os.Getenv(mutateEnv), ","), what)
}

// mutate tells the test build of the stage which defence to leave out, and leaves out what of
// the engine's own would hold in its place.
func (o *order) mutate() {
	o.Env = append(o.Env, mutateEnv+"="+os.Getenv(mutateEnv))
	h := &o.HostConfig
	if mutated("net") {
		h.NetworkMode, o.NetworkDisabled = "host", false
	}
	if mutated("ipc") {
		h.IpcMode = "host"
	}
	if mutated("uts") {
		h.UTSMode = "host"
	}
	if mutated("pid") { // it has the host's /proc then, and needs no share of it
		h.PidMode = "host"
		h.Mounts = slices.DeleteFunc(h.Mounts, func(m mount) bool { return m.Source == "/proc" })
	}
	if mutated("user") { // for root, who may have it
		h.CapAdd = []string{"SYS_ADMIN", "NET_ADMIN", "NET_BIND_SERVICE", "SETPCAP", "DAC_OVERRIDE", "SETFCAP"}
	}
	if mutated("no-new-privs") {
		h.SecurityOpt = slices.DeleteFunc(h.SecurityOpt, func(s string) bool { return s == "no-new-privileges" })
	}
}

// leak leaves a descriptor of the container to the sandbox.
func leak() {
	if mutated("fds") {
		unix.Open("/", unix.O_PATH|unix.O_DIRECTORY, 0)
	}
}
