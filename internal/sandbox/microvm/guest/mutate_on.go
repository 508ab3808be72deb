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

// attackers is the directory of the share in which a test has a program that is to be root of
// the guest, beside the far end: as somebody is who broke out of the walls there.
var attackers string

func told(args []string) []string {
	if len(args) == 5 {
		attackers = args[4]
		return args[:4]
	}
	return args
}

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
