package attack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/test/built"
	"ringfence.dev/ringfence/test/dockerd"
	"ringfence.dev/ringfence/test/rungs"
	"ringfence.dev/ringfence/test/wait"
)

// stageName is the name under which this test binary runs a case, as the first
// process of a host made for it.
const stageName = "attack-stage"

// request is what the stage is to do.
type request struct {
	Case     Case
	UID, GID int
	Canary   string
	Enter    []string // the command of ringfence and its flags; without, the control
	Bin      string   // ringfence and probe
	Root     string   // an empty directory, to build the host on
	Runsc    string   // where the rung needs it
	Group    string   // the cgroup of a container engine, where the rung needs one
	Ceiling  string   // the administrator's policy; "": none
	Rung     string
}

// machine is the real one, which lends its kernel and its /usr.
type machine struct {
	bin, root, canary string
	runsc             string // "": the rung needs none
	outer             *outer
}

func newMachine(bin, canary string) (*machine, error) {
	root, err := os.MkdirTemp("", "attack-root-")
	if err != nil {
		return nil, err
	}
	var runsc string
	if rungs.Name() == rungs.GVisor {
		runsc, err = built.Runsc()
	}
	out, oerr := newOuter()
	if err = errors.Join(err, oerr); err != nil {
		return nil, errors.Join(err, os.Remove(root))
	}
	return &machine{bin: bin, root: root, canary: canary, runsc: runsc, outer: out}, nil
}

func (m *machine) close() error { return errors.Join(m.outer.close(), os.Remove(m.root)) }

// run lets a stage run the case once. When it returns, the stage's PID namespace
// is gone and everything in it.
func (m *machine) run(c Case, u user, enter []string) (*outcome, error) {
	r := request{Case: c, UID: u.uid, GID: u.gid, Canary: m.canary,
		Enter: enter, Bin: m.bin, Root: m.root, Runsc: m.runsc, Ceiling: rungs.Policy(runscAt), Rung: rungs.Name()}
	if r.Rung == rungs.Container {
		r.Group, r.Ceiling = m.outer.engine(), rungs.Policy(dockerd.Socket(engineAt))
	}
	req, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*wait.Patience) // a run has waits of its own
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "/proc/self/exe")
	cmd.Args = []string{stageName}
	cmd.Env = []string{} // the host's environment is made, too
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.SysProcAttr = stageAttr()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the stage: %w", err)
	}
	// The stage waits for its request, and so starts nothing before it is under
	// the outer limit.
	group, err := m.outer.add(cmd.Process.Pid)
	if err == nil {
		_, err = stdin.Write(req)
	}
	err = errors.Join(err, stdin.Close(), cmd.Wait(), group.close())
	if r.Group != "" {
		err = errors.Join(err, dockerd.RemoveGroup(r.Group))
	}
	var got outcome
	if err == nil {
		err = json.Unmarshal(stdout.Bytes(), &got)
	}
	if err == nil && got.Fault != "" {
		err = errors.New(got.Fault)
	}
	if err != nil {
		return nil, fmt.Errorf("stage of %s: %w\n%s", c.ID, err, stderr.Bytes())
	}
	return &got, nil
}

// stageAttr puts the stage into namespaces of its own. An ordinary user gets them
// with a user namespace in which he is still himself, and capabilities that last
// until the stage starts something.
func stageAttr() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{
		Pdeathsig: syscall.SIGKILL,
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
			unix.CLONE_NEWIPC | unix.CLONE_NEWUTS,
	}
	if uid, gid := os.Getuid(), os.Getgid(); uid != 0 {
		attr.Cloneflags |= unix.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
		for c := range uintptr(unix.CAP_LAST_CAP + 1) {
			attr.AmbientCaps = append(attr.AmbientCaps, c)
		}
	}
	return attr
}
