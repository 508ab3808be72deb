package gvisor

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/stage"
	"ringfence.dev/ringfence/test/wait"
)

// TestInnerRefused: an agent's own sandbox that is asked for outright is refused with the reason
// that the next test measures; without the wish the agent runs, and its sandbox is off.
func TestInnerRefused(t *testing.T) {
	f := newFixture(t)
	bin := t.TempDir()
	claude := "#!/bin/sh\ncat /etc/claude-code/managed-settings.d/90-ringfence.json\n"
	if err := os.WriteFile(filepath.Join(bin, "claude"), []byte(claude), 0o755); err != nil {
		t.Fatal(err)
	}
	run := func(word string) (string, error) {
		f.Policy(fmt.Sprintf("[rung]\nrunsc = %q\n[agent]\ninner = %q\n", program(t), word))
		cmd := f.Cmd("claude", "--rung", "gvisor", "--yes")
		cmd.Env = append(cmd.Env, "PATH="+bin+":"+os.Getenv("PATH"), "ANTHROPIC_API_KEY=sk-of-nobody")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	out, err := run("on")
	if err == nil || !strings.Contains(out, "the sandbox of Claude Code cannot be on inside") || !strings.Contains(out, "RTM_NEWADDR") || strings.Contains(out, "enabled") {
		t.Errorf("on: %v\n%s", err, out)
	}
	for _, word := range []string{"auto", "off"} {
		if out, err := run(word); err != nil || !strings.Contains(out, `"sandbox": {"enabled": false}`) {
			t.Errorf("%s: %v\n%s", word, err, out)
		}
	}
}

// TestInnerCannotBe holds gVisor's kernel, without any wall of ours, to what ADR 68 says of it.
// Where a line of it fails, a newer runsc can do more: then [agent] inner wants to be decided
// anew. Each script ends with 0 if it got what it wanted.
func TestInnerCannotBe(t *testing.T) {
	const bwrap = `bwrap --new-session --die-with-parent %s --ro-bind / / --bind "$PWD" "$PWD" --dev /dev --unshare-pid --proc /proc -- sh -c 'test $$ -lt 9'`
	const lifted = `unshare -Urm sh -c 'mount -t tmpfs -o ro covers /mnt && echo covered && unshare -Urm sh -c "mount -o remount,rw,bind /mnt && touch /mnt/x"'`
	for _, c := range []struct {
		name, script string
		host, sentry bool
		says         string // where it fails
	}{
		{"bubblewrap but for a network of its own", fmt.Sprintf(bwrap, ""), true, true, ""},
		{"bubblewrap as agents call it", fmt.Sprintf(bwrap, "--unshare-net"), true, false, "loopback: Failed RTM_NEWADDR"},
		{"the call that fails", "unshare -Urn ip addr add 127.0.0.1/8 dev lo", true, false, "File exists"},
		// What an agent would gain: the reason why the wall is not taken away for less.
		{"a read-only mount is lifted by a lesser user namespace", lifted, false, true, "covered"},
		{"devices that the session has not", `unshare -Urm sh -c 'mount -t devtmpfs d /mnt && : < /mnt/fuse'`, false, true, "permission denied"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if out, err := bare(t, "sh", "-c", c.script); (err == nil) != c.host || !c.host && !strings.Contains(out, c.says) {
				t.Errorf("on the host: %v\n%s", err, out)
			}
			out, err := bare(t, append(sentry(t), "sh", "-c", c.script)...)
			if (err == nil) != c.sentry || !c.sentry && !strings.Contains(out, c.says) {
				t.Errorf("on the sentry: %v\n%s\nif runsc can do it now, see docs/adr/0068-no-sandbox-of-the-agents-own-on-gvisor.md", err, out)
			}
		})
	}
}

// sentry is how a command begins that runs on gVisor's kernel and behind nothing of ours.
func sentry(t *testing.T) []string {
	argv := []string{program(t), "--root=" + t.TempDir(), "--ignore-cgroups", "--network=none", "--platform=systrap"}
	if os.Getuid() != 0 {
		argv = append(argv, "--rootless")
	}
	return append(argv, "do")
}

// bare runs a command in an empty directory.
func bare(t *testing.T, argv ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), wait.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = t.TempDir(), []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=" + stage.Home}
	out, err := cmd.CombinedOutput()
	return string(out), err
}
