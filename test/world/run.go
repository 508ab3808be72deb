package world

import (
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ServerUser is as whom programs run on the internet: never root.
const ServerUser = "git"

// systemPath is what every user of the machine has.
const systemPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// ordinaryID is who that is where root runs the tests.
const ordinaryID = 1711

func serverID() (uid, gid int) {
	if os.Getuid() == 0 {
		return ordinaryID, ordinaryID
	}
	return os.Getuid(), os.Getgid()
}

// runServer runs a program on the internet and tells over c what it says and how it
// ends. It is killed when the other side hangs up.
func runServer(c net.Conn, argv []string) {
	out := json.NewEncoder(c)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = Net
	cmd.Env = []string{"PATH=" + systemPath, "HOME=" + Net, "LANG=C.UTF-8", "USER=" + ServerUser}
	cmd.Stdout = outputWriter{out}
	cmd.Stderr = cmd.Stdout
	cmd.WaitDelay = time.Second // something that it started may still hold its output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if os.Getuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: ordinaryID, Gid: ordinaryID}
	}
	if err := startPlain(cmd); err != nil {
		out.Encode(reply{Ended: true, Error: err.Error()})
		return
	}
	go func() {
		io.Copy(io.Discard, c)
		unix.Kill(-cmd.Process.Pid, unix.SIGKILL)
	}()
	cmd.Wait()
	out.Encode(reply{Ended: true, Status: cmd.ProcessState.ExitCode()})
}

// startPlain starts a program without the capabilities that this process has as the
// maker of its user namespace. They belong to a thread, and that one is not used
// again.
func startPlain(cmd *exec.Cmd) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
		if err == nil {
			err = cmd.Start()
		}
		done <- err
	}()
	return <-done
}

type outputWriter struct{ to *json.Encoder }

func (w outputWriter) Write(b []byte) (int, error) { return len(b), w.to.Encode(reply{Output: b}) }
