package container

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"ringfence.dev/ringfence/test/built"
)

// needed is what a devcontainer has to set, and all that ringfence may ask for.
var needed = []string{"seccomp=unconfined", "systempaths=unconfined"}

// accounts are those that a devcontainer is used with.
var accounts = []struct{ name, uid string }{{"root", "0"}, {"user", "1000"}}

func TestMain(m *testing.M) {
	if os.Args[0] == stageName {
		os.Exit(stage())
	}
	os.Exit(m.Run())
}

func TestInContainer(t *testing.T) {
	if os.Getuid() != 0 {
		leaveToRoot(t)
		return
	}
	e := startEngine(t)
	e.makeImage(t, buildRingfence(t))
	for _, a := range accounts {
		t.Run("defaults/"+a.name, func(t *testing.T) { refuses(t, e, a.uid, nil, needed) })
		// A setting that is there must not be asked for again.
		t.Run("half/"+a.name, func(t *testing.T) { refuses(t, e, a.uid, needed[:1], needed[1:]) })
		t.Run("set/"+a.name, func(t *testing.T) {
			t.Run("run", func(t *testing.T) { runs(t, e, a.uid) })
			t.Run("doctor", func(t *testing.T) { isHealthy(t, e, a.uid) })
			t.Run("verify", func(t *testing.T) { holds(t, e, a.uid) })
		})
	}
}

// leaveToRoot is all that an ordinary user can do: the engine itself wants root.
// That is no proof of anything, so CI must not be content with it.
func leaveToRoot(t *testing.T) {
	if os.Getenv("CI") == "true" {
		t.Fatal("in CI this test must run as root: only root can start a container engine")
	}
	path, err := exec.LookPath("dockerd")
	if err != nil {
		path = "/usr/sbin/dockerd"
	}
	cmd := exec.Command(path, "--data-root", t.TempDir(), "--exec-root", t.TempDir(), "--pidfile", filepath.Join(t.TempDir(), "pid"),
		"--host", "unix://"+filepath.Join(t.TempDir(), "socket"), "--bridge=none", "--iptables=false")
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Fatalf("%s started for an ordinary user, so this test should have run:\n%s", path, out)
	}
	t.Logf("not shown here, because only root can start a container engine: %v", err)
}

func buildRingfence(t *testing.T) string {
	bin := filepath.Join(t.TempDir(), "ringfence")
	if err := built.Ringfence(bin); err != nil {
		t.Fatal(err)
	}
	return bin
}
