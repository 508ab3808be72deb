package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/sandbox/native"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/rung"
	"ringfence.dev/ringfence/internal/session/detached"
	"ringfence.dev/ringfence/internal/workspace/hostexec"
	"ringfence.dev/ringfence/internal/workspace/keeper"
	"ringfence.dev/ringfence/internal/workspace/outside"
	"ringfence.dev/ringfence/internal/workspace/review"
	"ringfence.dev/ringfence/internal/workspace/undo"
)

// keeping is what a running session does to the trees of the host.
type keeping struct {
	live   *live
	store  *undo.Store
	keeper *keeper.Keeper // nil: nothing is live
	files  []*os.File
	looks  sync.WaitGroup
	closes sync.WaitGroup // of files, the last of which unmounts a layer
	// outside are the places that are thrown away; nil: they are not looked at.
	outside *outside.Places
	stands  map[int]map[string][]byte // phantoms in layers, by tree, that are not written down yet
	ended   bool
}

// beginWork makes the places for it.
func (l *live) beginWork() (*keeping, error) {
	s := l.session
	if err := review.Sweep(s.dirs.State); err != nil {
		l.talk.Warn(fmt.Sprintf("what a killed session left: %v", err))
	}
	l.keepTotal()
	s.work.Started = time.Now()
	if err := s.work.Create(); err != nil {
		return nil, errors.Join(fmt.Errorf("keep what the session changes: %w", err), s.work.Remove())
	}
	k := &keeping{live: l}
	if err := l.adopt(); err != nil {
		return nil, errors.Join(err, s.work.Remove())
	}
	if err := l.openStatus(); err != nil {
		return nil, errors.Join(err, s.work.Remove())
	}
	if t := l.talk.Terminal; t != nil {
		log, err := detached.CreateLog(s.work.Dir())
		if err != nil {
			return nil, errors.Join(err, s.work.Remove())
		}
		t.Record(log)
	}
	if s.clones != "" {
		if err := s.work.MakeClone(s.clones); err != nil {
			return nil, errors.Join(fault.New(fault.Refused, "run without --clone", "clone %s: %w", plan.Show(s.clones), err), s.work.Remove())
		}
	}
	var roots []string
	for _, t := range s.work.Trees {
		roots = append(roots, t.Path)
	}
	if len(roots) == 0 {
		return k, nil
	}
	var err error
	k.store, err = undo.Create(s.work.Undo(), roots, undo.Limits{File: value(s.Policy.Workspace.UndoFile), Total: value(s.Policy.Workspace.Undo)})
	if err != nil {
		return k, errors.Join(fmt.Errorf("keep what the session changes: %w", err), s.work.Remove())
	}
	k.store.OnLost((&losses{keep: k}).tell)
	return k, nil
}

// adopt makes the layers of the review view ready for what others own.
func (l *live) adopt() error {
	s := l.session
	for n, t := range s.work.Trees {
		if t.View != review.Review {
			continue
		}
		rest, err := s.work.Adopt(n, s.User.UID, s.User.GID)
		if err != nil {
			return err
		}
		if rest != "" {
			l.talk.Warn(fmt.Sprintf("%s holds more that belongs to another user or group than is made ready for a review: from %s on, changes to such files fail with \"value too large\"; run without --review, or make them yours", plan.Show(t.Path), plan.Show(rest)))
		}
	}
	return nil
}

// launch starts the sandbox, without private layers where the host has none.
func (k *keeping) launch(ctx context.Context, r native.Rung, p plan.Plan, stdio rung.Stdio) (rung.Sandbox, error) {
	if err := errors.Join(k.maskClone(&p), k.neutralClone(&p)); err != nil {
		return nil, err
	}
	r.Keep = k.start(&p)
	r.Witness = k.watchOutside(&p, r.Witness)
	layered, err := k.layMasks(p)
	if err != nil {
		return nil, err
	}
	box, err := r.Start(ctx, &layered, stdio)
	if !noLayers(err) {
		return box, err
	}
	if err := k.liftMasks(); err != nil {
		return nil, err
	}
	if p, err = k.withoutLayers(p); err != nil {
		return nil, err
	}
	return r.Start(ctx, &p, stdio)
}

// start serves the calls of a sandbox; see native.Rung.Keep.
func (k *keeping) start(p *plan.Plan) func(pid int, watch *os.File, layers []*os.File) error {
	return func(pid int, watch *os.File, layers []*os.File) error {
		s := k.live.session
		conf := keeper.Config{Listener: watch, PID: pid, Umask: p.Process.Umask, Store: k.store, Stand: s.work.StandIns(),
			Held: k.held, Secret: k.live.session.secret, Shown: k.live.session.shown, Failed: func(err error) { k.live.talk.Warn("keeper: " + err.Error()) }}
		conf.Asked = s.lesson.asked()
		for i, t := range p.Trees {
			fd, err := unix.Open(string(t.Path), unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
			if err != nil {
				return fmt.Errorf("open %q: %w", string(t.Path), err)
			}
			host := os.NewFile(uintptr(fd), string(t.Path))
			k.files = append(k.files, host)
			own := s.trees[i]
			kt := keeper.Tree{Path: string(t.Path), Git: own.prefix != "", Rules: own.rules, Host: host, Pinned: own.pinned, Masked: own.masked}
			if kt.Layer = layers[i]; kt.Layer != nil {
				k.files = append(k.files, kt.Layer)
			} else {
				k.live.talk.Warn("this host lets no overlayfs be mounted here: what the host would run unasked cannot be held back and is refused instead")
			}
			conf.Trees = append(conf.Trees, kt)
		}
		var err error
		k.keeper, err = keeper.Start(conf)
		return err
	}
}

// held records what became private.
func (k *keeping) held(tree int, rel string, v hostexec.Verdict) {
	k.live.record(journal.Record{Kind: journal.Work, Event: journal.Held, Name: filepath.Join(k.live.session.work.Trees[tree].Path, rel), Reason: v.Who + " " + v.When})
}

// end closes everything once nothing is left inside, brings to the host what needs
// nobody's eyes, and reviews the rest.
func (k *keeping) end() (report *review.Report, applied []review.Outcome, err error) {
	if k.ended {
		return nil, nil, nil
	}
	err = k.stop()
	defer k.closes.Wait()
	defer func() { k.outside.Close() }()
	if s := k.live.session; s.asked.Passing || k.live.box == nil { // nothing ran
		k.closes.Wait()
		return nil, nil, errors.Join(err, k.closeStore(), s.work.Remove())
	}
	defer time.AfterFunc(commitAfter, func() { commitEarly(k.live.session.dirs.State) }).Stop()
	report, applied, failed := k.settle()
	// Once more: when this session began, one that was killed just before may have had
	// a child that still held its lock.
	return report, applied, errors.Join(err, failed, review.Sweep(k.live.session.dirs.State))
}

// stop ends what serves the sandbox.
func (k *keeping) stop() (err error) {
	k.ended = true
	k.looks.Wait()
	k.live.closeStatus()
	if k.keeper != nil {
		err = k.keeper.Close()
	}
	for _, f := range k.files {
		k.closes.Go(func() { f.Close() })
	}
	return err
}

// holdLayers keeps the layers of a review mounted for a moment longer than the sandbox.
// The kernel writes all that a session made to the disk before it lets go of one, which
// takes seconds after hundreds of thousands of files: so that is done beside the review
// and not before it. Without this only time is lost.
func (k *keeping) holdLayers(pid int, p *plan.Plan) {
	root, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/root", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(root)
	for _, o := range p.Ops {
		if o.Do != plan.DoLayer {
			continue
		}
		fd, err := unix.Openat2(root, string(o.Dst), &unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC,
			Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS})
		if err == nil {
			k.files = append(k.files, os.NewFile(uintptr(fd), string(o.Dst)))
		}
	}
}

// settle brings to the host what needs nobody's eyes, reviews the rest and ends the work.
func (k *keeping) settle() (report *review.Report, applied []review.Outcome, err error) {
	s := k.live.session
	applied, err = s.work.Settle(k.store)
	for _, o := range applied {
		verdict := journal.Allow
		if o.Failed() {
			verdict = journal.Deny
		}
		k.live.record(journal.Record{Kind: journal.Work, Event: journal.Applied, Name: o.Path, Verdict: verdict, Reason: o.Result})
	}
	err = errors.Join(err, k.closeStore())
	notes := k.committedNotes()
	report, failed := s.work.Review()
	if report != nil {
		report.Notes = append(report.Notes, notes...)
	}
	if err := s.work.OfferClone(); err != nil {
		k.live.talk.Warn(err.Error())
	}
	k.endOutside(report)
	s.work.Exit = k.live.exit
	changed := failed != nil || report == nil || len(report.Entries)+len(report.Lost) > 0
	return report, applied, errors.Join(err, failed, s.work.End(time.Now(), changed))
}

func (k *keeping) closeStore() error {
	if k.store == nil {
		return nil
	}
	return k.store.Close()
}

// noLayers says whether a launch failed because there is no overlayfs to be had.
func noLayers(err error) bool {
	var f *native.Failure
	return errors.As(err, &f) && f.Step == "layer"
}

// withoutLayers is the plan of the review view for a host without overlayfs: it shows
// a complete copy.
func (k *keeping) withoutLayers(p plan.Plan) (plan.Plan, error) {
	s := k.live.session
	p.Ops = slices.Clone(p.Ops)
	for i, o := range p.Ops {
		if o.Do != plan.DoLayer {
			continue
		}
		n := slices.IndexFunc(s.work.Trees, func(t review.Tree) bool { return t.Path == string(o.Src) })
		k.live.talk.Warn(fmt.Sprintf("this host lets no overlayfs be mounted here: %s is copied, which takes as long as it is large", plan.Show(string(o.Src))))
		if err := s.work.CopyTree(n); err != nil {
			return p, err
		}
		p.Ops[i] = plan.Op{Do: plan.DoBind, Dst: o.Dst, Src: o.Upper, Write: true, Why: o.Why}
	}
	return p, nil
}

// commitAfter is how long a review takes that has much to look at. A shorter one leaves
// the disk little to do, and a second sync would only cost.
const commitAfter = 200 * time.Millisecond

// commitEarly lets the disk begin, beside the review, with what a session has made. The
// record of the end is synced, and a journaling file system writes all that came before
// with it, which takes most of a second after hundreds of thousands of files. A file
// without a name is enough for that. Without this only time is lost.
func commitEarly(dir string) {
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	unix.Write(fd, []byte{0})
	unix.Fsync(fd)
}
