package audit

import (
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// people are the users and groups of the machine, by its own files. Names that a
// network knows are not in them.
type people struct {
	users   map[uint32]string   // by uid
	members map[uint32][]string // by gid: those whose own group it is, and those listed
	groups  map[uint32]string

	uid  uint32 // the user's own
	gids []int
}

func (l *look) everybody() *people {
	if l.people != nil {
		return l.people
	}
	p := &people{users: map[uint32]string{}, members: map[uint32][]string{}, groups: map[uint32]string{}, uid: uint32(l.UID), gids: l.GIDs}
	l.people = p
	id := func(s string) (uint32, bool) {
		n, err := strconv.ParseUint(s, 10, 32)
		return uint32(n), err == nil
	}
	l.lines(l.at("/etc/passwd"), maxSettings, func(_ int, line string) bool {
		f := strings.Split(line, ":")
		if len(f) < 4 {
			return true
		}
		uid, ok := id(f[2])
		gid, too := id(f[3])
		if ok && too {
			p.users[uid] = f[0]
			p.members[gid] = append(p.members[gid], f[0])
		}
		return true
	})
	l.lines(l.at("/etc/group"), maxSettings, func(_ int, line string) bool {
		f := strings.Split(line, ":")
		if len(f) < 4 {
			return true
		}
		if gid, ok := id(f[2]); ok {
			p.groups[gid] = f[0]
			p.members[gid] = append(p.members[gid], strings.FieldsFunc(f[3], func(r rune) bool { return r == ',' })...)
		}
		return true
	})
	return p
}

// shared reports whether the group of a file has somebody in it besides its owner, the
// user and root. A group that the machine does not know is taken for a shared one,
// unless it has the number of the owner, as groups of one person have.
func (p *people) shared(st unix.Stat_t) bool {
	members, known := p.members[st.Gid]
	if !known {
		return p.groups[st.Gid] == "" && st.Gid != st.Uid
	}
	own := []string{"root", p.users[st.Uid], p.users[p.uid]}
	return slices.ContainsFunc(members, func(m string) bool { return !slices.Contains(own, m) })
}

// identity is the user's name, and those of his groups.
func (p *people) identity() (user string, groups []string) {
	user = p.users[p.uid]
	for gid, name := range p.groups {
		if slices.Contains(p.gids, int(gid)) || user != "" && slices.Contains(p.members[gid], user) {
			groups = append(groups, name)
		}
	}
	slices.Sort(groups)
	return user, groups
}

// writable reports whether others than the owner, the user and root can write what st
// is of.
func (p *people) writable(st unix.Stat_t) bool {
	return st.Mode&0o002 != 0 || st.Mode&0o020 != 0 && p.shared(st)
}

// readable is the same for reading.
func (p *people) readable(st unix.Stat_t) bool {
	return st.Mode&0o004 != 0 || st.Mode&0o040 != 0 && p.shared(st)
}
