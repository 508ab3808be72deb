package verify

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"ringfence.dev/ringfence/internal/git/object"
	"ringfence.dev/ringfence/internal/sandbox/probe"
)

// What the host does after the session: it names the session's commit, and goes on with
// a file.
const (
	hostRef  = ".git/refs/heads/keep"
	hostText = "of the host, later\n"
)

// undoEnded has the host go on with what the session left, undoes the session, and wants
// all of both: what was before the session, and what the host did since.
func (p *plant) undoEnded(undo func() ([]string, error)) finding {
	dir := filepath.Join(p.workspace, probe.Undone)
	commit, err := os.ReadFile(filepath.Join(dir, probe.UndoBranch))
	if err != nil {
		return finding{"the session's commit did not arrive: " + err.Error(), false}
	}
	id, err := object.ParseSHA1(strings.TrimSpace(string(commit)))
	if err != nil {
		return finding{"the session's branch names no commit: " + err.Error(), false}
	}
	object := ".git/" + probe.LooseName(id.String())
	content, err := os.ReadFile(filepath.Join(dir, object))
	if err != nil {
		return finding{"the session's object did not arrive: " + err.Error(), false}
	}
	if err := errors.Join(os.WriteFile(filepath.Join(dir, hostRef), commit, 0o600), later(filepath.Join(dir, probe.UndoBoth))); err != nil {
		return finding{err.Error(), false}
	}
	left, err := undo()
	if err != nil {
		return finding{"undo: " + err.Error(), false}
	}
	lost := p.lost()
	for name, want := range map[string]string{object: string(content), hostRef: string(commit), probe.UndoBoth: hostText} {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(b) != want {
			lost = append(lost, name)
		}
	}
	if len(lost) > 0 {
		slices.Sort(lost)
		return finding{"lost: " + strings.Join(lost, ", "), false}
	}
	if both := filepath.Join(probe.Undone, probe.UndoBoth); !slices.Equal(left, []string{both}) {
		return finding{fmt.Sprintf("undo left alone %q, and not %q only", left, both), false}
	}
	return finding{"all is back; the object, the host's branch and its later change are there", true}
}

// lost lists what is not as it was before the session: what is not back, and what the
// session made and is still there.
func (p *plant) lost() (out []string) {
	now, err := snapshot(p.workspace)
	if err != nil {
		return []string{err.Error()}
	}
	for _, name := range []string{probe.UndoChanged, probe.UndoDeleted, probe.UndoMoved, probe.UndoHead} {
		if path := filepath.Join(probe.Undone, name); now[path] == "" || now[path] != p.before[path] {
			out = append(out, name)
		}
	}
	for _, name := range []string{probe.UndoMovedTo, probe.UndoCreated, probe.UndoBelow, probe.UndoBranch} {
		if now[filepath.Join(probe.Undone, name)] != "" {
			out = append(out, name+" (still there)")
		}
	}
	return out
}

// later writes to a file until the clock of its file system has gone on: what changes in
// the same moment as the session ends counts as the session's.
func later(name string) error {
	var first syscall.Timespec
	for {
		if err := os.WriteFile(name, []byte(hostText), 0o600); err != nil {
			return err
		}
		st, err := os.Lstat(name)
		if err != nil {
			return err
		}
		switch now := st.Sys().(*syscall.Stat_t).Ctim; {
		case first == (syscall.Timespec{}):
			first = now
		case now != first:
			return nil
		}
	}
}
