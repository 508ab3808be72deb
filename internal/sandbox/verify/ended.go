package verify

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"ringfence.dev/ringfence/internal/sandbox/probe"
	"ringfence.dev/ringfence/internal/state"
)

// ending is what the host saw of the workspace when the session was over, by check. The
// order matters: what was left is looked at first, then git runs, then it is undone.
type ending struct{ workspace, held, git, undo finding }

// finding is the word of a witness.
type finding struct {
	text   string
	agrees bool
}

func (e *ending) says(check string) (text string, agrees bool) {
	if e == nil {
		return "nobody saw the end of the session", false
	}
	f := map[string]finding{"workspace": e.workspace, "held": e.held, "git": e.git, "undo": e.undo}[check]
	return probe.Plain(f.text), f.agrees
}

func (p *plant) ended(ctx context.Context, left Left, review bool) *ending {
	e := &ending{workspace: p.arrived(left.Layer, review)}
	_, err := os.Lstat(filepath.Join(p.workspace, probe.Unasked))
	e.held = finding{fmt.Sprintf("on the host: %v", err == nil), errors.Is(err, fs.ErrNotExist)}
	e.git = p.gitEnded(ctx)
	if e.undo = p.unchanged(); !review {
		e.undo = p.undoEnded(left.Undo)
	}
	return e
}

// arrived wants what was written on the host, or where everything waits, there and only
// there.
func (p *plant) arrived(layer string, review bool) finding {
	_, err := os.Lstat(filepath.Join(p.workspace, p.proof()))
	if review && !errors.Is(err, fs.ErrNotExist) {
		return finding{fmt.Sprintf("what was written did not wait (%v)", err), false}
	}
	at, text := p.workspace, "what was written arrived"
	if review {
		at, text = layer, "what was written waits"
	}
	if err := p.proven(at); err != nil {
		return finding{"what was written did not arrive: " + err.Error(), false}
	}
	return finding{text, true}
}

// unchanged wants nothing to undo.
func (p *plant) unchanged() finding {
	if lost := p.lost(); len(lost) > 0 {
		return finding{"on the host: " + strings.Join(lost, ", "), false}
	}
	return finding{"nothing of it reached the host", true}
}

// controlTrees looks at what the control did to the workspace, as the witnesses will, and
// makes it anew: they must see that, or they see nothing.
func (p *plant) controlTrees(ctx context.Context, control map[string]probe.Result) error {
	blind := func(check, why string) { control[check] = probe.Result{Name: check, Detail: why} }
	if len(p.strange()) == 0 {
		blind("git", "the witness does not see the attack")
	}
	if len(p.lost()) == 0 {
		blind("undo", "the witness does not see what is lost")
	}
	p.git = p.runGit(ctx)
	return p.trees()
}

// gitEnded wants nothing in the repository that git would run or follow, and nothing to
// run when people ask git.
func (p *plant) gitEnded(ctx context.Context) finding {
	if found := p.strange(); len(found) > 0 {
		return finding{"on the host: " + strings.Join(found, ", "), false}
	}
	const clean = "nothing of it on the host"
	if p.git != gitRan {
		return finding{clean + "; git was not asked: " + string(p.git), true}
	}
	if p.runGit(ctx) == gitRan {
		return finding{clean + ", and git ran it", false}
	}
	return finding{clean + ", and git, which ran the control's, ran nothing", true}
}

// strange lists what is in the repository and was not before, the objects left out, which
// git reads by their content. What is to be undone is looked at by itself.
func (p *plant) strange() (out []string) {
	now, err := snapshot(p.workspace)
	if err != nil {
		return []string{err.Error()}
	}
	for path := range p.before {
		if _, ok := now[path]; !ok {
			now[path] = "gone"
		}
	}
	for _, path := range slices.Sorted(maps.Keys(now)) {
		own := path == p.proof() || strings.HasPrefix(path, probe.Undone+"/") || isLoose(path) && strings.HasPrefix(now[path], "file ")
		if !own && now[path] != p.before[path] {
			out = append(out, path)
		}
	}
	return out
}

// isLoose holds for the name of a loose object of the repository.
func isLoose(path string) bool {
	rest, ok := strings.CutPrefix(path, ".git/objects/")
	return ok && len(rest) == 41 && rest[2] == '/' && strings.Trim(rest[:2]+rest[3:], "0123456789abcdef") == ""
}

// ran is the file that whatever is attacked with makes, where it is run.
func (p *plant) ran() string { return filepath.Join(p.tmp, "ran") }

// gitRuns says whether git ran something of a repository, and if not, why.
type gitRuns string

const (
	gitRan   gitRuns = "ran"
	gitQuiet gitRuns = "it runs nothing of such a repository here"
	gitNone  gitRuns = "there is none here"
)

// runGit does what people and their prompts do, by the git of this host, and looks whether
// it ran anything. What it says itself does not matter. Only what our own probe wrote is
// ever run: it makes a file.
func (p *plant) runGit(ctx context.Context) gitRuns {
	git, err := state.Dirs{State: filepath.Dir(p.state)}.Program("git", os.Getenv("PATH"), nil)
	if err != nil {
		return gitNone
	}
	os.Remove(p.ran())
	for _, at := range []struct {
		dir  string
		args []string
	}{{"", []string{"status"}}, {"sub", []string{"status"}}, {"linked", []string{"status"}}, {"tree", []string{"status"}}, {"", []string{"checkout", "."}}} {
		dir := filepath.Join(p.workspace, at.dir)
		if _, err := os.Lstat(dir); err != nil {
			continue
		}
		cmd := exec.CommandContext(ctx, git, at.args...)
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.tmp, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CEILING_DIRECTORIES=" + filepath.Dir(p.workspace)}
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		cmd.Run()
	}
	if _, err := os.Lstat(p.ran()); err != nil {
		return gitQuiet
	}
	return gitRan
}
