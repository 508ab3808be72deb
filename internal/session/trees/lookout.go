package trees

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/workspace/phantom"
)

// lookout looks for files of secrets as long as a session runs: once through all that
// is there, then at what the kernel says is new. It watches a directory before it reads
// it, so that nothing comes between. Where not all can be watched it goes round again
// and again.
//
// Left at risk: a file that appears is read by who is quicker. What makes that moment
// longer, like a queue that flows over, makes it as long as one round.
type lookout struct {
	k      *Changes
	notify *os.File
	at     map[int32]watchedDir
	shown  map[int32]watchedDir   // files that are shown as they are, with their names
	blind  bool                   // not all is watched
	again  map[string]pending     // what is to be tried again, by path
	closed map[string]bool        // directories that could not be read, by path
	linked map[int32][]watchedDir // by which names of settings links lead to directories
	judge  map[string]bool        // workspaces with settings that changed
	failed map[string]int         // how often such a one could not be judged
	git    map[gitHome]bool       // where settings of git lie
	also   map[string][]string    // repositories that were met, by workspace
	most   int                    // tests: directories that a walk keeps in mind
}

type watchedDir struct{ root, rel string }

type pending struct {
	root, rel string
	tries     int  // that failed
	empty     bool // it was made and has nothing in it yet
}

const (
	maxWatched = 1 << 16
	soon       = 20 * time.Millisecond // until what failed is tried again
	maxTries   = 100
	everyRound = time.Second // between rounds, at least
)

const watchFor = unix.IN_CREATE | unix.IN_CLOSE_WRITE | unix.IN_MOVED_TO | unix.IN_ATTRIB | unix.IN_ONLYDIR | unix.IN_EXCL_UNLINK

// lookOn masks what is found while the agent runs.
func (k *Changes) lookOn(ended <-chan struct{}) {
	k.recordNeutral()
	for _, r := range k.trees.masking.reveals {
		k.run.Record(journal.Record{Kind: journal.Work, Event: journal.Revealed, Name: r.path, Verdict: journal.Allow, Rule: r.rule.Source.String()})
	}
	for _, p := range k.trees.InHistory() {
		k.run.Record(journal.Record{Kind: journal.Work, Event: journal.Revealed, Name: p, Verdict: journal.Allow, Reason: "a secret is in git's history"})
	}
	for _, r := range k.Policy.Supply.Allow {
		k.run.Record(journal.Record{Kind: journal.Work, Event: journal.Brake, Name: r.Value, Verdict: journal.Allow, Rule: r.Source.String()})
	}
	o := &lookout{k: k, at: map[int32]watchedDir{}, shown: map[int32]watchedDir{}, again: map[string]pending{}, closed: map[string]bool{}, linked: map[int32][]watchedDir{}, judge: map[string]bool{}, failed: map[string]int{}}
	defer k.trees.masking.past.Close()
	o.open()
	for ws, w := range k.trees.Untrusted.watched {
		o.watchGit(ws, w.git, w.at)
	}
	o.all(ended)
	o.watchObeyed()
	o.stay(ended)
	for _, r := range k.trees.masking.roots {
		k.trees.masking.save(r)
	}
}

func (o *lookout) open() {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		o.unseeing(err)
		return
	}
	o.notify = os.NewFile(uintptr(fd), "inotify")
}

// unseeing goes round from now on.
func (o *lookout) unseeing(err error) {
	if !o.blind {
		o.blind = true
		o.k.run.Say(fmt.Sprintf("not all directories can be watched for new files of secrets (%v): they are looked for every few seconds", err))
	}
}

// all goes through everything, and keeps what it found for the next launch. A tree that was
// moved cannot be looked through by its path, while the sandbox sees it still.
func (o *lookout) all(ended <-chan struct{}) {
	for _, r := range o.k.trees.masking.roots {
		o.through(r.path, "", ended)
		if err := o.k.trees.masking.inPlace(r.path); err != nil {
			o.giveUp(r.path, unwatched, err)
			continue
		}
		o.k.trees.masking.save(r)
	}
}

// through walks one directory.
func (o *lookout) through(root, below string, ended <-chan struct{}) {
	w, err := phantom.NewWalk(root, below, o.k.trees.masking.rules)
	if err != nil {
		if !noSuchFile(err) {
			o.unseeing(err)
		}
		return
	}
	defer w.Close()
	if o.most > 0 {
		w.Most = o.most
	}
	w.Enter = func(fd int, rel string) {
		o.watch(fd, root, rel)
		o.nestedGit(fd, root, rel)
	}
	w.Closed = func(rel string) { o.shut(filepath.Join(root, rel)) }
	for {
		select {
		case <-ended:
			return
		default:
		}
		found, done, err := w.Step(phantom.Budget{Entries: 5000})
		for _, f := range found {
			o.cover(root, f.Rel, false)
		}
		o.k.writeDown()
		switch {
		case errors.Is(err, phantom.ErrMany): // the rest is never looked at, however often it is tried
			o.giveUp(root, secretSeen, err)
		case err != nil:
			o.unseeing(err)
		}
		if done || err != nil {
			return
		}
	}
}

// watch tells the kernel to tell of a directory. One that was moved gets its new name.
func (o *lookout) watch(fd int, root, rel string) {
	if wd, ok := o.addWatch(fd); ok {
		o.at[wd] = watchedDir{root, rel}
	}
}

func (o *lookout) addWatch(fd int) (wd int32, ok bool) {
	if o.notify == nil {
		return 0, false
	}
	if len(o.at)+len(o.linked) >= maxWatched {
		o.unseeing(fmt.Errorf("there are more than %d", maxWatched))
		return 0, false
	}
	n, err := unix.InotifyAddWatch(int(o.notify.Fd()), "/proc/self/fd/"+strconv.Itoa(fd), watchFor)
	if err != nil {
		o.unseeing(err)
	}
	return int32(n), err == nil
}

// watchShown tells the kernel to tell when somebody writes to a file that is shown as
// it is. The watch over its directory says so only when that one is done.
func (o *lookout) watchShown(root, rel string) {
	if o.notify == nil || len(o.at)+len(o.shown) >= maxWatched {
		return
	}
	wd, err := unix.InotifyAddWatch(int(o.notify.Fd()), filepath.Join(root, rel), unix.IN_MODIFY|unix.IN_DONT_FOLLOW)
	if err == nil {
		o.shown[int32(wd)] = watchedDir{root, rel}
	}
}

// stay waits for what is new until the session ends.
func (o *lookout) stay(ended <-chan struct{}) {
	events := make(chan []byte)
	if o.notify != nil {
		defer sys.CloseWatches(o.notify)
		go o.read(events, ended)
	}
	next := time.Now().Add(everyRound)
	o.judgeObeyed()
	for {
		var wait <-chan time.Time
		switch {
		case len(o.again) > 0 || len(o.judge) > 0:
			wait = time.After(soon)
		case o.blind:
			wait = time.After(time.Until(next))
		}
		select {
		case <-ended:
			return
		case b, ok := <-events:
			if !ok {
				events = nil
				o.unseeing(os.ErrClosed)
				break
			}
			eachEvent(b, func(e told) { o.heard(e, ended) })
		case <-wait:
			o.retry()
		}
		o.k.writeDown()
		o.judgeObeyed()
		if o.blind && time.Now().After(next) {
			began := time.Now()
			o.all(ended)
			o.allObeyed()
			o.judgeObeyed()
			next = time.Now().Add(max(everyRound, 10*time.Since(began))) // a tenth of one processor
		}
	}
}

func (o *lookout) read(to chan<- []byte, ended <-chan struct{}) {
	defer close(to)
	b := make([]byte, 64<<10)
	for {
		n, err := o.notify.Read(b)
		if err != nil {
			return
		}
		select {
		case to <- bytes.Clone(b[:n]): // most often one event, of all that fit
		case <-ended:
			return
		}
	}
}

// heard takes one event.
func (o *lookout) heard(e told, ended <-chan struct{}) {
	if e.mask&unix.IN_Q_OVERFLOW != 0 {
		o.all(ended) // what was not told has to be looked for
		o.allObeyed()
		return
	}
	at, ok := o.at[e.wd]
	if e.mask&unix.IN_IGNORED != 0 {
		o.unwatchGit(e.wd)
		delete(o.at, e.wd)
		delete(o.shown, e.wd)
		delete(o.linked, e.wd)
		return
	}
	if f, is := o.shown[e.wd]; is {
		o.cover(f.root, f.rel, true)
		return
	}
	if e.name != "" {
		o.behindLink(e)
	}
	if !ok || e.name == "" {
		return
	}
	rel := filepath.Join(at.rel, e.name)
	o.obeyed(at.root, rel, e.mask&unix.IN_ISDIR != 0)
	switch p := filepath.Join(at.root, rel); {
	case e.mask&unix.IN_ATTRIB != 0 && !o.closed[p]:
	case e.mask&unix.IN_ISDIR != 0:
		delete(o.closed, p)
		if !phantom.Pruned(at.rel) && !phantom.Kept(e.name) {
			o.through(at.root, rel, ended)
		}
		if len(o.judge) > 0 {
			o.watchObeyed()
		}
	case o.k.secret(p, rel):
		delete(o.again, filepath.Join(at.root, rel))
		if o.cover(at.root, rel, true); e.mask&unix.IN_CREATE != 0 {
			o.fill(at.root, rel)
		}
	}
}

// secret holds also for what was masked because a link of such a name leads to it.
func (k *Changes) secret(p, rel string) bool {
	m := &k.trees.masking
	_, masked := m.kind(p)
	return masked || m.rules.Match(rel)
}

// shut remembers a directory that may be opened later. One that was closed at the launch
// is hidden.
func (o *lookout) shut(p string) {
	if len(o.closed) < maxWatched {
		o.closed[p] = true
		return
	}
	o.unseeing(fmt.Errorf("more than %d may not be read", maxWatched))
}

// fill looks again at a file that was just made: whoever made it may write into it for
// a long time before closing it.
func (o *lookout) fill(root, rel string) {
	p := filepath.Join(root, rel)
	if st, err := os.Lstat(p); err == nil && st.Mode().IsRegular() && st.Size() == 0 && len(o.again) < maxMasked {
		o.again[p] = pending{root: root, rel: rel, empty: true}
	}
}

// retry tries again what failed, and looks whether what was empty has something now.
func (o *lookout) retry() {
	for p, x := range o.again {
		if x.empty {
			st, err := os.Lstat(p)
			if err == nil && st.Size() == 0 {
				continue
			}
			delete(o.again, p)
		}
		o.cover(x.root, x.rel, true)
	}
}

// cover masks a file. changed says that it may be another than before.
func (o *lookout) cover(root, rel string, changed bool) {
	p := filepath.Join(root, rel)
	shown, err := o.k.maskLater(root, rel, changed)
	if err == nil {
		if delete(o.again, p); shown {
			o.watchShown(root, rel)
		}
		return
	}
	x := o.again[p]
	x.root, x.rel, x.empty = root, rel, false
	if x.tries++; x.tries == 1 {
		o.k.run.Record(journal.Record{Kind: journal.Work, Event: journal.Masked, Name: p, Verdict: journal.Deny, Reason: "it could not be masked yet: " + err.Error()})
	}
	o.again[p] = x
	if x.tries > maxTries || errors.Is(err, errMoved) || errors.Is(err, errReach) {
		o.giveUp(p, secretSeen, err)
	}
}

const (
	secretSeen = "holds secrets and could not be masked"
	unwatched  = "cannot be looked through for secrets"
)

// giveUp ends the session: the agent must not go on beside a secret that it sees, or with
// settings that nobody judged.
func (o *lookout) giveUp(p, what string, err error) {
	text := fmt.Sprintf("%q %s: %v: the session was ended", p, what, err)
	o.k.run.Record(journal.Record{Kind: journal.Work, Event: journal.Masked, Name: p, Verdict: journal.Deny, Reason: "it could not be masked, and the session was ended: " + err.Error()})
	o.k.run.End(text)
}

// told is one event.
type told struct {
	wd   int32
	mask uint32
	name string
}

// eachEvent reads what inotify gives.
func eachEvent(b []byte, visit func(told)) {
	word := func(at int) uint32 {
		return uint32(b[at]) | uint32(b[at+1])<<8 | uint32(b[at+2])<<16 | uint32(b[at+3])<<24
	}
	for len(b) >= unix.SizeofInotifyEvent {
		e := told{wd: int32(word(0)), mask: word(4)}
		n := int(int32(word(12)))
		b = b[unix.SizeofInotifyEvent:]
		if n < 0 || n > len(b) {
			return
		}
		e.name, _, _ = strings.Cut(string(b[:n]), "\x00")
		b = b[n:]
		visit(e)
	}
}

// treeOf finds the tree of the plan, or of the work, that a path lies in.
func treeOf[T any](trees []T, path func(T) string, p string) int {
	best := -1
	for i, t := range trees {
		if file.Within(p, path(t)) && (best < 0 || len(path(t)) > len(path(trees[best]))) {
			best = i
		}
	}
	return best
}
