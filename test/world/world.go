// Package world is a small network of its own for tests of the gate. It has two
// ends: a host, on which the tests and ringfence run, and an internet, which is one
// process behind the host's only cable. Every address of IPv4 and IPv6 that is not
// the host's own leads there and answers, the internal ones too: without the gate
// all of them can be reached, which is the control to every test that says "closed".
// No packet ever leaves for a real network.
//
// The internet has a resolver that tells what it was asked, web servers that have a
// certificate for every name, a few plain servers, and a watch on the cable that
// sees every connection before anybody answers it.
//
// The tests play on stages (package stage) that stand in the host: as root and as an
// ordinary user where root runs them, else as the user who does. All of it is this
// test binary, started again under other names, and ends with it.
//
// One world serves one test at a time: its records begin anew with New.
package world

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/test/built"
	"ringfence.dev/ringfence/test/stage"
)

// The addresses of the host, and of the internet's end of the cable.
const (
	Host4        = "192.0.2.2"
	Host6        = "2001:db8:2::2"
	HostPrivate4 = "10.9.0.2"
	HostPrivate6 = "fd09::2"

	Router4 = "192.0.2.1"
	Router6 = "2001:db8:2::1"
)

// Where things are, on the host as on the internet. Net is for files that servers
// of the internet need: everybody may write there.
const (
	root = "/run/ringfence-world"
	Net  = root + "/net"
	Web  = Net + "/www" // what the web servers show under /files/
	bin  = root + "/bin"

	caFile     = root + "/ca.pem"
	socketFile = root + "/control"
)

// The names under which this binary is started again.
const (
	hostName     = "world-host"
	internetName = "world-internet"
)

// worldBinEnv tells a world where the programs are that were built for it.
const worldBinEnv = "WORLD_BIN"

// Main is the TestMain of a package that plays in a world. The programs are packages
// relative to the test's own; they are built without cgo, and Program tells where
// they are. Main does not return.
func Main(m *testing.M, programs ...string) {
	runtime.LockOSThread() // "die with the parent" and ambient capabilities belong to a thread
	var err error
	switch os.Args[0] {
	case internetName:
		err = internet()
	case hostName:
		if err = makeHost(); err == nil {
			stage.Within(m)
		}
	default:
		if _, stands := os.Stat(socketFile); stands == nil {
			stage.Within(m)
		}
		var status int
		if status, err = begin(programs); err == nil {
			os.Exit(status)
		}
	}
	fmt.Fprintln(os.Stderr, "world:", err)
	os.Exit(1)
}

// Program is where a program that was given to Main lies.
func Program(name string) string { return filepath.Join(bin, name) }

// begin builds what is needed, because in the world there is nowhere to load it
// from, and starts the host.
func begin(programs []string) (status int, err error) {
	dir, err := os.MkdirTemp("", "world-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	env := append(os.Environ(), worldBinEnv+"="+filepath.Join(dir, "bin"))
	if built.Given() == "" {
		ringfence := filepath.Join(dir, "ringfence")
		if err := built.Ringfence(ringfence); err != nil {
			return 1, err
		}
		env = append(env, built.Set(ringfence))
	}
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
		return 1, err
	}
	for _, p := range programs {
		if err := built.Program(filepath.Join(dir, "bin", filepath.Base(p)), p); err != nil {
			return 1, err
		}
	}
	cmd := reexec(hostName, unix.CLONE_NEWNS|unix.CLONE_NEWNET)
	cmd.Args = append(cmd.Args, os.Args[1:]...)
	cmd.Env, cmd.Stdout = env, os.Stdout
	if uid := os.Getuid(); uid != 0 {
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
		cmd.SysProcAttr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_NET_RAW, unix.CAP_NET_BIND_SERVICE}
	}
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return max(exit.ExitCode(), 1), nil
	}
	return 0, err
}

// reexec prepares this binary under another name, in namespaces of its own.
func reexec(name string, namespaces uintptr) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{name}
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Cloneflags: namespaces}
	return cmd
}
