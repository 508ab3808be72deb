package checks

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/sandbox/hostfacts"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/state"
	"ringfence.dev/ringfence/internal/workspace/review"
)

// fix does what can be done as this user, and prints the rest as one script for root. It
// changes nothing of the system itself: whoever runs the script reads it first.
func fix(c *command.Console, results []hostfacts.Result) error {
	dirs, err := c.Dirs()
	if err != nil {
		return err
	}
	if err := fixOwn(c, dirs); err != nil {
		return err
	}
	script := fixScript(results)
	if script == "" {
		c.Say("nothing is left that needs root")
		return nil
	}
	c.Say("the rest needs root, or your hands; nothing of it was done. Read it, then run it as root: ringfence doctor --fix >fix.sh")
	_, err = io.WriteString(c.Out, script)
	return err
}

// fixOwn mends what is this user's: directories that others could write, and what sessions
// left that were killed. Each is named before.
func fixOwn(c *command.Console, dirs state.Dirs) error {
	for _, dir := range []string{dirs.Config, dirs.State, dirs.Journal()} {
		st, err := os.Lstat(dir)
		if err != nil || !st.IsDir() || st.Mode().Perm()&0o022 == 0 {
			continue
		}
		c.Say("others can write to %s: chmod go-w", plan.Show(dir))
		if err := os.Chmod(dir, st.Mode().Perm()&^0o022); err != nil {
			return err
		}
	}
	if _, err := os.Stat(dirs.State); errors.Is(err, os.ErrNotExist) {
		return nil // nothing was ever run
	}
	c.Say("what sessions left that were killed is tidied up")
	lost, err := journal.SettleAll(dirs.Journal())
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	for _, id := range lost {
		c.Say("%s was killed: its record is closed and signed", id)
	}
	return errors.Join(err, review.Sweep(dirs.State))
}

// fixScript is what root would run, with the reason before each line. What is no command is
// a remark. The same is not said twice.
func fixScript(results []hostfacts.Result) string {
	var b strings.Builder
	var said []string
	for _, r := range results {
		if r.Fix == "" || r.Status == hostfacts.OK || slices.Contains(said, r.Fix) {
			continue
		}
		said = append(said, r.Fix)
		fmt.Fprintf(&b, "\n# %s: %s\n", oneLine(r.Name), oneLine(r.Detail))
		run, rest := fixCommand(r.Fix)
		if run != "" {
			fmt.Fprintln(&b, run)
		}
		if rest != "" {
			fmt.Fprintf(&b, "# by hand: %s\n", oneLine(rest))
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "#!/bin/sh\n# What this host lacks for ringfence. Settings of sysctl and modules last until the next boot.\nset -e\ncd /\nPATH=/usr/sbin:/usr/bin:/sbin:/bin\n" + b.String()
}

// forRoot are the programs that a script for root may run. Each is the system's own, and
// none reads what lies in the directory that it is started in.
var forRoot = []string{"sysctl", "modprobe", "mount", "ln", "loginctl"}

// fixCommand takes the command out of a fix, as root runs it; rest is what is said besides.
func fixCommand(fix string) (run, rest string) {
	for part := range strings.SplitSeq(fix, " && ") {
		words := strings.Fields(part)
		if len(words) < 2 || words[0] != "sudo" || !slices.Contains(forRoot, words[1]) {
			return "", fix
		}
	}
	run = fix
	for _, end := range []string{"; or ", ", and ", " ("} {
		if i := strings.Index(run, end); i >= 0 {
			run, rest = run[:i], run[i:]+rest
		}
	}
	run = strings.ReplaceAll(run, "sudo ", "")
	run = strings.ReplaceAll(run, `"$USER"`, `"${SUDO_USER:-$USER}"`)
	return run, strings.TrimLeft(rest, ";, ")
}

// oneLine keeps a text from ending a remark of a script.
func oneLine(s string) string { return strings.Join(strings.Fields(command.Inert(s)), " ") }
