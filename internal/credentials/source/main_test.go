package source

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

const roleVar = "SECRET_TEST_ROLE"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVar); role != "" {
		crash(role)
	}
	os.Exit(m.Run())
}

// crash dies of a signal that leaves a core dump where nothing forbids it.
func crash(role string) {
	var limit unix.Rlimit
	unix.Getrlimit(unix.RLIMIT_CORE, &limit)
	limit.Cur = limit.Max
	unix.Setrlimit(unix.RLIMIT_CORE, &limit)
	switch role {
	case "core":
		if NoCore() != nil {
			os.Exit(9)
		}
	case "dump":
		if NoDump() != nil {
			os.Exit(9)
		}
	}
	signal.Reset(unix.SIGQUIT)
	unix.Kill(os.Getpid(), unix.SIGQUIT)
	select {}
}

func TestNoCore(t *testing.T) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &limit); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		role string
		want bool
	}{{"none", limit.Max > 1<<20}, {"core", false}, {"dump", false}} {
		cmd := exec.Command("/proc/self/exe")
		cmd.Env, cmd.Dir = append(os.Environ(), roleVar+"="+c.role, "GOTRACEBACK=crash"), t.TempDir()
		cmd.Run()
		status := cmd.ProcessState.Sys().(syscall.WaitStatus)
		if !status.Signaled() || status.CoreDump() != c.want {
			t.Errorf("%s: signal %v, core dump %v, want %v", c.role, status.Signal(), status.CoreDump(), c.want)
		}
		left, err := os.ReadDir(cmd.Dir)
		if err != nil || !c.want && len(left) > 0 {
			t.Errorf("%s left %v (%v)", c.role, left, err)
		}
	}
}
