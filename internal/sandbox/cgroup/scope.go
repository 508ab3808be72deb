package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A scope is a group that a systemd manager makes and limits for us. The manager
// owns the tree, so we need no delegation, and it can move a process out of a
// login session, which an ordinary user cannot.

const (
	systemdName  = "org.freedesktop.systemd1"
	systemdPath  = "/org/freedesktop/systemd1"
	systemdIface = "org.freedesktop.systemd1.Manager"
	busName      = "org.freedesktop.DBus"
)

// socket is where a manager may listen.
type socket struct {
	path   string
	broker bool // a bus daemon is in between, which wants to be greeted
}

// managerSockets lists the manager of this user, its own socket first: that one
// works without a bus daemon and hands out its signals unasked.
func managerSockets(uid int, runtimeDir string) []socket {
	if uid == 0 {
		return []socket{{"/run/systemd/private", false}, {"/run/dbus/system_bus_socket", true}}
	}
	if !filepath.IsAbs(runtimeDir) {
		runtimeDir = "/run/user/" + strconv.Itoa(uid)
	}
	return []socket{{filepath.Join(runtimeDir, "systemd/private"), false}, {filepath.Join(runtimeDir, "bus"), true}}
}

// scope is a scope to be started with the first process, since an empty scope
// cannot exist.
type scope struct {
	sys    system
	view   view
	sock   socket
	unit   string
	limits Limits
	dir    string // where it is, once started
}

// findScope looks for a manager that answers and that has the controllers to
// hand out. On v1 a user's manager would accept the limits and enforce none.
func (s system) findScope(v view, unit string, want Limits, r *Report) *scope {
	var why error = errNoManager
	for _, sock := range s.sockets {
		if _, err := os.Stat(sock.path); err != nil {
			continue
		}
		b, pid, err := dialBus(sock.path)
		if err != nil {
			why = err
			continue
		}
		b.f.Close()
		limits, err := s.managerLimits(v, pid, want)
		if err != nil {
			why = err
			continue
		}
		if missing := want.without(limits); missing != (Limits{}) {
			r.refuse(missing, "systemd: "+errNoController.Error())
		}
		return &scope{sys: s, view: v, sock: sock, unit: unit, limits: limits}
	}
	r.refuse(want, "systemd: "+cause(why))
	return nil
}

var errNoManager = errors.New("no manager for this user")

// managerLimits returns which limits the manager with this pid can enforce: it
// lives in a leaf of the subtree from which it hands out groups.
func (s system) managerLimits(v view, pid int, want Limits) (Limits, error) {
	dir, err := s.groupOf(v, pid)
	if err != nil {
		return Limits{}, err
	}
	if _, top, _ := v.v2(); dir != top {
		dir = filepath.Dir(dir)
	}
	has, err := words(dir, "cgroup.controllers")
	if err != nil {
		return Limits{}, err
	}
	if !slices.Contains(has, "pids") {
		want.Pids = 0
	}
	if !slices.Contains(has, "memory") {
		want.Memory = 0
	}
	if want == (Limits{}) {
		return want, errNoController
	}
	return want, nil
}

// groupOf returns the v2 directory of another process.
func (s system) groupOf(v view, pid int) (string, error) {
	b, err := read(filepath.Join(s.proc, strconv.Itoa(pid), "cgroup"))
	if err != nil {
		return "", err
	}
	if v.groups, err = parseMemberships(string(b)); err != nil {
		return "", err
	}
	dir, _, ok := v.v2()
	if !ok {
		return "", errors.New("its cgroup is not in our view")
	}
	return dir, nil
}

// start has the manager make the scope around the processes and believes only
// what the kernel then shows.
func (c *scope) start(pids ...int) error {
	b, _, err := dialBus(c.sock.path)
	if err != nil {
		return err
	}
	defer b.f.Close()
	if err := c.greet(b); err != nil {
		return err
	}
	err = c.startUnit(b, pids, true)
	var refused *busError
	if errors.As(err, &refused) {
		err = c.startUnit(b, pids, false)
	}
	if err != nil {
		return err
	}
	if c.dir, err = c.sys.groupOf(c.view, pids[0]); err != nil {
		return err
	}
	if filepath.Base(c.dir) != c.unit {
		c.dir = ""
		return errors.New("the manager did not move the process")
	}
	return errors.Join(holds(c.dir, "pids.max", c.limits.Pids), holds(c.dir, "memory.max", c.limits.Memory))
}

// greet introduces us to a bus daemon and asks for the manager's signals.
func (c *scope) greet(b *bus) error {
	if !c.sock.broker {
		return nil
	}
	hello := message{dest: busName, path: "/org/freedesktop/DBus", iface: busName, member: "Hello"}
	if _, err := b.call(hello); err != nil {
		return err
	}
	var rule encoder
	rule.string("type='signal',sender='" + systemdName + "',interface='" + systemdIface + "',member='JobRemoved'")
	match := hello
	match.member, match.signature, match.body = "AddMatch", "s", rule
	_, err := b.call(match)
	return err
}

// startUnit sends StartTransientUnit and waits until its job has ended: the
// answer alone only says that the job is queued.
func (c *scope) startUnit(b *bus, pids []int, spare bool) error {
	queued, err := b.call(message{dest: c.destination(), path: systemdPath, iface: systemdIface,
		member: "StartTransientUnit", signature: "ssa(sv)a(sa(sv))", body: c.request(pids, spare)})
	if err != nil {
		return err
	}
	for range maxMessages {
		m, err := b.receive()
		if err != nil {
			return err
		}
		unit, result, ok := jobRemoved(m)
		if !ok || unit != c.unit || m.sender != queued.sender {
			continue
		}
		if result != "done" {
			return fmt.Errorf("the job ended with %q", result)
		}
		return nil
	}
	return errors.New("dbus: the job never ended")
}

func (c *scope) destination() string {
	if c.sock.broker {
		return systemdName
	}
	return "" // at the manager's own socket there is nobody else to name
}

// request marshals the arguments of StartTransientUnit. spare asks that an
// out-of-memory kill ends one process and not the session; managers before 253
// do so anyway and do not know the word.
func (c *scope) request(pids []int, spare bool) []byte {
	var e encoder
	property := func(name, kind string, value func()) {
		e.align(8)
		e.string(name)
		e.signature(kind)
		value()
	}
	number := func(name string, n int64) {
		if n > 0 {
			property(name, "t", func() { e.uint64(uint64(n)) })
		}
	}
	e.string(c.unit)
	e.string("fail") // never touch a unit that exists
	e.array(8, func() {
		property("Description", "s", func() { e.string("ringfence session") })
		property("CollectMode", "s", func() { e.string("inactive-or-failed") })
		property("PIDs", "au", func() {
			e.array(4, func() {
				for _, pid := range pids {
					e.uint32(uint32(pid))
				}
			})
		})
		number("TasksMax", c.limits.Pids)
		number("MemoryMax", c.limits.Memory)
		if c.limits.Memory > 0 {
			property("MemorySwapMax", "t", func() { e.uint64(0) })
		}
		if spare {
			property("OOMPolicy", "s", func() { e.string("continue") })
		}
	})
	e.array(8, func() {}) // no auxiliary units
	return e
}

// jobRemoved reads the signal JobRemoved(id u, job o, unit s, result s).
func jobRemoved(m message) (unit, result string, ok bool) {
	if m.kind != kindSignal || m.iface != systemdIface || m.member != "JobRemoved" || m.signature != "uoss" {
		return "", "", false
	}
	d := decoder{b: m.body, order: m.order}
	d.uint32()
	d.string()
	unit, result = d.string(), d.string()
	return unit, result, d.err == nil
}

// holds checks that a limit is in force. The kernel rounds memory down to whole
// pages, and an ancestor may be tighter.
func holds(dir, file string, want int64) error {
	if want == 0 {
		return nil
	}
	b, err := read(filepath.Join(dir, file))
	if err != nil {
		return err
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	if err != nil || n > want {
		return fmt.Errorf("%s does not hold: it is %q", file, strings.TrimSpace(string(b)))
	}
	return nil
}
