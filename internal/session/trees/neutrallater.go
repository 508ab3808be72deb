package trees

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/audit/scan"
	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/workspace/keeper"
	"ringfence.dev/ringfence/internal/workspace/review"
)

// What stands inside for settings that nobody trusts is a mount over the host's file. It
// goes with that file when the host puts another one in its place, as editors and git do,
// and a file that is new has none: agents read their settings anew when they change. So
// the lookout watches these names, too, and has them judged again as at a launch.
//
// Left at risk: between the moment a file appears and its mount, somebody inside may read
// it, as with files of secrets. Names that the session itself may write live (.npmrc,
// .yarnrc and instructions) are looked at again at the next launch.

var errStops = errors.New("leads to what was not looked into")

// scanned is what a launch found out about a workspace, to judge it again.
type scanned struct {
	budget scan.Budget
	at     time.Time
	git    []string // directories with settings of git, of the workspace and outside of it
	// granted: it is no workspace, and nothing there is obeyed. Only logins count.
	granted bool
}

// obeyed notes an event about a name that agents obey.
func (o *lookout) obeyed(root, rel string, dir bool) {
	p := filepath.Join(root, rel)
	u := &o.k.trees.Untrusted
	for ws, w := range u.watched {
		below, in := strings.CutPrefix(p, ws+"/")
		if in && !w.granted && (scan.Obeys(below, dir) || slices.Contains(u.neutral, p)) || o.gitSettings(ws, p) {
			o.judge[ws] = true
		}
		if in && filepath.Base(p) == ".git" {
			o.alsoGit(ws, below)
		}
	}
}

// watchObeyed watches the directories of such names, also those that are not looked
// through for secrets, and finds out whether something came there since the launch.
func (o *lookout) watchObeyed() {
	for ws, w := range o.k.trees.Untrusted.watched {
		if w.granted {
			continue
		}
		homes := []string{ws}
		for dir := w.budget.Dir; dir != "" && dir != "."; dir = filepath.Dir(dir) {
			homes = append(homes, filepath.Join(ws, dir))
		}
		for _, home := range homes {
			for _, dir := range scan.ObeyedDirs() {
				o.watchDir(ws, filepath.Join(home, dir), w.at)
			}
		}
	}
}

// tick is how far the time of a file may be behind the clock: the kernel gives files the
// time of its last tick.
const tick = 20 * time.Millisecond

// watchDir watches one directory. Where links lead to it, within the tree, it has its own
// name for who looks for secrets, and that of the link besides.
func (o *lookout) watchDir(ws, p string, since time.Time) {
	if _, err := os.Lstat(p); err != nil {
		return
	}
	root, err := filepath.EvalSymlinks(ws)
	if err != nil {
		return
	}
	real, err := filepath.EvalSymlinks(p)
	if err != nil || !file.Within(real, root) {
		return
	}
	fd, err := unix.Open(p, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	rel, own := strings.TrimPrefix(p[len(ws):], "/"), strings.TrimPrefix(real[len(root):], "/")
	if rel == own {
		o.watch(fd, ws, rel)
	} else if wd, ok := o.addWatch(fd); ok && !slices.Contains(o.linked[wd], watchedDir{ws, rel}) {
		o.linked[wd] = append(o.linked[wd], watchedDir{ws, rel})
	}
	if st, err := os.Stat(p); err == nil && st.ModTime().After(since.Add(-tick)) {
		o.judge[ws] = true
	}
}

// behindLink notes an event in a directory that settings lie in by the name of a link.
func (o *lookout) behindLink(e told) {
	dir := e.mask&unix.IN_ISDIR != 0
	for _, at := range o.linked[e.wd] {
		o.obeyed(at.root, filepath.Join(at.rel, e.name), dir)
	}
	if dir && len(o.linked[e.wd]) > 0 && len(o.judge) > 0 {
		o.watchObeyed()
	}
}

// allObeyed has everything judged again: nobody told what changed.
func (o *lookout) allObeyed() {
	for ws := range o.k.trees.Untrusted.watched {
		o.judge[ws] = true
	}
}

// judgeObeyed judges the workspaces in which something changed.
func (o *lookout) judgeObeyed() {
	for ws := range o.judge {
		delete(o.judge, ws) // what it finds may have to be judged once more
		err := o.neutralLater(ws)
		if err == nil {
			delete(o.failed, ws)
			continue
		}
		o.judge[ws] = true
		// What is replaced again just now is tried again.
		if o.failed[ws]++; o.failed[ws] > maxTries || errors.Is(err, errStops) || errors.Is(err, errReach) {
			delete(o.judge, ws)
			o.giveUp(ws, "has settings that agents obey and that could not be judged", err)
		}
	}
}

// neutralLater is what a launch does about settings, for a session that runs: what is
// dangerous and not trusted is shown without it.
func (o *lookout) neutralLater(ws string) error {
	var u Untrusted
	files, err := o.judgeAgain(&u, ws)
	if err != nil {
		return err
	}
	for _, f := range files {
		p := scan.At(ws, f.Path)
		if o.k.hidden(p) || !scan.Obeys(strings.TrimPrefix(p, ws+"/"), f.Stops != "") && !slices.Contains(o.k.trees.Untrusted.neutral, p) && !o.gitSettings(ws, p) && (f.Stops == "" || !o.inGit(ws, p)) {
			continue
		}
		if f.Stops != "" {
			return fmt.Errorf("%s %w: %s", plan.Show(p), errStops, f.Stops)
		}
		if !f.Mended {
			continue
		}
		if err := o.k.coverNeutral(p, u.spend(f.Neutral)); err != nil {
			return fmt.Errorf("%s: %w", plan.Show(p), err)
		}
	}
	return nil
}

// judgeAgain returns what is to be shown otherwise than it is.
func (o *lookout) judgeAgain(u *Untrusted, ws string) ([]scan.File, error) {
	began, look := time.Now(), scan.Scan
	granted := o.k.trees.Untrusted.watched[ws].granted
	if granted {
		look = scan.GitLogins
	}
	report, err := look(ws, o.budget(ws))
	if err != nil {
		return nil, err
	}
	o.watchGit(ws, report.GitDirs, began)
	if granted {
		return report.Files, nil
	}
	files, _, err := u.sift(o.k.Accepts(), ws, report)
	return files, err
}

// coverNeutral puts another content in the place of a file that the sandbox sees as it is.
func (k *Changes) coverNeutral(p string, data []byte) (err error) {
	put := false
	if n, rel := k.inLive(p); n >= 0 {
		put, err = k.keeper.Neutral(n, rel, data)
	} else if k.apart {
		if k.bareAt(p) {
			err = errReach // what the launch has covered is covered there too
		}
	} else if k.keeper != nil && treeOf(k.Work.Trees, func(t review.Tree) string { return t.Path }, p) < 0 {
		if put = k.bareAt(p); put {
			_, err = k.keeper.MaskAt(p, data)
		}
	} else {
		put, err = keeper.NeutralAt(k.box.PID(), p)
	}
	if err != nil || !put {
		return err
	}
	k.run.Record(journal.Record{Kind: journal.Work, Event: journal.Masked, Name: p, Reason: "project settings that the host changed and nobody has trusted"})
	k.run.Say(fmt.Sprintf("%s changed on the host and nobody has trusted it: until the next launch the agent sees it without what it would run (ringfence scan explains it)", plan.Show(p)))
	return nil
}
