package keeper

import (
	"errors"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/workspace/hostexec"
)

// Tools write a file under another name and rename it when it is whole. What they rename
// to is theirs, so nobody judges it: who could exchange the file before would have the
// host itself put anything to a held name, or to one whose content is judged. git's locks
// are such files for as long as they are there, others while they are recent.

// madeAt is where something was made.
type madeAt struct {
	tree int
	rel  string
}

// locked knows the locks that the session made. There are two generations: the older one
// is forgotten when the newer one is full, and its locks then count as the host's.
type locked struct {
	mu        sync.Mutex
	now, then map[node]madeAt
}

const maxLocks = 1 << 15

func (l *locked) note(n node, at madeAt) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now == nil || len(l.now) >= maxLocks {
		l.now, l.then = map[node]madeAt{}, l.now
	}
	l.now[n] = at
}

func (l *locked) has(n node) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, now := l.now[n]
	_, then := l.then[n]
	return now || then
}

// unlock removes the locks that the session left: whoever made them is gone, and nobody
// else may.
func (k *Keeper) unlock() (all error) {
	for _, some := range []map[node]madeAt{k.locked.then, k.locked.now} {
		for n, at := range some {
			dir, err := openDir(int(k.conf.Trees[at.tree].Host.Fd()), parentOf(at.rel))
			if err != nil {
				continue
			}
			name := at.rel[strings.LastIndexByte(at.rel, '/')+1:]
			if now, _, ok := nodeAt(dir, name); ok && now == n {
				all = errors.Join(all, ignore(unix.Unlinkat(dir, name, 0), unix.ENOENT))
			}
			unix.Close(dir)
		}
	}
	return all
}

// ofHost refuses to change, move or replace a file that somebody else made and is about
// to rename. A stale lock of the host's, or of a killed session, is a person's to remove.
func (k *Keeper) ofHost(t *target) error {
	if t.held != nil || !t.is || t.isDir() {
		return nil
	}
	if k.isLock(t) {
		if n, _, ok := nodeAt(t.dir, t.name); ok && !k.locked.has(n) {
			return unix.EBUSY
		}
		return nil
	}
	if k.recent.ofHost(t) {
		return errRecent
	}
	return nil
}

// locks notes a lock that the session made, if err says so.
func (k *Keeper) locks(t *target, err error) {
	if err != nil || t.held != nil || !k.isLock(t) {
		return
	}
	if n, _, ok := nodeAt(t.dir, t.name); ok {
		k.locked.note(n, madeAt{t.tree, t.rel})
	}
}

// isLock holds for the lock of a name that is held, or whose content is judged.
func (k *Keeper) isLock(t *target) bool {
	name, ok := strings.CutSuffix(t.rel, ".lock")
	if !ok {
		name, ok = strings.CutSuffix(t.rel, "packed-refs.new")
		name += "packed-refs"
	}
	if !ok || name == "" || strings.HasSuffix(name, "/") {
		return false
	}
	v := k.verdict(&target{tree: t.tree, rel: name}, unix.S_IFREG)
	return v.Hold || v.Form != hostexec.FormAny
}
