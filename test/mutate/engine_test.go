package mutate

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"

	"ringfence.dev/ringfence/test/dockerd"
)

// raised starts a container engine, which ends with the test, and returns its socket; "" for
// who is not root.
func raised(t *testing.T) string {
	t.Helper()
	if os.Getuid() != 0 {
		return ""
	}
	e := dockerd.Engine{Dir: directory(t, "/var/lib", 0), GID: ordinaryID, Group: fmt.Sprintf("mutate-%d-engine", os.Getpid()), Plain: true, Apart: true}
	daemon, err := e.Raise()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := daemon.Signal(syscall.SIGTERM) // it ends what it started
		_, err2 := daemon.Wait()
		if err := errors.Join(err, err2, dockerd.RemoveGroup(e.Group)); err != nil {
			t.Error(err)
		}
	})
	return dockerd.Socket(e.Dir)
}
