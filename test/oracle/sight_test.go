package oracle

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/sandbox/probe"
)

// sight is what can be seen from one place.
type sight struct {
	Descriptors  []string // what the probe was born with beyond the three
	Mounts       []probe.Mount
	Namespaces   map[string]uint64
	Status       map[string]string
	Environ      []string
	FirstEnviron string // of PID 1; "" also where it may not be read
	FirstCmdline string
	Dev, Nodes   []string // names in /dev, and those that are devices
	Processes    []string // command lines, but for ours
	Keys, Keyctl string
	NestedUser   string
	Terminal     string
	Writable     []string // files of /proc that open for writing
}

// look is the probe. It reports errors as what was seen: a wall shows as one.
func look() int {
	s := sight{Descriptors: descriptors(), Status: probe.ParseStatus(read("/proc/self/status")),
		Environ:      split(read("/proc/self/environ")),
		FirstEnviron: string(read("/proc/1/environ")), FirstCmdline: string(read("/proc/1/cmdline")),
		Processes: processes(), Keys: string(read("/proc/keys")), Namespaces: map[string]uint64{}}
	var err error
	if s.Mounts, err = probe.ParseMounts(read("/proc/self/mountinfo")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for _, kind := range probe.Kinds() {
		if s.Namespaces[kind], err = probe.Namespace("self", kind); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	s.devices()
	_, err = unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, false)
	s.Keyctl = answer(err)
	p, err := os.StartProcess("/proc/self/exe", []string{"none"}, &os.ProcAttr{Sys: &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}})
	if err == nil {
		p.Kill()
		p.Wait()
	}
	s.NestedUser = answer(err)
	s.Terminal = answer(writable("/dev/tty"))
	for _, f := range []string{"/proc/sys/kernel/hostname", "/proc/self/coredump_filter", "/proc/sysrq-trigger", "/proc/irq/default_smp_affinity"} {
		if writable(f) == nil {
			s.Writable = append(s.Writable, f)
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(s); err != nil {
		return 1
	}
	return 0
}

// descriptors asks each number in turn: to list them would open one more. What the
// Go runtime waits on is its own.
func descriptors() []string {
	var out []string
	for fd := 3; fd < 1024; fd++ {
		name, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
		if err == nil && !strings.HasPrefix(name, "anon_inode:[event") {
			out = append(out, name)
		}
	}
	return out
}

// devices opens none of them: on the host that could set one off.
func (s *sight) devices() {
	filepath.WalkDir("/dev", func(p string, _ fs.DirEntry, err error) error {
		if err != nil || p == "/dev" {
			return nil
		}
		s.Dev = append(s.Dev, p)
		if st, err := os.Stat(p); err == nil && st.Mode()&fs.ModeDevice != 0 {
			s.Nodes = append(s.Nodes, p)
		}
		return nil
	})
}

func processes() []string {
	var out []string
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return []string{err.Error()}
	}
	for _, d := range dirs {
		if d != "/proc/"+strconv.Itoa(os.Getpid()) {
			out = append(out, strings.Join(split(read(d+"/cmdline")), " "))
		}
	}
	return out
}

func writable(file string) error {
	fd, err := unix.Open(file, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

func read(file string) []byte {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	return b
}

func split(b []byte) []string {
	return strings.FieldsFunc(string(b), func(r rune) bool { return r == 0 })
}

func answer(err error) string {
	if err == nil {
		return "works"
	}
	var errno syscall.Errno
	errors.As(err, &errno)
	return "refused: " + unix.ErrnoName(errno)
}
