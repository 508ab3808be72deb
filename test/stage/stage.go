// Package stage lets the tests of a package play on a host of their own: private
// process table, private mounts, empty /srv, /tmp, /var/tmp and /dev/shm, a network
// with loopback only, a group of its own in the cgroup tree. What a test leaves behind there is seen, what
// others do meanwhile is not, and everything ends with the stage.
//
// Where root runs the tests they are played twice, as root and as an ordinary
// user. An ordinary user plays them as himself, in a user namespace of the stage.
package stage

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/test/built"
	"ringfence.dev/ringfence/test/daemon"
	"ringfence.dev/ringfence/test/rungs"
	"ringfence.dev/ringfence/test/tier"
)

// The fixed places of a stage. Home, Work and Small belong to the user.
const (
	Ringfence = "/srv/bin/ringfence"
	Home      = "/srv/home"
	Work      = "/srv/work"
	Small     = "/srv/small" // a disk that is soon full
)

// ordinaryID is a user that no other program of the host runs as.
const ordinaryID = 1711

// The variables by which one process tells the next what it is.
const (
	raiseEnv  = "STAGE_RAISE"  // "UID:BINARY": build the stage, then play
	playEnv   = "STAGE_PLAY"   // the stage stands: run the tests
	groupsEnv = "STAGE_GROUPS" // directories in the cgroup tree that are the stage's
	groupEnv  = "STAGE_GROUP"  // name of the group to make
	aloneEnv  = "STAGE_ALONE"  // "yes": no other user plays
)

// Engine is where the container engine of a stage is, if it has one.
const Engine = "/srv/engine"

// WantEngine says that a suite needs one, whatever rung it plays on. A TestMain sets it before it
// calls Main, as root: nobody else can start an engine.
var WantEngine bool

// Before builds what else a suite needs on a stage, with root's rights where the stage has them.
// A TestMain sets it before it calls Main.
var Before func(uid, gid int) error

// Main is the TestMain of a package that plays on a stage. It does not return.
func Main(m *testing.M) { run(m, unix.CLONE_NEWNET) }

// Within is Main where the network around the stage belongs to the play.
func Within(m *testing.M) { run(m, 0) }

func run(m *testing.M, network uintptr) {
	switch {
	case os.Getenv(playEnv) != "":
		heedKeys()
		os.Exit(m.Run())
	case os.Getenv(raiseEnv) != "":
		fmt.Fprintln(os.Stderr, "stage:", raise(os.Getenv(raiseEnv)))
		os.Exit(1)
	}
	status, err := play(network)
	if err != nil {
		fmt.Fprintln(os.Stderr, "stage:", err)
		status = 1
	}
	os.Exit(status)
}

// play runs the tests on one stage for each user that this process can be.
func play(network uintptr) (status int, err error) {
	dir, err := os.MkdirTemp("", "stage-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	bin := filepath.Join(dir, "ringfence")
	if err := built.Ringfence(bin); err != nil {
		return 1, err
	}
	ids := []int{os.Getuid()}
	if ids[0] == 0 {
		ids = append(ids, ordinaryID)
	}
	if !rungs.Plain() && !tier.All() { // what differs between users is played on the native rung
		ids = ids[len(ids)-1:]
	}
	var alone string
	if len(ids) == 1 {
		alone = "yes"
	}
	for _, uid := range ids {
		fmt.Printf("stage: uid %d\n", uid)
		if err := perform(uid, bin, alone, network); err != nil {
			fmt.Printf("stage: uid %d: %v\n", uid, err)
			status = 1
		}
	}
	return status, nil
}

// Pass names variables that a suite hands on to its stages.
var Pass []string

// perform runs this test binary again as the first process of a new stage.
func perform(uid int, bin, alone string, network uintptr) error {
	group := fmt.Sprintf("stage-%d-%d", os.Getpid(), uid)
	cmd := exec.Command("/proc/self/exe", flags()...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Env = []string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=" + Home, "TERM=xterm", "LANG=C.UTF-8",
		fmt.Sprintf("%s=%d:%s", raiseEnv, uid, bin), groupEnv + "=" + group,
		tier.Env + "=" + os.Getenv(tier.Env), built.RungEnv + "=" + os.Getenv(built.RungEnv), daemon.Env + "=" + os.Getenv(daemon.Env), aloneEnv + "=" + alone,
	}
	for _, name := range Pass {
		cmd.Env = append(cmd.Env, name+"="+os.Getenv(name))
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Pdeathsig:  syscall.SIGKILL,
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID | network,
	}
	if own := os.Getuid(); own != 0 {
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: own, HostID: own, Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
		cmd.SysProcAttr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN}
	}
	return errors.Join(cmd.Run(), removeGroups(group))
}

// flags are ours for the tests, without the files that `go test` wants written:
// on the stage their places do not exist.
func flags() []string {
	return slices.DeleteFunc(slices.Clone(os.Args[1:]), func(arg string) bool {
		return strings.HasPrefix(arg, "-test.testlogfile=")
	})
}
