package sentry

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// rootfs is where the stage attaches the view.
const rootfs = "/rootfs"

// initCaps are what Init has on the sentry's kernel, and loses before the agent runs: to
// change mounts, to take devices away, and to empty its bounding set.
var initCaps = []string{"CAP_SYS_ADMIN", "CAP_DAC_OVERRIDE", "CAP_SETPCAP"}

// initEnv is all that Init has of an environment. Threads are slow to come on the sentry, and
// each of them takes the filter anew: it starts with as few as can be. Package inside lets
// more come once the agent runs.
var initEnv = []string{"GOMAXPROCS=1"}

// The parts of an OCI bundle that runsc reads, and we use.
type (
	spec struct {
		Version  string  `json:"ociVersion"`
		Hostname string  `json:"hostname"`
		Process  process `json:"process"`
		Root     root    `json:"root"`
		Mounts   []mount `json:"mounts"`
		Linux    linux   `json:"linux"`
	}
	process struct {
		User         user         `json:"user"`
		Args         []string     `json:"args"`
		Env          []string     `json:"env"`
		Dir          string       `json:"cwd"`
		NoNewPrivs   bool         `json:"noNewPrivileges"`
		Capabilities capabilities `json:"capabilities"`
	}
	user struct {
		UID int `json:"uid"`
		GID int `json:"gid"`
	}
	capabilities struct {
		Bounding    []string `json:"bounding"`
		Effective   []string `json:"effective"`
		Permitted   []string `json:"permitted"`
		Inheritable []string `json:"inheritable"`
		Ambient     []string `json:"ambient"`
	}
	root struct {
		Path     string `json:"path"`
		ReadOnly bool   `json:"readonly"`
	}
	mount struct {
		At      string   `json:"destination"`
		Type    string   `json:"type"`
		Source  string   `json:"source"`
		Options []string `json:"options"`
	}
	linux struct {
		Namespaces []namespace `json:"namespaces"`
		Users      []mapped    `json:"uidMappings"`
		Groups     []mapped    `json:"gidMappings"`
	}
	mapped struct {
		Inside  int `json:"containerID"`
		Outside int `json:"hostID"`
		Size    int `json:"size"`
	}
	namespace struct {
		Type string `json:"type"`
		Path string `json:"path,omitempty"`
	}
)

// config is the config.json of the bundle. The view is the root, read-only for the sentry
// too; only the paths that the plan lets the agent write are mounted again, writable. What
// the host mounted read-only below them stays so.
func config(p *plan.Plan) ([]byte, error) {
	filter := filterPlain
	switch {
	case !slices.Contains(p.Walls, plan.WallSeccomp): // only where a test took it out
		filter = filterNone
	case len(p.Filter) > 0:
		filter = filterReview
	}
	s := spec{Version: "1.0.2", Hostname: p.Hostname, Root: root{rootfs, true},
		Process: process{User: user{p.UID, p.GID}, Args: append([]string{InitName, filter}, passed()...), Env: initEnv, Dir: "/", NoNewPrivs: true,
			Capabilities: capabilities{initCaps, initCaps, initCaps, initCaps, initCaps}},
		Mounts: []mount{
			{"/proc", "proc", "proc", []string{"ro", "nosuid", "nodev", "noexec"}},
			{"/sys", "tmpfs", "tmpfs", []string{"ro", "nosuid", "nodev", "noexec", "size=0"}},
			{"/dev", "tmpfs", "tmpfs", []string{"nosuid", "noexec", "mode=755"}},
			{"/dev/pts", "devpts", "devpts", []string{"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"}},
		}}
	for _, kind := range []string{"pid", "mount", "ipc", "uts", "user"} {
		s.Linux.Namespaces = append(s.Linux.Namespaces, namespace{Type: kind})
	}
	s.Linux.Users, s.Linux.Groups = []mapped{{p.UID, stageID, 1}}, []mapped{{p.GID, stageID, 1}}
	if veth(p) != nil {
		s.Linux.Namespaces = append(s.Linux.Namespaces, namespace{"network", "/proc/self/ns/net"}) // the stage's
	}
	for _, w := range p.Landlock.Write {
		at := string(w)
		if !utf8.ValidString(at) {
			return nil, fmt.Errorf("gVisor's bundle cannot name the path %+q", at)
		}
		m := mount{at, "bind", rootfs + at, []string{"rbind", "rw", "nosuid", "nodev"}}
		if file.Within(at, "/dev") {
			m = mount{at, "tmpfs", "tmpfs", append(tmpfsOptions(p, w), "nosuid", "nodev", "noexec")}
		}
		s.Mounts = append(s.Mounts, m)
	}
	// What of ours is renewed while the session runs: of its root the sentry believes that nobody
	// else changes it, and gave a longer note the size of the first one.
	if slices.ContainsFunc(p.Ops, func(o plan.Op) bool { return file.Within(string(o.Dst), plan.Own) }) {
		s.Mounts = append(s.Mounts, mount{plan.Own, "bind", rootfs + plan.Own, []string{"rbind", "ro", "nosuid", "nodev"}})
	}
	mutateBundle(&s)
	slices.SortStableFunc(s.Mounts, func(a, b mount) int { return strings.Compare(a.At, b.At) })
	return json.Marshal(s)
}

// tmpfsOptions are those of the plan's tmpfs at a path.
func tmpfsOptions(p *plan.Plan, at plan.Raw) []string {
	for _, op := range p.Ops {
		if op.Do == plan.DoTmpfs && op.Dst == at {
			return []string{"rw", fmt.Sprintf("size=%d", op.Size), fmt.Sprintf("mode=%o", op.Mode)}
		}
	}
	return []string{"rw"}
}
