package far

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/sandbox/link"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/rung"
	"ringfence.dev/ringfence/internal/sandbox/upper"
)

// layer is one of the review, whose overlay is mounted at the far end. Here it lies where
// the plan has it, in generations: the next one is made beside it, and takes its place when
// it is whole. The one before stays until then, for who reads in it just now.
type layer struct {
	dir    string // where the review looks
	number uint32 // of the generation that lies there; 0: what the launch put there
	whole  bool   // all of it has come, and nothing changes it any more
	taken
}

// next is where a generation is made.
func (l *layer) next() string { return l.dir + ".next" }

// layersOf are the layers of a plan, in their order.
func layersOf(p *plan.Plan) (out []*plan.Op) {
	for i := range p.Ops {
		if p.Ops[i].Do == plan.DoLayer {
			out = append(out, &p.Ops[i])
		}
	}
	return out
}

// sendLayers tells the far end what its layers begin with.
func (s *sandbox) sendLayers(p *plan.Plan) error {
	for n, o := range layersOf(p) {
		to, err := s.link.Open(link.Lay{Layer: uint16(n)})
		if err != nil {
			return err
		}
		if err := (&upper.Source{Dir: string(o.Upper)}).Send(to, 0, false); err != nil {
			return err
		}
		if err := to.CloseWrite(); err != nil {
			return err
		}
		s.layers = append(s.layers, &layer{dir: string(o.Upper), taken: taken{over: string(o.Src)}})
	}
	return nil
}

// Sync implements rung.Sandbox.
func (s *sandbox) Sync() error { return s.sync() }

// sync brings over what there is, where there is a way.
func (s *sandbox) sync() error {
	if s.Broken() {
		return s.whyBroken()
	}
	return s.fetch()
}

// syncEvery is how long what an agent changed is at the far end only, where bringing it
// over takes no longer than a part of that.
const (
	syncEvery = 5 * time.Second
	syncPart  = 20
)

// syncOn brings over what changed as long as the sandbox runs: a far end that dies then
// loses only the last seconds. What goes wrong is told once, until it goes well again.
func (s *sandbox) syncOn() {
	wait, told := syncEvery, false
	for len(s.layers) > 0 {
		select {
		case <-s.gone:
			return
		case <-time.After(wait):
		}
		began := time.Now()
		err := s.sync()
		if err != nil && !told && !errors.Is(err, errBroken) && !errors.Is(err, errCramped) && s.link.Err() == nil && s.hooks.Warn != nil {
			s.hooks.Warn(fmt.Sprintf("what the agent changes cannot be brought over, and is lost with the far end: %s", Clean(err.Error())))
		}
		told = err != nil
		wait = max(syncEvery, syncPart*time.Since(began))
	}
}

// fetch brings all layers over, as they are now.
func (s *sandbox) fetch() error {
	s.syncing.Lock()
	defer s.syncing.Unlock()
	began := time.Now()
	for n, l := range s.layers {
		if err := s.bring(uint16(n), l, false); err != nil {
			return err
		}
	}
	s.synced = began
	return nil
}

// bring brings one layer over. Until all of it is there, the one before stays as it is.
func (s *sandbox) bring(n uint16, l *layer, whole bool) error {
	from, err := s.link.Open(link.Overlay{Layer: n, Have: l.number, Whole: whole})
	if err != nil {
		return err
	}
	defer from.Close()
	if err := file.RemoveTree(l.next()); err != nil {
		return err
	}
	if err := os.Mkdir(l.next(), 0o700); err != nil {
		return err
	}
	unchanged, err := l.receive(s.paced(from), s.most)
	if err == nil && !unchanged {
		err = l.replace()
	}
	if err != nil || unchanged {
		file.RemoveTree(l.next())
	}
	if w := upper.Wrong(""); errors.As(err, &w) {
		err = s.link.Broke(err.Error())
	}
	return err
}

// receive makes the next generation.
func (l *layer) receive(from io.Reader, most upper.Bounds) (unchanged bool, err error) {
	into, err := sys.OpenSource(l.next())
	if err != nil {
		return false, err
	}
	defer unix.Close(into)
	before := -1
	if l.number > 0 {
		if before, err = sys.OpenSource(l.dir); err != nil {
			return false, err
		}
		defer unix.Close(before)
	}
	return upper.Receive(from, into, before, most)
}

// replace puts the next generation in the place of the last.
func (l *layer) replace() error {
	st, err := os.Lstat(l.dir)
	if err == nil {
		err = os.Chmod(l.next(), st.Mode().Perm())
	}
	if err == nil {
		err = unix.Renameat2(unix.AT_FDCWD, l.next(), unix.AT_FDCWD, l.dir, unix.RENAME_EXCHANGE)
	}
	if err == nil {
		l.keep()
		l.number++
	}
	return err
}

// tidy removes the generation before.
func (s *sandbox) tidy() {
	for _, l := range s.layers {
		file.RemoveTree(l.next())
		if text := l.emptied(); text != "" && s.hooks.Warn != nil {
			s.hooks.Warn(text)
		}
	}
}

// A far end that sends a layer must keep to a pace: one that sends a byte now and then
// would hold the end of a session up for as long as it likes. Slowly or not, one layer has
// an end.
const (
	paceFirst = time.Minute
	paceThen  = 64 << 10 // bytes in a second, from then on: a guest made by software is slow, too
	layerEnd  = time.Hour
)

type paced struct {
	*link.Stream
	began  time.Time
	got    int64
	breaks *breaks
	before time.Duration // that the way was broken
}

func (s *sandbox) paced(from *link.Stream) *paced {
	_, before := s.breaks.now()
	return &paced{Stream: from, began: time.Now(), breaks: &s.breaks, before: before}
}

// due is when the next byte must have come. While the way is broken the clock stands still,
// and no longer in all than one layer may take.
func (p *paced) due() time.Time {
	due := p.began.Add(min(layerEnd, paceFirst+min(layerEnd, time.Duration(p.got/paceThen)*time.Second)))
	broken, total := p.breaks.now()
	due = due.Add(min(layerEnd, total-p.before))
	if soon := time.Now().Add(time.Second); broken && total-p.before < layerEnd && due.Before(soon) {
		return soon
	}
	return due
}

func (p *paced) Read(b []byte) (int, error) {
	for {
		p.SetReadDeadline(p.due())
		n, err := p.Stream.Read(b)
		p.got += int64(n)
		if !errors.Is(err, os.ErrDeadlineExceeded) || !time.Now().Before(p.due()) {
			return n, err
		}
	}
}

// Put implements rung.Sandbox. What the far end says became of it is its word.
func (s *sandbox) Put(path string, data []byte) (rung.Placed, error) {
	to, err := s.link.Open(link.Put{Path: []byte(path)})
	if err != nil {
		return 0, err
	}
	defer to.Close()
	to.SetDeadline(time.Now().Add(patience))
	if _, err := to.Write(data); err != nil {
		return 0, err
	}
	if err := to.CloseWrite(); err != nil {
		return 0, err
	}
	var answer [1]byte
	if _, err := to.Read(answer[:]); err != nil {
		return 0, fmt.Errorf("the far end put nothing there: %w", err)
	}
	placed := rung.Placed(answer[0])
	if placed < rung.Done || placed > rung.Fixed {
		return 0, s.link.Broke("an answer that is none")
	}
	return placed, nil
}
