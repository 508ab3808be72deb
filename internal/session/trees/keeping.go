// Package trees is what a session shows of the trees of the host and may change in them:
// grants, files that hold secrets, settings that nobody has trusted. While a session runs
// it watches them, and at the end it says what changed.
package trees

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/explain/learn"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/sandbox/netns"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/rung"
	"ringfence.dev/ringfence/internal/sandbox/seccomp"
	"ringfence.dev/ringfence/internal/session/launch"
	"ringfence.dev/ringfence/internal/workspace/hostexec"
	"ringfence.dev/ringfence/internal/workspace/keeper"
	"ringfence.dev/ringfence/internal/workspace/review"
	"ringfence.dev/ringfence/internal/workspace/undo"
)

// Trees are the trees of the host that a session may change, and what it shows of them.
type Trees struct {
	Untrusted Untrusted
	list      []tree
	masking   masking
	Clone     string // the repository that the session works in a clone of
}

// Running is the session around the trees, while it runs.
type Running interface {
	Record(...journal.Record)
	Say(string)  // to a person, as far as there is room
	Warn(string) // to a person, in any case
	Tell(string) // not on a screen that a program has
	End(why string)
}

// Changes is what a running session does to the trees of the host.
type Changes struct {
	launch.Base
	trees  *Trees
	plan   *plan.Plan
	run    Running
	names  *learn.Names             // what is named inside; nil: nothing is learnt
	box    rung.Sandbox             // nil: nothing ran
	apart  bool                     // mounts of the host do not reach the agent
	rootOf func() (*os.File, error) // opens the root that the agent has; nil: nobody here can
	store  *undo.Store
	keeper *keeper.Keeper // nil: nothing is live
	files  []*os.File
	looks  sync.WaitGroup
	closes sync.WaitGroup // of files, the last of which unmounts a layer
	// outside are the places that are thrown away; nil: they are not looked at.
	outside *review.Throwaway
	stands  map[int]map[string][]byte // phantoms in layers, by tree, that are not written down yet
	lasts   *time.Timer               // until the session is one that stays
	ended   bool
}

// Begin makes the places for it. made is called when the directory of the session is there.
func Begin(b launch.Base, trees *Trees, p *plan.Plan, run Running, names *learn.Names, made func() error) (*Changes, error) {
	k := &Changes{Base: b, trees: trees, plan: p, run: run, names: names}
	if err := review.Sweep(k.Dirs.State); err != nil {
		run.Tell(fmt.Sprintf("what a killed session left: %v", err))
	}
	k.keepTotal()
	k.Work.Started = time.Now()
	err := k.Work.Create()
	if err != nil {
		err = fmt.Errorf("keep what the session changes: %w", err)
	}
	for _, step := range []func() error{k.adopt, made, k.makeClone, k.openStore} {
		if err == nil {
			err = step()
		}
	}
	if err != nil {
		return nil, errors.Join(err, k.Work.Remove())
	}
	k.lasts = time.AfterFunc(lastAfter, func() {
		if err := k.Work.Last(); err != nil {
			run.Tell(err.Error())
		}
	})
	return k, nil
}

// lastAfter is when the record of a session is to last. One that is over sooner, and changed
// nothing, would write it for nobody, and a disk that discards what is deleted waits for it.
const lastAfter = time.Second

func (k *Changes) makeClone() error {
	if k.trees.Clone == "" {
		return nil
	}
	if err := k.Work.MakeClone(k.trees.Clone); err != nil {
		return fault.New(fault.Refused, "run without --clone", "clone %s: %w", plan.Show(k.trees.Clone), err)
	}
	return nil
}

// openStore makes the store for undo.
func (k *Changes) openStore() (err error) {
	var roots []string
	for _, t := range k.Work.Trees {
		roots = append(roots, t.Path)
	}
	if len(roots) == 0 {
		return nil
	}
	k.store, err = undo.Create(k.Work.Undo(), roots, undo.Limits{File: k.Policy.Workspace.UndoFile.Number(), Total: k.Policy.Workspace.Undo.Number()})
	if err != nil {
		return fmt.Errorf("keep what the session changes: %w", err)
	}
	k.store.OnLost((&losses{keep: k}).tell)
	return nil
}

// adopt makes the layers of the review view ready for what others own. On another machine
// everything has one owner, and a layer there begins with phantoms alone: what is copied
// into it here is not masked yet, and would be sent.
func (k *Changes) adopt() error {
	if k.Machine() != nil {
		return nil
	}
	for n, t := range k.Work.Trees {
		if t.View != review.Review {
			continue
		}
		rest, err := k.Work.Adopt(n, k.User.UID, k.User.GID)
		if err != nil {
			return err
		}
		if rest != "" {
			k.run.Tell(fmt.Sprintf("%s holds more that belongs to another user or group than is made ready for a review: from %s on, changes to such files fail with \"value too large\"; run without --review, or make them yours", plan.Show(t.Path), plan.Show(rest)))
		}
	}
	return nil
}

// Launch starts the sandbox, without private layers where the host has none.
func (k *Changes) Launch(ctx context.Context, r rung.Rung, p plan.Plan, h rung.Hooks) (rung.Sandbox, error) {
	k.apart = !slices.Contains(r.Offer().Views, plan.Live)
	if err := errors.Join(k.maskClone(&p), k.neutralClone(&p)); err != nil {
		return nil, err
	}
	h.Dir = k.Work.Dir()
	if k.Machine() != nil {
		h.Judge = k.judgeSent
	}
	h.Keep, h.Witness = k.start(&p), k.watchOutside(&p, h.Witness)
	layered, err := k.layMasks(p)
	if err != nil {
		return nil, err
	}
	k.box, err = r.Start(ctx, &layered, h)
	if !rung.FailedAt(err, rung.StepLayer) || k.Machine() != nil { // what another machine has copied would not come back
		return k.box, err
	}
	if err := k.liftMasks(); err != nil {
		return nil, err
	}
	if p, err = k.withoutLayers(p); err != nil {
		return nil, err
	}
	k.box, err = r.Start(ctx, &p, h)
	return k.box, err
}

// start serves the calls of a sandbox.
func (k *Changes) start(p *plan.Plan) func(rung.Calls) error {
	return func(calls rung.Calls) error {
		conf := keeper.Config{Listener: calls.Watch, PID: calls.PID, Umask: p.Process.Umask, Store: k.store, Stand: k.Work.StandIns(),
			Held: k.held, Secret: k.named, Shown: k.shown, Failed: func(err error) { k.run.Tell("keeper: " + err.Error()) }}
		conf.Refused, conf.Refuse = k.refused, refuse
		if k.names != nil {
			conf.Asked = k.names.Asked
		}
		for i, t := range p.Trees {
			host, err := openJudged(p, t.Path)
			if err != nil {
				return err
			}
			k.files = append(k.files, host)
			own, err := treeAt(k.trees.list, t.Path)
			if err != nil {
				return err
			}
			if k.Work.Trees[i].Path != own.Path { // the store and the keeper count alike
				return fmt.Errorf("the trees of the plan are not those of the session: %s", plan.Show(own.Path))
			}
			kt := keeper.Tree{Path: string(t.Path), Git: own.Prefix != "", Rules: own.rules, Host: host, Pinned: own.pinned, Masked: own.masked}
			if kt.Layer = calls.Layers[i]; kt.Layer != nil {
				k.files = append(k.files, kt.Layer)
			} else {
				k.run.Tell("this host lets no overlayfs be mounted here: what the host would run unasked cannot be held back and is refused instead")
			}
			conf.Trees = append(conf.Trees, kt)
		}
		var err error
		k.keeper, err = keeper.Start(conf)
		return err
	}
}

// held records what became private.
func (k *Changes) held(tree int, rel string, v hostexec.Verdict) {
	k.run.Record(journal.Record{Kind: journal.Work, Event: journal.Held, Name: filepath.Join(k.Work.Trees[tree].Path, rel), Reason: v.Who + " " + v.When})
}

// refuse knows the calls that come to the keeper only to be refused.
func refuse(nr int32, args *[6]uint64) (keeper.Refusal, bool) {
	r, ok := seccomp.Told(runtime.GOARCH, nr, args)
	return keeper.Refusal{Call: r.Call, Why: r.Why, Errno: unix.Errno(r.Errno)}, ok
}

// refused records what a program did not get.
func (k *Changes) refused(r keeper.Refused) {
	rec := journal.Record{Kind: journal.Work, Event: journal.Refused, Verdict: journal.Deny, Name: r.Path, Via: "write", Reason: "it is read-only in the session"}
	switch {
	case r.Call != "":
		rec.Name, rec.Via, rec.Reason = r.Call, "call", r.Why
	case r.Absent:
		rec.State, rec.Reason = journal.Absent, "it is not in the session's view"
	}
	rec.PID, rec.Command = netns.Describe(r.PID)
	k.run.Record(rec)
}

// untold records how many refusals were only counted.
func (k *Changes) untold() {
	if n := k.keeper.Untold(); n > 0 {
		k.run.Record(journal.Record{Kind: journal.Work, Event: journal.Refused, Verdict: journal.Deny, Count: n, Reason: "the same again, or beyond the first"})
	}
}

// End closes everything once nothing is left inside, brings to the host what needs
// nobody's eyes, and reviews the rest.
func (k *Changes) End(exit *int) (report *review.Report, applied []review.Outcome, err error) {
	if k.ended {
		return nil, nil, nil
	}
	err = k.stop()
	defer k.closes.Wait()
	defer func() { k.outside.Close() }()
	if k.Asked.Passing || k.box == nil { // nothing ran
		k.closes.Wait()
		return nil, nil, errors.Join(err, k.closeStore(), k.Work.Remove())
	}
	defer time.AfterFunc(commitAfter, func() { commitEarly(k.Dirs.State) }).Stop()
	report, applied, failed := k.settle(exit)
	// Once more: when this session began, one that was killed just before may have had
	// a child that still held its lock.
	return report, applied, errors.Join(err, failed, review.Sweep(k.Dirs.State))
}

// Watch looks at the trees until the session has ended.
func (k *Changes) Watch(ended <-chan struct{}) {
	k.looks.Go(func() { k.lookOn(ended) })
	k.looks.Go(func() { k.firstOutside(ended) })
}

// stop ends what serves the sandbox.
func (k *Changes) stop() (err error) {
	k.ended = true
	k.lasts.Stop()
	k.looks.Wait()
	if k.keeper != nil {
		err = k.keeper.Close()
		k.untold()
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
func (k *Changes) holdLayers(p *plan.Plan) {
	root, err := k.openRoot()
	if err != nil {
		return
	}
	defer root.Close()
	for _, o := range p.Ops {
		if o.Do != plan.DoLayer {
			continue
		}
		fd, err := unix.Openat2(int(root.Fd()), string(o.Dst), &unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC,
			Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS})
		if err == nil {
			k.files = append(k.files, os.NewFile(uintptr(fd), string(o.Dst)))
		}
	}
}

// settle brings to the host what needs nobody's eyes, reviews the rest and ends the work.
func (k *Changes) settle(exit *int) (report *review.Report, applied []review.Outcome, err error) {
	applied, err = k.Work.Settle(k.store)
	for _, o := range applied {
		verdict := journal.Allow
		if o.Failed() {
			verdict = journal.Deny
		}
		k.run.Record(journal.Record{Kind: journal.Work, Event: journal.Applied, Name: o.Path, Verdict: verdict, Reason: o.Result})
	}
	err = errors.Join(err, k.closeStore())
	notes := k.committedNotes()
	report, failed := k.Work.Review()
	if report != nil {
		report.Notes = append(report.Notes, notes...)
	}
	if err := k.Work.OfferClone(); err != nil {
		k.run.Tell(err.Error())
	}
	k.endOutside(report)
	k.Work.Exit = exit
	changed := failed != nil || report == nil || len(report.Entries)+len(report.Lost) > 0
	return report, applied, errors.Join(err, failed, k.Work.End(time.Now(), changed))
}

func (k *Changes) closeStore() error {
	if k.store == nil {
		return nil
	}
	return k.store.Close()
}

// openJudged opens a directory that a plan shows: the one that policy judged, by no link.
// Meanwhile the agent of another session may have put something else there.
func openJudged(p *plan.Plan, path plan.Raw) (*os.File, error) {
	fd, err := sys.OpenSource(string(path))
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), string(path))
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil && st.Mode&unix.S_IFMT != unix.S_IFDIR {
		err = unix.ENOTDIR
	}
	for _, o := range p.Ops {
		if o.Src == path && o.ID != nil && (o.Do == plan.DoBind || o.Do == plan.DoLayer) && *o.ID != (plan.Identity{Dev: st.Dev, Ino: st.Ino}) {
			err = errors.New("it was replaced meanwhile")
		}
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("open %q: %w", string(path), err)
	}
	return f, nil
}

// withoutLayers is the plan of the review view for a host without overlayfs: it shows
// a complete copy.
func (k *Changes) withoutLayers(p plan.Plan) (plan.Plan, error) {
	p.Ops = slices.Clone(p.Ops)
	for i, o := range p.Ops {
		if o.Do != plan.DoLayer {
			continue
		}
		n := slices.IndexFunc(k.Work.Trees, func(t review.Tree) bool { return t.Path == string(o.Src) })
		k.run.Tell(fmt.Sprintf("this host lets no overlayfs be mounted here: %s is copied, which takes as long as it is large", plan.Show(string(o.Src))))
		from, err := openJudged(&p, o.Src)
		if err != nil {
			return p, err
		}
		err = k.Work.CopyTree(n, from)
		from.Close()
		if err != nil {
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

// Show ends a throw-away session as any other is ended, shows what it left on the host, and
// forgets it.
func (k *Changes) Show(ended func(undo func() ([]string, error), layer string)) error {
	work := k.Work
	err := k.stop()
	if _, _, failed := k.settle(nil); err != nil || failed != nil {
		return errors.Join(err, failed, work.Remove())
	}
	ended(func() (left []string, err error) {
		all, err := work.UndoAll(nil, false)
		for _, o := range all {
			if o.Failed() {
				left = append(left, o.Path)
			}
		}
		return left, err
	}, work.Upper(0))
	return work.Remove()
}
