package sentry

import (
	"encoding/json"
	"slices"
	"testing"

	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// TestBundle: the view is read-only but for the paths that the plan lets the agent write,
// and the network is not the bundle's to choose.
func TestBundle(t *testing.T) {
	p := &plan.Plan{Walls: []plan.Wall{plan.WallSeccomp}, Filter: []byte{0}, Hostname: "ringfence", UID: 1000, GID: 100, Landlock: plan.Landlock{Write: []plan.Raw{"/tmp", "/home/me", "/dev/shm", "/work space/tree"}},
		Ops: []plan.Op{{Do: plan.DoTmpfs, Dst: "/dev/shm", Size: 4096, Mode: 0o1777}}}
	b, err := config(p)
	if err != nil {
		t.Fatal(err)
	}
	var s spec
	if err := json.Unmarshal(b, &s); err != nil {
		t.Fatal(err)
	}
	if !s.Root.ReadOnly || !s.Process.NoNewPrivs || !slices.Equal(s.Process.Env, initEnv) || !slices.Equal(s.Process.Args, []string{InitName, filterReview}) || s.Process.User != (user{1000, 100}) {
		t.Errorf("%+v", s)
	}
	if slices.ContainsFunc(s.Linux.Namespaces, func(n namespace) bool { return n.Path != "" || n.Type == "network" }) {
		t.Error("the bundle has a network of its own")
	}
	var binds []string
	for i, m := range s.Mounts {
		if !slices.Contains(m.Options, "nosuid") {
			t.Errorf("%s is mounted without nosuid", m.At)
		}
		if m.Type == "bind" {
			binds = append(binds, m.At)
		}
		if i > 0 && s.Mounts[i-1].At > m.At {
			t.Errorf("%s is mounted before what is above it", s.Mounts[i-1].At)
		}
	}
	if !slices.Equal(binds, []string{"/home/me", "/tmp", "/work space/tree"}) {
		t.Errorf("writable: %q", binds)
	}
	if i := slices.IndexFunc(s.Mounts, func(m mount) bool { return m.At == "/dev/shm" }); i < 0 || s.Mounts[i].Type != "tmpfs" || !slices.Contains(s.Mounts[i].Options, "size=4096") {
		t.Errorf("%+v", s.Mounts)
	}
	p.Landlock.Write = []plan.Raw{"/\xff"}
	if _, err := config(p); err == nil {
		t.Error("a path that JSON cannot name was named as another")
	}
}
