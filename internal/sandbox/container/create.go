package container

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"

	"ringfence.dev/ringfence/internal/sandbox/cgroup"
	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// order is what is asked of the engine, with its names.
type order struct {
	Image           string
	Entrypoint      []string
	User            string
	Hostname        string `json:",omitempty"`
	WorkingDir      string
	Env             []string
	Labels          map[string]string
	NetworkDisabled bool
	StopSignal      string
	Healthcheck     map[string][]string
	HostConfig      hostConfig
}

type hostConfig struct {
	AutoRemove     bool
	Init           bool // false, also where the engine's settings say otherwise
	ReadonlyRootfs bool
	NetworkMode    string
	IpcMode        string
	UTSMode        string
	PidMode        string
	UsernsMode     string
	CgroupnsMode   string            `json:",omitempty"`
	Tmpfs          map[string]string `json:",omitempty"`
	Sysctls        map[string]string `json:",omitempty"`
	CapDrop        []string
	CapAdd         []string
	SecurityOpt    []string
	MaskedPaths    []string
	ReadonlyPaths  []string
	Mounts         []mount
	LogConfig      map[string]string
	Memory         int64 `json:",omitempty"`
	MemorySwap     int64 `json:",omitempty"`
	PidsLimit      int64 `json:",omitempty"`
	Ulimits        []ulimit
}

type ulimit struct {
	Name       string
	Soft, Hard uint64
}

type mount struct {
	Type        string
	Source      string
	Target      string
	ReadOnly    bool
	BindOptions bindOptions
}

type bindOptions struct{ Propagation string }

// root is the user of a holder.
const root = "0:0"

// us is the user of every other container.
func us() string { return strconv.Itoa(os.Geteuid()) + ":" + strconv.Itoa(os.Getegid()) }

// ours holds for a container whose user is ours.
func (o order) ours() bool { return o.User == us() }

// name is that of the container.
func (o order) name() string { return "ringfence-" + o.Labels[sessionLabel] }

// stagePath is where the container has our binary; by it main knows the stage.
const stagePath = "/ringfence-container"

// linkPath is where the container has the directory with our socket.
const linkPath = "/ringfence-link"

// sessionLabel is on our containers, so that people see whose they are.
const sessionLabel = "dev.ringfence.session"

// newOrder is a container in which the native walls can be raised. Two things of an engine's
// usual walls must go, because with them none of ours can be: its filter of system calls,
// which has no namespaces, and its covers over parts of /proc. Our own filter and our own
// /proc are there before the agent is, and the launch proves it.
func newOrder(a about, image, session string, limits cgroup.Limits, shares []mount) order {
	o := bareOrder(a, image, session, limits, shares)
	h := &o.HostConfig
	h.SecurityOpt, h.MaskedPaths, h.ReadonlyPaths = append(h.SecurityOpt, "seccomp=unconfined"), []string{}, []string{}
	if os.Geteuid() == 0 {
		h.CapAdd = []string{"SETFCAP"} // the kernel wants it of who maps root; the stage drops it
	}
	if a.is("apparmor") {
		h.SecurityOpt = append(h.SecurityOpt, "apparmor=unconfined") // its profile has no mounts
	}
	if a.podman() {
		h.SecurityOpt = append(h.SecurityOpt, "unmask=ALL") // it has another word for no covers
	}
	o.mutate()
	return o
}

// confinedOrder is a container that keeps the engine's walls, with the view built by the
// engine. Covers of /proc are added to its own, and none is taken away.
func confinedOrder(a about, image string, p *plan.Plan, limits cgroup.Limits, v *view) order {
	o := bareOrder(a, image, p.Session, limits, v.mounts)
	o.Hostname = p.Hostname
	h := &o.HostConfig
	h.CgroupnsMode, h.Tmpfs, h.Sysctls = "private", v.tmpfs, netSettings()
	h.MaskedPaths = append([]string{"/proc/asound", "/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list", "/proc/timer_stats",
		"/proc/sched_debug", "/proc/scsi", "/proc/interrupts", "/sys/firmware", "/sys/devices/virtual/powercap"}, v.masked...)
	// The whole of /proc, and /dev, as on every rung: root could write to /proc/sys without a capability.
	h.ReadonlyPaths = []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger", "/proc", "/dev"}
	o.mutateConfined()
	return o
}

// join puts the container into the network of another one, whose name and settings come
// with it.
func (o *order) join(name string) {
	if mutated("net") {
		return
	}
	o.Hostname, o.NetworkDisabled = "", false
	o.HostConfig.NetworkMode, o.HostConfig.Sysctls = "container:"+name, nil
}

// holderOrder is a container that raises a network: it has the two rights for that, and
// nothing to use them on but itself.
func holderOrder(a about, p *plan.Plan) order {
	o := bareOrder(a, nothing, p.Session+"-net", cgroup.Limits{Memory: 128 << 20, Pids: 64}, nil)
	o.User, o.Hostname = root, p.Hostname
	h := &o.HostConfig
	h.CapAdd, h.Sysctls = []string{"NET_ADMIN", "NET_BIND_SERVICE"}, netSettings()
	return o
}

// netSettings are those of a new network. Engines change them: with IPv6 the agent has what
// it has on the host, and no port below 1024 is its own.
func netSettings() map[string]string {
	out := map[string]string{"net.ipv4.ip_unprivileged_port_start": "1024"}
	if _, err := os.Stat("/proc/sys/net/ipv6"); err == nil {
		for _, at := range []string{"all", "default", "lo"} {
			out["net.ipv6.conf."+at+".disable_ipv6"] = "0"
		}
	}
	return out
}

// bareOrder is a container in which nothing is but the shares: no network, no capability,
// nothing that can be written but what the plan lets be.
func bareOrder(a about, image, session string, limits cgroup.Limits, shares []mount) order {
	o := order{Image: image, Entrypoint: []string{stagePath}, User: us(), WorkingDir: "/",
		// An image may say how our program is to run, and what else: neither counts.
		Env: []string{"GODEBUG=", "GOGC=", "GOMAXPROCS=", "GOMEMLIMIT=", "GOTRACEBACK="}, Healthcheck: map[string][]string{"Test": {"NONE"}},
		Labels: map[string]string{sessionLabel: session}, NetworkDisabled: true, StopSignal: "SIGKILL",
		HostConfig: hostConfig{AutoRemove: true, ReadonlyRootfs: true, NetworkMode: "none", IpcMode: "none", CapDrop: []string{"ALL"},
			SecurityOpt: []string{"no-new-privileges"}, Mounts: shares, LogConfig: map[string]string{"Type": "none"},
			Memory: limits.Memory, MemorySwap: limits.Memory, PidsLimit: limits.Pids}}
	if a.is("selinux") {
		o.HostConfig.SecurityOpt = append(o.HostConfig.SecurityOpt, "label=disable") // shares keep their labels
	}
	if a.is("userns") {
		o.HostConfig.UsernsMode = "host" // the user is the same inside
	}
	if a.podman() {
		o.HostConfig.Ulimits = podmanLimits()
	}
	return o
}

// create makes the container, which does not run yet.
func (e *engine) create(ctx context.Context, name string, o order) error {
	err := e.call(ctx, "POST", "/containers/create?name="+escape(name), o, nil)
	if err != nil {
		return fmt.Errorf("make a container: %w", err)
	}
	return nil
}

// start starts it.
func (e *engine) start(ctx context.Context, name string) error {
	if err := e.call(ctx, "POST", "/containers/"+escape(name)+"/start", nil, nil); err != nil {
		return fmt.Errorf("start a container: %w", err)
	}
	return nil
}

// first is the number of the container's first process on this machine.
func (e *engine) first(ctx context.Context, name string) (int, error) {
	var c struct{ State struct{ Pid int } }
	err := e.call(ctx, "GET", "/containers/"+escape(name)+"/json", nil, &c)
	if err == nil && c.State.Pid <= 0 {
		err = errors.New("the container has ended")
	}
	return c.State.Pid, err
}

// removed returns when the container is no more. A connection that breaks means that the
// engine is gone.
func (e *engine) removed(ctx context.Context, name string) error {
	_, err := e.ask(ctx, "POST", "/containers/"+escape(name)+"/wait?condition=removed", "application/json", nil)
	return gone(err)
}

// remove ends and removes the container.
func (e *engine) remove(ctx context.Context, name string) error {
	return gone(e.call(ctx, "DELETE", "/containers/"+escape(name)+"?force=1&v=1", nil, nil))
}

// gone is no error where the container is not there any more, or about to go.
func gone(err error) error {
	var r *refusal
	if errors.As(err, &r) && (r.status == http.StatusNotFound || r.status == http.StatusConflict) {
		return nil
	}
	return err
}
