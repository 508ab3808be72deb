package checks

import (
	"os/exec"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/sandbox/hostfacts"
)

func TestFixScript(t *testing.T) {
	bad := func(name, detail, fix string) hostfacts.Result {
		return hostfacts.Result{Name: name, Status: hostfacts.Unusable, Detail: detail, Fix: fix}
	}
	got := fixScript([]hostfacts.Result{
		{Name: "seccomp", Status: hostfacts.OK, Fix: "sudo never"},
		bad("user", "user namespaces are switched off", "sudo sysctl -w user.max_user_namespaces=15000"),
		bad("mount", "the same", "sudo sysctl -w user.max_user_namespaces=15000"),
		bad("tty", "no pseudo-terminals", "sudo mount -t devpts devpts /dev/pts && sudo ln -sf pts/ptmx /dev/ptmx"),
		bad("gate", "no nftables", "sudo modprobe -a nf_tables; or start without a network: --net none"),
		bad("limits", "no manager", `sudo loginctl enable-linger "$USER" (a user manager makes the scopes)`),
		bad("landlock", "old\nrm -rf /\x1b[2J", "boot Linux 5.13 or later"),
		bad("apparmor", "no profile", "sudo make install"), // whose Makefile?
		bad("two", "one of them is not for root", "sudo sysctl -w a=1 && sudo ./evil"),
	})
	want := `#!/bin/sh
# What this host lacks for ringfence. Settings of sysctl and modules last until the next boot.
set -e
cd /
PATH=/usr/sbin:/usr/bin:/sbin:/bin

# user: user namespaces are switched off
sysctl -w user.max_user_namespaces=15000

# tty: no pseudo-terminals
mount -t devpts devpts /dev/pts && ln -sf pts/ptmx /dev/ptmx

# gate: no nftables
modprobe -a nf_tables
# by hand: or start without a network: --net none

# limits: no manager
loginctl enable-linger "${SUDO_USER:-$USER}"
# by hand: (a user manager makes the scopes)

# landlock: old rm -rf /\u001b[2J
# by hand: boot Linux 5.13 or later

# apparmor: no profile
# by hand: sudo make install

# two: one of them is not for root
# by hand: sudo sysctl -w a=1 && sudo ./evil
`
	if got != want {
		t.Errorf("the script is\n%s", got)
	}
	sh := exec.Command("sh", "-n")
	sh.Stdin = strings.NewReader(got)
	if out, err := sh.CombinedOutput(); err != nil {
		t.Errorf("no shell reads it: %s", out)
	}
	if fixScript([]hostfacts.Result{{Status: hostfacts.OK}}) != "" {
		t.Error("there is a script for nothing")
	}
}
