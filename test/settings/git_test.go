package settings

import (
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var git = receiver{
	name: "git", file: ".git/config", seeds: 600, open: openGit, generate: gitFile,
	known: []string{
		"[core]\n\tfsmonitor = ./EVIL\n", "[core] fsmonitor = ./EVIL\n", "[CORE]FSMONITOR=./EVIL", "[core]\n\tfsmon\\\nitor = ./EVIL\n", "[core]\n\tpager = \"./EV\"IL\n", "[core]\n\tsshCommand = \\\n./EVIL\n",
		"# x\\\n[core]\n\tfsmonitor = ./EVIL\n", "; x\r[core]\n\tfsmonitor = ./EVIL\n", "\ufeff[core]\n\tfsmonitor = ./EVIL\n", "[alias]\n\tst = !./EVIL\n", "[alias \"x\"]\n\tcommand = !./EVIL\n", "[include]\n\tpath = ./EVIL\n",
		"[includeIf \"gitdir:/\"]\n\tpath = ./EVIL\n", "[user]\n\tname = x\\\n[core]\n\tfsmonitor = ./EVIL\n", "[user]\n\tname = \"x\n[core]\n\tfsmonitor = ./EVIL\n", "[core \"\"]\n\tfsmonitor = ./EVIL\n",
		"[filter \"a\"]\n\tclean = ./EVIL\n", "[filter.a]\n\tclean = ./EVIL\n", "[user]\n\tname = x # \\\n[core]\n\tfsmonitor = ./EVIL\n", "[diff]\n\texternal = ./EVIL\n", "[core]\n\tfsmonitor=\t./EV\"I\"L ; x\n",
		"[core]\r\n\tfsmonitor = ./EVIL\r\n", "[core]\n\r\tfsmonitor = ./EVIL\n", "[core]\v\tfsmonitor = ./EVIL\n",
	},
	naive: func(text string) bool {
		return regexp.MustCompile(`(?m)^\t(fsmonitor|sshCommand|pager|path|external|clean|st|command) = `).MatchString(text)
	},
}

// runs are settings that run a program or lead elsewhere, unasked: an alias does not.
var runs = regexp.MustCompile(`^(core\.(fsmonitor|sshcommand|pager|editor)|include\.path|includeif\..*\.path|filter\..*\.(clean|smudge|process)|diff\.external|diff\..*\.textconv|credential\.helper)$`)

// openGit asks the real one for the settings of a file.
func openGit(*testing.T) func(*testing.T, string) []string {
	return func(t *testing.T, project string) []string {
		cmd := exec.Command("git", "config", "--list", "-z", "--no-includes", "-f", filepath.Join(project, ".git/config"))
		cmd.Env = []string{"HOME=" + project, "PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1"}
		out, err := cmd.Output()
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.Exited() {
			return nil // it does not take the file
		}
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for entry := range strings.SplitSeq(string(out), "\x00") {
			key, value, _ := strings.Cut(entry, "\n")
			if runs.MatchString(key) && strings.Contains(value, "./"+mark) {
				found = append(found, entry)
			}
		}
		return found
	}
}

// gitFile makes a file of git's configuration.
func gitFile(r *rand.Rand) string {
	pieces := []string{"[core]", "[CORE]", "[core \"x\"]", "[user]", "[alias]", "[filter \"a\"]", "[filter.a]", "[include]", "[diff]", "fsmonitor", "sshCommand", "pager", "name", "clean", "path",
		"external", "st", "=", " = ", "./EVIL", "!./EVIL", "\"./EVIL\"", "./EV\\\nIL", "x", "#", ";", "# x", "\\", "\\\n", "\"", "\n", "\n\t", "\r", "\r\n", "\t", " ", "\v", "\ufeff", "\x00", "[", "]", "\\t", "\\x", "true"}
	shapes := []string{"[core]\n\tfsmonitor = ./EVIL\n", "[user]\n\tname = x\n", "[alias]\n\tst = !./EVIL\n", "[filter \"a\"]\n\tclean = ./EVIL\n", "# x\n", "[core]\n\tbare = false\n"}
	var b strings.Builder
	for range 1 + r.IntN(4) {
		b.WriteString(shapes[r.IntN(len(shapes))])
	}
	return edit(r, b.String(), pieces, r.IntN(5))
}
