//go:build ringfence_mutate

package guest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// The fifth argument: what a test wants more. The sixth follows.
const (
	Attackers = "attackers"
	LeaveOut  = "leave-out"
)

// attackers is the directory of the share in which a test has a program that is to be root of
// the guest, beside the far end: as somebody is who broke out of the walls there. leftOut is what
// the far end leaves out.
var attackers, leftOut string

func told(args []string) []string {
	if len(args) != 6 {
		return args
	}
	switch args[4] {
	case Attackers:
		attackers = args[5]
	case LeaveOut:
		leftOut = args[5]
	}
	return args[:4]
}

// farEnv is the environment of the far end.
func farEnv() []string { return []string{"RINGFENCE_MUTATE=" + leftOut} }

// accomplice starts that program once there is a layer, into which it can write what became
// of its attacks.
func accomplice(farEnd int) {
	if attackers == "" {
		return
	}
	go func() {
		upper := DiskAt + "/far/0/upper"
		for _, err := os.Stat(upper); err != nil; _, err = os.Stat(upper) {
			time.Sleep(50 * time.Millisecond)
		}
		at := filepath.Join(ShareAt, attackers, "attacker")
		_, err := syscall.ForkExec(at, []string{"attacker", filepath.Join(ShareAt, attackers), upper, strconv.Itoa(farEnd)},
			&syscall.ProcAttr{Dir: "/", Env: []string{}, Files: []uintptr{0, 1, 2}})
		if err != nil {
			fmt.Println("ringfence-guest: the accomplice:", err)
		}
	}()
}
