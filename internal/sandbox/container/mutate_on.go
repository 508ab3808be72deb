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

// mutateConfined also leaves out what the engine alone raises there.
func (o *order) mutateConfined() {
	o.mutate()
	h := &o.HostConfig
	if mutated("net") { // whose settings no container may have
		h.Sysctls = nil
	}
	if mutated("cgroup") {
		h.CgroupnsMode = "host"
	}
	if mutated("caps") {
		h.CapDrop, h.CapAdd = nil, []string{"NET_ADMIN"}
	}
	if mutated("seccomp") {
		h.SecurityOpt = append(h.SecurityOpt, "seccomp=unconfined")
	}
	if mutated("covers") {
		h.MaskedPaths, h.ReadonlyPaths = []string{}, []string{}
	}
	if mutated("share") { // something of the host's more than was planned
		h.Mounts = append(h.Mounts, share("/etc", "/usr/share/doc", true))
	}
}

// leak leaves a descriptor of the container to the sandbox.
func leak() {
	if mutated("fds") {
		unix.Open("/", unix.O_PATH|unix.O_DIRECTORY, 0)
	}
}
