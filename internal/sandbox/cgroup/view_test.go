package cgroup

import (
	"strings"
	"testing"
)

func TestLocate(t *testing.T) {
	const hybrid = `31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct
39 31 0:36 /docker/ab /sys/fs/cgroup/pids ro - cgroup cgroup rw,pids
41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
`
	for _, c := range []struct {
		name, groups, mounts string
		v2, pids, memory     string
	}{
		{"hybrid", "8:pids:/docker/ab\n4:memory:/a/b\n0::/\n", hybrid,
			"/sys/fs/cgroup/unified", "/sys/fs/cgroup/pids", "/sys/fs/cgroup/memory/a/b"},
		{"part of the hierarchy", "8:pids:/docker/ab/c\n4:memory:/\n0::/x\n", hybrid,
			"/sys/fs/cgroup/unified/x", "/sys/fs/cgroup/pids/c", "/sys/fs/cgroup/memory"},
		{"not in the part", "8:pids:/docker/abc\n", hybrid, "", "", ""},
		{"outside the namespace", "8:pids:/docker/ab\n0::/../other\n", hybrid, "", "/sys/fs/cgroup/pids", ""},
		{"a colon in the name", "0::/a:b\n", hybrid, "/sys/fs/cgroup/unified/a:b", "", ""},
		{"a space in the mount", "0::/u\n", "1 1 0:1 / /mnt/my\\040cg rw - cgroup2 c rw\n", "/mnt/my cg/u", "", ""},
		{"mounted from above", "0::/u\n", "1 1 0:1 /../.. /mnt rw - cgroup2 c rw\n", "", "", ""},
		{"a mount named like the separator", "0::/u\n", "1 1 0:1 / /a\\040-\\040cgroup2 rw - tmpfs - rw\n", "", "", ""},
	} {
		groups, err := parseMemberships(c.groups)
		if err != nil {
			t.Fatal(c.name, err)
		}
		mounts, err := parseMounts(c.mounts)
		if err != nil {
			t.Fatal(c.name, err)
		}
		v := view{groups, mounts}
		v2, _, _ := v.v2()
		pids, _ := v.v1("pids")
		memory, _ := v.v1("memory")
		if v2 != c.v2 || pids != c.pids || memory != c.memory {
			t.Errorf("%s: v2 %q, pids %q, memory %q", c.name, v2, pids, memory)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, s := range []string{"", "x", "0:/", "0::relative"} {
		if _, err := parseMemberships(s); err == nil {
			t.Errorf("%q taken for /proc/self/cgroup", s)
		}
	}
	for _, s := range []string{"1 2 - cgroup2 x rw", "1 1 0:1 /\\9 /x rw - cgroup2 c rw", "1 1 0:1 / /x rw - cgroup2 c", "1 1 0:1 /\\777 /x rw - cgroup c rw"} {
		if _, err := parseMounts(s); err == nil {
			t.Errorf("%q taken for mountinfo", s)
		}
	}
}

func TestRealRoot(t *testing.T) {
	for _, c := range []struct {
		uid  int
		m    string
		want bool
	}{
		{0, "         0          0 4294967295\n", true},
		{1000, "         0          0 4294967295\n", false},
		{0, "0 1000 1\n", false},
		{0, "0 100000 65536\n", false},
		{1000, "0 100000 1000\n1000 0 1\n", true},
		{5, "0 1000 1\n", true},
		{0, "garbage\n", true},
	} {
		if got := realRoot(c.uid, c.m); got != c.want {
			t.Errorf("uid %d in %q: %v", c.uid, c.m, got)
		}
	}
}

// Whatever the kernel's text looks like, a located directory lies below the mount.
func FuzzLocate(f *testing.F) {
	f.Add("8:pids:/docker/ab\n4:memory:/a/b\n0::/\n", "39 31 0:36 /docker /sys/fs/cgroup/pids ro shared:1 - cgroup cgroup rw,pids\n")
	f.Add("0::/../x\n", "1 1 0:1 /../.. /mnt rw - cgroup2 c rw\n")
	f.Add("0::/a b", "1 1 0:1 / /my\\040cg rw - cgroup2 c rw\n")
	f.Add("1:name=systemd:/", "1 1 0:1 /\\134 /x\\011 rw - cgroup c rw,memory\n")
	f.Fuzz(func(t *testing.T, groups, table string) {
		g, err := parseMemberships(groups)
		if err != nil {
			return
		}
		m, err := parseMounts(table)
		if err != nil {
			return
		}
		v := view{g, m}
		for _, x := range m {
			if !clean(x.root) || !clean(x.point) {
				t.Fatalf("kept mount %+v", x)
			}
		}
		if dir, top, ok := v.v2(); ok && dir != top && !strings.HasPrefix(dir, strings.TrimSuffix(top, "/")+"/") {
			t.Errorf("%q is not below %q", dir, top)
		}
		if dir, ok := v.v1("memory"); ok && !clean(dir) {
			t.Errorf("%q", dir)
		}
	})
}
