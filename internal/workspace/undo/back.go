package undo

import (
	"errors"
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/workspace/change"
)

// bringBack makes an original what it was, where it was. Everything above it is in
// its place already.
func (r *restorer) bringBack(t *original) error {
	if why := r.stuck[t.id]; why != "" {
		r.sayOriginal(t, Conflict, why)
		return nil
	}
	if r.git.quiet[t.id] {
		if _, err := r.look(t.home); err == nil {
			r.settled(t) // what is there stands for it
		}
		r.sayOriginal(t, Same, "")
		return nil
	}
	at, here := r.at[t.id]
	if t.lost != "" {
		return r.mourn(t, at, here)
	}
	if here && t.blob == 0 {
		e, err := r.look(at)
		if err != nil && !missing(err) {
			return err
		}
		// Another link may be in its place: nobody writes to one.
		if err == nil && (t.node == nil || t.node.kind == e.kind && t.node.link == e.link) {
			return r.settle(t, at, e)
		}
	}
	if t.node == nil {
		if t.home.rel != "" {
			r.sayOriginal(t, NotKept, "it is no longer where the session left it")
		}
		return nil
	}
	return r.replace(t)
}

// mourn reports what cannot be brought back. If the session did not write to a
// special file, it is still there.
func (r *restorer) mourn(t *original, at place, here bool) error {
	if here && at == t.home && t.node.kind == change.Special {
		if e, err := r.look(at); err == nil && e.kind == change.Special {
			return r.settle(t, at, e)
		}
	}
	r.sayOriginal(t, NotKept, t.lost)
	return nil
}

// settle moves an entry that was not written to back to its name, and gives it
// its mode.
func (r *restorer) settle(t *original, at place, e entry) error {
	moved := at != t.home
	if moved {
		if err := r.vacate(t.home); err != nil {
			return err
		}
		at = r.at[t.id] // maybe it was in there
		if e.kind == change.Directory && e.mode&0o700 != 0o700 {
			if r.modes[t.home] = e.mode; t.node != nil {
				r.modes[t.home] = t.node.mode
			}
			if err := r.setMode(at, e.mode|0o700); err != nil {
				return err
			}
		}
		if at.tree == r.tree && t.home.tree != r.tree {
			r.say(at.rel, Removed, "moved back to "+strconv.Quote(r.trees[t.home.tree]+"/"+t.home.rel))
		}
		if err := r.move(at, t.home, e.ident); err != nil {
			return err
		}
	}
	same := !moved
	if t.node != nil {
		alike, err := r.same(t, t.home, e)
		if err != nil {
			return err
		}
		if same = same && alike; !alike {
			if err := r.setNode(t, e); err != nil {
				return err
			}
		}
	}
	if t.home.tree == r.tree && (moved || t.node != nil) {
		r.say(t.home.rel, map[bool]Outcome{true: Same, false: Restored}[same], "")
	}
	return nil
}

// setNode gives a file its mode and time, and a directory its mode.
func (r *restorer) setNode(t *original, e entry) error {
	if e.kind == change.Directory {
		r.modes[t.home] = t.node.mode
		return nil
	}
	if err := r.begin(e.ident); err != nil {
		return err
	}
	if err := r.aboutTo(t.home, Mode); err != nil {
		return err
	}
	if err := r.setMode(t.home, t.node.mode); err != nil {
		return err
	}
	if e.size != t.node.size {
		return nil
	}
	dir, name, err := r.parent(t.home)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	return r.setTime(dir, name, t.node)
}

func (w *writer) setTime(dir int, name string, was *image) error {
	w.failpoint("utimes")
	times := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, {Sec: was.mtime.sec, Nsec: int64(was.mtime.nsec)}}
	return unix.UtimesNanoAt(dir, name, times, unix.AT_SYMLINK_NOFOLLOW)
}

// replace makes an original anew from what is kept of it.
func (r *restorer) replace(t *original) error {
	if n, _, _ := r.names.find(t.home); n != nil && n.state == orig && n.obj.id != t.id {
		if err := r.vacate(t.home); err != nil {
			return err
		}
	}
	e, err := r.look(t.home)
	if err != nil && !missing(err) {
		return err
	}
	if err == nil {
		same, err := r.same(t, t.home, e)
		if err != nil {
			return err
		}
		if same && e.kind != change.Directory {
			r.settled(t)
			r.sayOriginal(t, Same, "")
			return nil
		}
		if e.kind == change.Directory && r.adopts(t) {
			return r.adopt(t, e)
		}
		if e.kind == change.Directory || t.node.kind == change.Directory {
			if err := r.vacate(t.home); err != nil {
				return err
			}
			e = entry{}
		}
	}
	err = r.remake(t, e)
	if err == nil {
		err = r.note(&record{op: opBack, id: t.id})
	}
	if err != nil {
		return err
	}
	r.settled(t)
	r.sayOriginal(t, Restored, "")
	return nil
}

// settled notes that an original is in its place again. Where it was is the session's.
func (r *restorer) settled(t *original) {
	at, ok := r.at[t.id]
	r.returned(t)
	if gap, _, _ := r.names.find(at); ok && at != t.home && gap != nil {
		r.gaps[gap] = true
	}
}

// returned notes that a restore brought an original back: what is left where it was goes.
func (l *Log) returned(t *original) {
	if at, ok := l.at[t.id]; ok && at != t.home {
		l.emptied[at] = true
	}
	l.back(t)
}

// back notes that an original is under its name.
func (l *Log) back(t *original) {
	at, ok := l.at[t.id]
	if ok && at == t.home {
		return
	}
	n := &node{state: orig, obj: &object{id: t.id}}
	if ok {
		n, _, _ = l.names.find(at)
		l.names.put(at, &node{state: ours})
	}
	l.drop(t.home)
	l.names.put(t.home, n)
	l.index(t.home, n)
}

// adopt takes a directory that the session made for the one that was there. What
// is in it stays the session's.
func (r *restorer) adopt(t *original, e entry) error {
	if r.at[t.id] != t.home {
		names, err := r.list(t.home)
		if err != nil {
			return err
		}
		for _, name := range names {
			r.names.own(place{t.home.tree, join(t.home.rel, name)})
		}
		n := r.names.own(t.home)
		n.state, n.obj = orig, &object{id: t.id}
		r.at[t.id] = t.home
	}
	if same, err := r.same(t, t.home, e); err != nil || same {
		r.sayOriginal(t, Same, "")
		return err
	}
	r.modes[t.home] = t.node.mode
	r.sayOriginal(t, Restored, "")
	if e.mode&0o700 == 0o700 {
		return nil
	}
	return r.setMode(t.home, e.mode|0o700)
}

// vacate moves what is in the place of an original out of the way: what the session
// made, to be removed, or another original, to be brought back in its turn.
func (r *restorer) vacate(home place) error {
	e, err := r.look(home)
	if missing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	dir, _ := split(home.rel)
	to := place{home.tree, join(dir, tempName())}
	n := r.names.own(home)
	if n.state == orig && r.all[n.obj.id].home == home {
		r.drop(home)
		n.state, n.obj, n.kids = ours, nil, nil
	}
	return r.move(home, to, e.ident)
}

// move renames an entry, noted before and after.
func (w *writer) move(from, to place, i ident) error {
	step := record{op: opMove, from: from, to: to, ident: i}
	src, old, err := w.parent(from)
	if err != nil {
		return err
	}
	defer unix.Close(src)
	dst, name, err := w.parent(to)
	if err != nil {
		return err
	}
	defer unix.Close(dst)
	failed, err := w.aboutToRename(from, to, isDirectory(src, old))
	if err != nil {
		return err
	}
	if err := w.note(&step); err != nil {
		return err
	}
	w.failpoint("rename")
	fail := unix.Renameat2(src, old, dst, name, unix.RENAME_NOREPLACE)
	if fail != nil {
		failed()
		fail = fmt.Errorf("move %q to %q: %w", from.rel, to.rel, fail)
		return errors.Join(fail, w.note(&record{op: opSkip}))
	}
	if err := w.note(&record{op: opDone}); err != nil {
		return err
	}
	return w.moved(step)
}

func isDirectory(dir int, name string) bool {
	e, err := look(dir, name)
	return err == nil && e.kind == change.Directory
}
