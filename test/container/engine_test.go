package container

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/test/wait"
)

const (
	// stageName is the name under which this test binary becomes the engine.
	stageName = "container-stage"
	// own is where the engine keeps everything, in a file system of its own.
	own = "/run/engine"
)

// engine is a running dockerd.
type engine struct {
	dir    string // of the test: the socket, the client's settings, the log
	client string
	group  string // cgroup that holds the containers
}

// startEngine starts dockerd and returns when it answers. When the test ends,
// nothing of it is left.
func startEngine(t *testing.T) *engine {
	e := &engine{dir: t.TempDir(), group: fmt.Sprintf("ringfence-container-%d", os.Getpid())}
	var err error
	if e.client, err = exec.LookPath("docker"); err != nil {
		t.Fatalf("%v: run `make tools`", err)
	}
	daemon, err := exec.LookPath("dockerd")
	if err != nil {
		t.Fatalf("%v: run `make tools`", err)
	}
	log, err := os.Create(filepath.Join(e.dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{stageName, daemon, e.socket(), "/" + e.group}
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + own}
	cmd.Stdout, cmd.Stderr = log, log
	// The first process of a PID namespace takes all of it along when it ends.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL,
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC}
	if err := cmd.Start(); err != nil {
		t.Fatalf("start the engine: %v", err)
	}
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }()
	t.Cleanup(func() { e.stop(t, cmd.Process, ended) })
	e.await(t, ended)
	return e
}

func (e *engine) socket() string { return filepath.Join(e.dir, "socket") }

// await returns when the engine answers. To try again is the only way to know.
func (e *engine) await(t *testing.T, ended <-chan struct{}) {
	ctx, cancel := context.WithTimeout(context.Background(), wait.Patience)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for e.docker(ctx, nil, "version").status != 0 {
		select {
		case <-tick.C:
		case <-ended:
			t.Fatal("the engine ended while it started")
		case <-ctx.Done():
			t.Fatal("the engine does not answer")
		}
	}
}

// stop ends the engine and shows its log if the test failed.
func (e *engine) stop(t *testing.T, p *os.Process, ended <-chan struct{}) {
	p.Kill()
	<-ended
	if t.Failed() {
		log, _ := os.ReadFile(filepath.Join(e.dir, "log"))
		t.Logf("log of the engine:\n%s", log)
	}
	if err := removeGroups(e.group); err != nil {
		t.Error(err)
	}
}

// removeGroups removes the cgroup of the containers from every hierarchy. It is
// empty: the kernel reaps a PID namespace before its first process can be waited
// for.
func removeGroups(name string) error {
	var errs []error
	for _, pattern := range []string{"/sys/fs/cgroup/", "/sys/fs/cgroup/*/"} {
		tops, err := filepath.Glob(pattern + name)
		if err != nil {
			return err
		}
		for _, top := range tops {
			below, err := filepath.Glob(top + "/*/")
			errs = append(errs, err)
			for _, dir := range append(below, top) {
				errs = append(errs, os.Remove(dir))
			}
		}
	}
	return errors.Join(errs...)
}

// result is what a command of the client gave.
type result struct {
	status         int
	stdout, stderr string
}

// docker runs the client, which reads no settings of this machine's user.
func (e *engine) docker(ctx context.Context, stdin []byte, args ...string) result {
	cmd := exec.CommandContext(ctx, e.client, args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + e.dir, "DOCKER_CONFIG=" + e.dir, "DOCKER_HOST=unix://" + e.socket()}
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stdin), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() < 0 {
			return result{-1, stdout.String(), stderr.String() + err.Error()}
		}
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// run starts a container with some security options and gives what ringfence said.
func (e *engine) run(t *testing.T, uid string, options []string, args ...string) result {
	ctx, cancel := context.WithTimeout(context.Background(), wait.Patience)
	defer cancel()
	flags := []string{"run", "--rm", "--network=none", "--user=" + uid + ":" + uid, "--workdir=" + workspace}
	for _, o := range options {
		flags = append(flags, "--security-opt="+o)
	}
	flags = append(flags, image, "ringfence")
	r := e.docker(ctx, nil, append(flags, args...)...)
	t.Logf("ringfence %q as %s with %q: status %d\n%s%s", args, uid, options, r.status, r.stdout, r.stderr)
	return r
}
