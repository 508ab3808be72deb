package lending

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/git/repo"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/session/launch"
	"ringfence.dev/ringfence/internal/workspace/hostexec"
)

// ownSettings reads what the user says to git, by the list that also judges what an agent
// writes into .git/config.
func (gp *gitPart) ownSettings(gitDir string) repo.Host {
	own := repo.ReadHost([]string{filepath.Join(gp.ConfigHome(), "git/config"), filepath.Join(gp.User.Home, ".gitconfig")},
		repo.HostRules{GitDir: gitDir, Home: gp.User.Home, Written: gp.AgentWrites, Harmless: hostexec.HarmlessOwn, Ask: gp.askIncluded})
	gp.Warnings = append(gp.Warnings, own.Broken...)
	gp.Notices = append(gp.Notices, own.LeftOut...)
	gp.tellOutside(own.Outside)
	gp.patterns(own.Excludes, "git/ignore", "core.excludesFile", func(text []byte) { gp.Ignore = text })
	gp.patterns(own.Attributes, "git/attributes", "core.attributesFile", func(text []byte) {
		gp.Put(launch.GitAttributesPath, text, "your attributes of files for git")
		gp.GitConfig += "[core]\n\tattributesFile = \"" + launch.GitAttributesPath + "\"\n"
	})
	return own
}

// tellOutside names settings that do not come inside, since they name a program, a file or
// an address, or are not known.
func (gp *gitPart) tellOutside(names []string) {
	const most = 20
	names = slices.DeleteFunc(names, func(n string) bool { return n == "http.sslcainfo" }) // its certificates come inside
	if len(names) == 0 {
		return
	}
	more := ""
	if n := len(names) - most; n > 0 {
		names, more = names[:most], fmt.Sprintf(" and %d more", n)
	}
	for i, n := range names {
		names[i] = plan.Show(n)
	}
	gp.Notice("git inside does without these settings of yours: " + strings.Join(names, ", ") + more)
}

// maxPatterns bounds a file of patterns.
const maxPatterns = 256 << 10

// patterns copies a file of patterns that the user's git reads: the one that a setting
// names, or the usual one. It must be the user's own word that leads there, and to no
// credential.
func (gp *gitPart) patterns(path, usual, setting string, use func([]byte)) {
	if path == "" {
		path = filepath.Join(gp.ConfigHome(), usual)
	}
	text, err := file.Read(path, maxPatterns, 0)
	if err != nil || len(text) == 0 {
		return // git passes over what it cannot read, too
	}
	switch {
	case gp.AgentWrites(path):
		gp.Notice(fmt.Sprintf("%s %s: not used, an agent can write it", setting, plan.Show(path)))
	case gp.holdsCredential(path) || bytes.IndexByte(text, 0) >= 0:
		gp.Notice(fmt.Sprintf("%s %s: not used, it is no file of patterns", setting, plan.Show(path)))
	default:
		use(append(bytes.TrimRight(text, "\n"), '\n'))
	}
}

// holdsCredential asks about what was written and, behind links, what is read.
func (gp *gitPart) holdsCredential(path string) bool {
	real := repo.RealFile(path)
	return gp.RefuseCredentials(path, "") != nil || real != path && gp.RefuseCredentials(real, "") != nil
}

// Bounds of the question which files git includes.
const (
	askTime = 2 * time.Second
	askMost = 4 << 20
)

// askIncluded asks git which files of the user's it includes in this repository. Listing
// settings runs nothing. The repository's own are read on the way, and are left out of the
// answer.
func (gp *gitPart) askIncluded(gitDir string) map[string]bool {
	program, err := gp.Program("git")
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), askTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "config", "--list", "--show-scope", "--show-origin", "-z")
	cmd.Dir, cmd.WaitDelay = "/", askTime
	cmd.Env = []string{"HOME=" + gp.User.Home, "XDG_CONFIG_HOME=" + gp.ConfigHome(), "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C"}
	if gitDir != "" {
		cmd.Env = append(cmd.Env, "GIT_DIR="+gitDir)
	}
	out, err := cmd.StdoutPipe()
	if err != nil || cmd.Start() != nil {
		return nil
	}
	text, long := file.ReadAll(out, askMost)
	if long != nil {
		cancel()
	}
	if err := cmd.Wait(); err != nil || long != nil {
		return nil
	}
	return includedFiles(text)
}

// includedFiles reads git's answer: scope, origin and setting, each with a NUL behind it.
func includedFiles(text []byte) map[string]bool {
	out := map[string]bool{}
	parts := bytes.Split(text, []byte{0})
	for ; len(parts) >= 3; parts = parts[3:] {
		if path, ok := bytes.CutPrefix(parts[1], []byte("file:")); ok && string(parts[0]) == "global" {
			out[repo.RealFile(string(path))] = true
		}
	}
	return out
}
