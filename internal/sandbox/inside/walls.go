package inside

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/landlock-lsm/go-landlock/landlock"
	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/sentry"
)

// raised is what the walls leave for the supervisor.
type raised struct {
	keyring int    // serial of the session keyring: nobody can ask once the filter is loaded
	ports   []port // where the network ends

	layers []int    // mounts of the private layers of live trees
	watch  *os.File // where the keeper hears of changes to them

	sentry *sentry.Running // the kernel of the agent, where it is not the host's
}

// raise does everything that makes this process a prisoner, in the one order that
// works. The namespaces exist already: clone made them.
func raise(p *plan.Plan) (r raised, err error) {
	lastCap, err := os.ReadFile("/proc/sys/kernel/cap_last_cap") // while the host's proc is in sight
	if err != nil {
		return r, &step{"caps", err}
	}
	var proc = -1 // procfs that can be written; only for a sentry
	for _, s := range []struct {
		wall plan.Wall
		do   func() error
	}{
		{sentryStep, func() (err error) { proc, err = ownProc(p); return err }},
		// Once more, now that the supervisor has put us under our limits: the
		// group we are in becomes the root of what we see.
		{plan.WallCgroup, func() error { return unix.Unshare(unix.CLONE_NEWCGROUP) }},
		{plan.WallUTS, func() error { return hostname(p.Hostname) }},
		{plan.WallNet, func() (err error) { r.ports, err = capture(p.Capture); return err }},
		// The count of user namespaces is set through the host's proc, which is
		// gone after the view is entered; the number belongs to our namespace.
		{plan.WallNested, func() error { return noNestedUsers(p, "/proc") }},
		{"limits", func() error { return shareInotify(has(p, plan.WallUser)) }},
		{plan.WallMount, func() (err error) { r.layers, err = buildView(p); return err }},
		{builtStep, func() error { return compareView(p) }},
		{leadStep, func() error {
			if !within(p) {
				return nil
			}
			return lead(p.Capture)
		}},
		{plan.WallKeyring, freshKeyring},
		// Limits before capabilities go: lowering needs none, but a mistake that
		// raises one must fail here and not be silently kept.
		{"limits", func() error { r.keyring = sessionKeyring(); return setLimits(p) }},
		// The sentry while we may still make its user namespace; it waits for its plan.
		{sentryStep, func() (err error) { r.sentry, err = startSentry(p, proc); return err }},
		// Capabilities after the last mount and before anything that trusts their
		// absence.
		{plan.WallCaps, func() error { return dropCaps(p, lastCap) }},
		// no_new_privs before Landlock and seccomp, which demand it of a process
		// without capabilities.
		{plan.WallNoNewPriv, func() error { return noNewPrivs(p) }},
		{plan.WallLandlock, func() error { return restrict(p.Landlock) }},
		// seccomp last: the calls above are among those it refuses.
		// On a sentry it is there already.
		{plan.WallSeccomp, func() error { return loadFilters(p) }},
		// From here on this process too waits for the keeper when it opens a file
		// to write.
		{watchStep, func() (err error) { r.watch, err = loadWatch(p.Watch); return err }},
	} {
		if !slices.Contains([]plan.Wall{"limits", watchStep, sentryStep, leadStep, builtStep}, s.wall) && !has(p, s.wall) {
			continue
		}
		if err := s.do(); err != nil {
			var inner *step
			if errors.As(err, &inner) {
				return r, inner
			}
			return r, &step{string(s.wall), err}
		}
	}
	return r, nil
}

// leadStep is no wall: it leads to the gate.
const leadStep = "gate"

// watchStep is no wall: without a keeper the trees are read-only.
const watchStep = "watch"

func loadFilters(p *plan.Plan) error {
	if within(p) {
		return nil
	}
	filter := p.Seccomp
	// What it leaves out, the watch has refused before anybody runs; and user namespaces are
	// refused by their count, too.
	if len(p.Watch) > 0 && len(p.Heard) > 0 && has(p, plan.WallNested) {
		filter = p.Heard
	}
	if err := sys.LoadFilter(filter); err != nil || len(p.Filter) == 0 {
		return err
	}
	return sys.LoadFilter(p.Filter)
}

func loadWatch(program []byte) (*os.File, error) {
	if len(program) == 0 {
		return nil, nil
	}
	return sys.LoadWatch(program)
}

// sessionKeyring returns the serial of this thread's session keyring; 0 if none.
func sessionKeyring() int {
	id, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, false)
	if err != nil {
		return 0
	}
	return id
}

func hostname(name string) error {
	if err := unix.Sethostname([]byte(name)); err != nil {
		return fmt.Errorf("set host name: %w", err)
	}
	return nil
}

// loopbackUp gives the namespace its own loopback, so that dev servers and
// tests inside can talk to themselves.
func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	req, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	req.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, req); err != nil {
		return fmt.Errorf("bring lo up: %w", err)
	}
	return nil
}

// noNestedUsers leaves one user namespace to a sentry; when that is there, none.
func noNestedUsers(p *plan.Plan, proc string) error {
	if !has(p, plan.WallUser) {
		return errors.New("without a user namespace of our own the number would be the host's")
	}
	if p.Sentry != nil && proc == "/proc" {
		return nil
	}
	return os.WriteFile(proc+"/sys/user/max_user_namespaces", []byte("0"), 0)
}

// shareInotify leaves a quarter of what the host's user has: the counters are
// shared with the programs outside.
func shareInotify(own bool) error {
	if !own {
		return nil
	}
	for _, name := range []string{"instances", "watches"} {
		b, err := os.ReadFile("/proc/sys/fs/inotify/max_user_" + name)
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(strings.TrimSpace(string(b)))
		if err != nil {
			return err
		}
		if err := os.WriteFile("/proc/sys/user/max_inotify_"+name, strconv.AppendInt(nil, int64(n)/4*3, 10), 0); err != nil {
			return err
		}
	}
	return nil
}

// freshKeyring moves this thread, the one that forks the agent, to a new session
// keyring: the one of the launcher may hold Kerberos tickets and fscrypt keys.
// The runtime's other threads keep the old one; nothing inside can reach them.
func freshKeyring() error {
	_, _, errno := unix.RawSyscall(unix.SYS_KEYCTL, unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0)
	if errno != 0 {
		return fmt.Errorf("join a new session keyring: %w", errno)
	}
	return nil
}

// setLimits lowers rlimits. They are counted per user namespace, so other
// programs of the same user do not use them up. A hard limit is never raised.
func setLimits(p *plan.Plan) error {
	l := p.Limits
	if around(p) {
		l = plan.Limits{} // they are the agent's: the sentry has threads and files of its own
	}
	for _, r := range []struct {
		what int
		max  uint64
	}{
		{unix.RLIMIT_CORE, 0}, // a core dump would hold the agent's memory in the workspace
		{unix.RLIMIT_NPROC, l.Pids},
		{unix.RLIMIT_NOFILE, l.Open},
		{unix.RLIMIT_FSIZE, l.File},
	} {
		if r.max == 0 && r.what != unix.RLIMIT_CORE {
			continue
		}
		var old syscall.Rlimit
		if err := syscall.Getrlimit(r.what, &old); err != nil {
			return fmt.Errorf("read rlimit %d: %w", r.what, err)
		}
		n := min(r.max, old.Max)
		// syscall.Setrlimit, not unix: it tells the runtime not to put back the
		// soft limit of open files that it found at start.
		if err := syscall.Setrlimit(r.what, &syscall.Rlimit{Cur: n, Max: n}); err != nil {
			return fmt.Errorf("set rlimit %d to %d: %w", r.what, n, err)
		}
	}
	return nil
}

func dropCaps(p *plan.Plan, last []byte) error {
	if within(p) {
		return nil // they are gone from every thread; see sentry.Init
	}
	n, err := sys.LastCap(last)
	if err != nil {
		return err
	}
	if err := sys.LockSecureBits(); err != nil {
		return err
	}
	if err := sys.DropBounding(n); err != nil {
		return err
	}
	return sys.DropCapabilities()
}

func noNewPrivs(p *plan.Plan) error {
	if within(p) {
		return nil // as with capabilities
	}
	return sys.NoNewPrivs()
}

// maxABI is the newest Landlock ABI whose rights we have decided about. A newer
// kernel still enforces these. From 9 on, connecting to a socket file of the host
// that lies in a visible tree is refused too: no rule below grants that right.
const maxABI = 9

// restrict is a second opinion on the view, independent of mounts: everything
// under the new root may be read and executed, only the named trees changed. A
// file that is not under the new root (a descriptor that leaked, the host's root)
// is under no rule and cannot be opened at all.
func restrict(l plan.Landlock) error {
	presets := []landlock.Config{landlock.V1, landlock.V2, landlock.V3, landlock.V4, landlock.V5, landlock.V6, landlock.V7, landlock.V8, landlock.V9}
	if l.ABI < 1 {
		return fmt.Errorf("landlock ABI %d is not usable", l.ABI)
	}
	preset := presets[min(l.ABI, maxABI)-1]
	// TCP rights are left to the network wall: handled without rules they would
	// close the sandbox's own loopback.
	set := []any{preset.HandledAccessFS}
	if preset.Scoped != 0 {
		set = append(set, preset.Scoped)
	}
	conf, err := landlock.NewConfig(set...)
	if err != nil {
		return err
	}
	rules := []landlock.Rule{landlock.RODirs("/")}
	for _, w := range l.Write {
		rule, err := writable(string(w), l.ABI)
		if err != nil {
			return err
		}
		rules = append(rules, rule)
	}
	for _, d := range l.Dev {
		rule := landlock.RWFiles(string(d))
		if l.ABI >= 5 {
			rule = rule.WithIoctlDev()
		}
		rules = append(rules, rule)
	}
	return conf.Restrict(rules...)
}

// writable allows a tree to be changed, or a single file where that was mounted.
func writable(p string, abi int) (landlock.Rule, error) {
	var st unix.Stat_t
	if err := unix.Stat(p, &st); err != nil {
		return nil, fmt.Errorf("landlock rule for %q: %w", p, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return landlock.RWFiles(p), nil
	}
	rule := landlock.RWDirs(p)
	if abi >= 2 {
		rule = rule.WithRefer()
	}
	return rule, nil
}
