package cgroup

import (
	"errors"
	"fmt"
	"iter"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// view is where this process stands: its groups and the hierarchies it can see.
type view struct {
	groups []membership
	mounts []mount
}

// membership is one line of /proc/self/cgroup. The v2 hierarchy has no
// controllers in it.
type membership struct {
	controllers []string
	path        string
}

// mount is one mounted hierarchy; v2 has no controllers in it.
type mount struct {
	v2          bool
	root        string // the group that the mount shows at its top
	point       string
	controllers []string
}

func (s system) look() (view, error) { return s.lookAt("self") }

// lookAt is where another process stands, in the hierarchies that this one can see.
func (s system) lookAt(pid string) (view, error) {
	var v view
	b, err := read(filepath.Join(s.proc, pid, "cgroup"))
	if err != nil {
		return v, err
	}
	if v.groups, err = parseMemberships(string(b)); err != nil {
		return v, err
	}
	if b, err = read(filepath.Join(s.proc, "self/mountinfo")); err != nil {
		return v, err
	}
	v.mounts, err = parseMounts(string(b))
	return v, err
}

// v2 returns our directory in the v2 hierarchy and the top of that mount.
func (v view) v2() (dir, top string, ok bool) {
	for _, g := range v.groups {
		if len(g.controllers) == 0 {
			return v.locate(g.path, func(m mount) bool { return m.v2 })
		}
	}
	return "", "", false
}

// v1 returns our directory in the v1 hierarchy of one controller.
func (v view) v1(controller string) (dir string, ok bool) {
	for _, g := range v.groups {
		if slices.Contains(g.controllers, controller) {
			dir, _, ok = v.locate(g.path, func(m mount) bool {
				return !m.v2 && slices.Contains(m.controllers, controller)
			})
			return dir, ok
		}
	}
	return "", false
}

// locate turns the name of a group into a directory. A container may show only a
// part of the hierarchy, and a name that begins with /.. lies outside of it.
func (v view) locate(group string, is func(mount) bool) (dir, top string, ok bool) {
	for _, m := range v.mounts {
		if !is(m) {
			continue
		}
		rel, found := strings.CutPrefix(group, m.root)
		if m.root == "/" {
			rel, found = group, true
		}
		if found && (rel == "" || rel[0] == '/') {
			return filepath.Join(m.point, rel), m.point, true
		}
	}
	return "", "", false
}

func lines(s string) iter.Seq[string] {
	return strings.SplitSeq(strings.TrimSuffix(s, "\n"), "\n")
}

// parseMemberships reads /proc/PID/cgroup: "4:memory:/path" or "0::/path".
func parseMemberships(s string) ([]membership, error) {
	var all []membership
	for line := range lines(s) {
		f := strings.SplitN(line, ":", 3)
		if len(f) != 3 || !path.IsAbs(f[2]) {
			return nil, fmt.Errorf("cgroup line %q", line)
		}
		if !clean(f[2]) {
			continue // "/../x": outside of our cgroup namespace, and so of our reach
		}
		m := membership{path: f[2]}
		if f[1] != "" {
			m.controllers = strings.Split(f[1], ",")
		}
		all = append(all, m)
	}
	return all, nil
}

// parseMounts keeps the cgroup lines of mountinfo.
func parseMounts(s string) ([]mount, error) {
	var all []mount
	for line := range lines(s) {
		m, ok, err := parseMount(line)
		if err != nil {
			return nil, fmt.Errorf("mountinfo line %q: %w", line, err)
		}
		if ok {
			all = append(all, m)
		}
	}
	return all, nil
}

// parseMount reads "ID PARENT DEV ROOT POINT OPTIONS TAG* - TYPE SOURCE SUPER".
func parseMount(line string) (m mount, ok bool, err error) {
	left, right, _ := strings.Cut(line, " - ") // spaces in names are escaped
	if !strings.HasPrefix(right, "cgroup ") && !strings.HasPrefix(right, "cgroup2 ") {
		return m, false, nil
	}
	l, r := strings.Split(left, " "), strings.Split(right, " ")
	if len(l) < 6 || len(r) != 3 {
		return m, false, errors.New("wrong number of fields")
	}
	m.v2 = r[0] == "cgroup2"
	if !m.v2 {
		m.controllers = strings.Split(r[2], ",")
	}
	if m.root, err = unescape(l[3]); err != nil {
		return m, false, err
	}
	if m.point, err = unescape(l[4]); err != nil {
		return m, false, err
	}
	return m, clean(m.root) && clean(m.point), nil
}

// clean holds for an absolute path without "..": joined below a directory it
// stays there.
func clean(p string) bool { return path.IsAbs(p) && path.Clean(p) == p }

// unescape undoes the octal escapes of mountinfo: \040 for a space.
func unescape(s string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		if len(s) < i+4 || s[i+1] > '3' || !octal(s[i+1]) || !octal(s[i+2]) || !octal(s[i+3]) {
			return "", errors.New("bad escape")
		}
		b.WriteByte((s[i+1]-'0')<<6 | (s[i+2]-'0')<<3 | (s[i+3] - '0'))
		i += 3
	}
	return b.String(), nil
}

func octal(c byte) bool { return c >= '0' && c <= '7' }
