package ssh

import (
	"context"
	"os/exec"
	"regexp"
	"strconv"
	"time"

	"ringfence.dev/ringfence/internal/fault"
)

// The first OpenSSH that knows every option of ours: StdinNull, ForkAfterAuthentication and
// SessionType came with 8.7.
const oldestMajor, oldestMinor = 8, 7

// versionOf finds the version in what ssh -V says.
var versionOf = regexp.MustCompile(`(?m)^OpenSSH_(?:for_[A-Za-z]+_)?([0-9]{1,3})\.([0-9]{1,3})`)

// recent refuses a client that does not know our options, before anybody is dialled.
func recent(ctx context.Context, program string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "-V")
	cmd.Env = environ()
	cmd.WaitDelay = time.Second
	said, err := cmd.CombinedOutput()
	if err != nil {
		return fault.New(fault.Refused, "install OpenSSH's client", "%s -V: %w", program, err)
	}
	return newEnough(string(said))
}

func newEnough(said string) error {
	const hint = "install OpenSSH 8.7 or a later one (Debian 12, Ubuntu 22.04 and RHEL 9 have that)"
	v := versionOf.FindStringSubmatch(said)
	if v == nil {
		return fault.New(fault.Refused, hint, "the rung ssh needs OpenSSH, and the client here says it is %q", shown(said))
	}
	major, _ := strconv.Atoi(v[1]) // both are a few digits
	minor, _ := strconv.Atoi(v[2])
	if major < oldestMajor || major == oldestMajor && minor < oldestMinor {
		return fault.New(fault.Refused, hint, "the client here is OpenSSH %d.%d, and the rung ssh needs %d.%d", major, minor, oldestMajor, oldestMinor)
	}
	return nil
}
