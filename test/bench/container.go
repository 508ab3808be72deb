package main

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"ringfence.dev/ringfence/test/dockerd"
)

// trueName is this program as one that does nothing: static, so that a container needs no
// more than it.
const trueName = "bench-true"

// container measures the way to `true` and back in a container, beside the engine's own client
// with the same empty image.
func (b *bench) container() (err error) {
	if os.Getuid() != 0 {
		b.note("start in a container", "not measured: only root can start an engine")
		return nil
	}
	dir, err := b.workspace("empty", nil)
	if err != nil {
		return err
	}
	e := dockerd.Engine{Dir: b.dir + "/engine", Group: fmt.Sprintf("bench-%d-engine", os.Getpid()), Plain: true, Apart: true}
	daemon, err := e.Raise()
	if err != nil {
		return err
	}
	defer func() {
		daemon.Signal(syscall.SIGTERM)
		_, werr := daemon.Wait()
		err = errors.Join(err, werr, dockerd.RemoveGroup(e.Group))
	}()
	defer os.Unsetenv("DOCKER_HOST")
	os.Setenv("DOCKER_HOST", "unix://"+dockerd.Socket(e.Dir)) // for both clients
	ours := b.inside([]string{"--rung", "container", "--net", "none"}, "true")
	if _, err := run(b.command(dir, ours...)); err != nil { // makes the image
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	theirs := []string{"docker", "run", "--rm", "--network", "none", "--read-only", "--log-driver", "none",
		"--volume", self + ":/" + trueName + ":ro", "--entrypoint", "/" + trueName, "ringfence-nothing:1"}
	all, err := b.hyperfine(dir, b.rounds, theirs, ours)
	if err != nil {
		return err
	}
	med, least := ratio(all[1], all[0])
	b.add("start of ringfence in a container / docker run, the same empty image", med <= 1.5, "at most 1.5", "%.2f (minima %.2f)", med, least)
	b.note("start in a container, medians", "docker run %.0f ms, ringfence %.0f ms", all[0].median()*1e3, all[1].median()*1e3)
	return nil
}
