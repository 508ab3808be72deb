package gitproxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/git/object"
	"ringfence.dev/ringfence/internal/workspace/phantom"
)

// proof gathers what it takes to show that a push keeps to the rules.
type proof struct {
	ctx     context.Context
	r       *remote
	state   state
	known   map[object.ID]bool // commits that branches of the server reach
	commits map[object.ID]object.History
	tags    map[object.ID]object.ID // what a tag object stands for
	folders map[object.ID]*folder
	pushed  *object.Pack
	asked   map[object.ID]bool // commits that the server was asked about
	kept    int64              // bytes, roughly, that the maps take
	steps   int                // commits that walks have passed

	decoy func([]byte) bool // see Config
}

// One push may take that much memory besides its pack's index, and that many
// steps over its commits.
const (
	maxKept  = 128 << 20
	maxSteps = 20_000_000
)

var (
	errMuch  = errors.New("the push has too much history to be judged at once, push in parts")
	errEdges = errors.New("the push stands on too many commits")
)

func newProof(ctx context.Context, r *remote, s state) *proof {
	p := &proof{ctx: ctx, r: r, state: s, known: map[object.ID]bool{}, commits: map[object.ID]object.History{},
		tags: map[object.ID]object.ID{}, folders: map[object.ID]*folder{}, asked: map[object.ID]bool{}}
	for ref, id := range s.refs {
		if strings.HasPrefix(ref, headsPrefix) {
			p.known[id] = true
		}
	}
	return p
}

// read reads the pushed pack.
func (p *proof) read(r io.ReaderAt, size int64) error {
	var err error
	lim := object.UsualLimits()
	lim.TextSize = maxText
	lim.Text = func(data []byte) error {
		if phantom.IsPhantom(data) {
			return errPhantom
		}
		return p.search(data)
	}
	p.pushed, err = object.ReadPack(p.ctx, r, size, lim, func(id object.ID, kind object.Type, data []byte) error {
		return errors.Join(p.search(data), p.keep(id, kind, data))
	})
	for _, never := range []error{errPhantom, errDecoy} {
		if errors.Is(err, never) {
			return never
		}
	}
	if err != nil {
		return fmt.Errorf("the pack cannot be read: %w", err)
	}
	return nil
}

// maxText is the largest file that is shown with phantoms.
const maxText = 1 << 20

// errPhantom is for values that stand inside for real ones: whoever pulls them takes
// them for those.
var errPhantom = errors.New("a file in this push holds phantom values, which stand inside in the place of secrets: take it out of the commits")

// errDecoy is for credentials that nobody has a reason to touch.
var errDecoy = errors.New("something in this push holds a decoy credential")

// search looks for decoys in what is new: files, names, messages.
func (p *proof) search(data []byte) error {
	if p.decoy != nil && p.decoy(data) {
		return errDecoy
	}
	return nil
}

// keep notes what of an object matters.
func (p *proof) keep(id object.ID, kind object.Type, data []byte) error {
	switch kind {
	case object.Commit:
		h, err := object.ParseCommit(data)
		if err != nil {
			return fmt.Errorf("commit %v: %w", id, err)
		}
		p.commits[id] = h
		p.kept += int64(100 + len(h.Parents)*33) // an id has so many
	case object.Tag:
		to, kind, err := object.ParseTag(data)
		if err != nil {
			return fmt.Errorf("tag %v: %w", id, err)
		}
		if kind == object.Commit || kind == object.Tag {
			p.tags[id] = to
		}
		p.kept += 100
	case object.Tree:
		f := readFolder(data)
		p.folders[id] = f
		p.kept += int64(100 + len(f.entries)*200)
	}
	if p.kept > maxKept {
		return errMuch
	}
	return nil
}

// fetched notes an object of the server, on which some of the pack may stand.
func (p *proof) fetched(id object.ID, kind object.Type, data []byte) error {
	if err := p.keep(id, kind, data); err != nil {
		return err
	}
	return p.pushed.Add(kind, data)
}

// maxHaves bounds how many branches the server is reminded of. Those left out
// make more commits look new than are, never fewer.
const maxHaves = 4096

// haves are the heads of the server's branches, the likeliest first.
func (p *proof) haves() []object.ID {
	out := make([]object.ID, 0, len(p.state.refs))
	if id, ok := p.state.refs[p.state.head]; ok {
		out = append(out, id)
	}
	var names []string
	for name := range p.state.refs {
		if strings.HasPrefix(name, headsPrefix) && name != p.state.head {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		out = append(out, p.state.refs[name])
	}
	return out[:min(len(out), maxHaves)]
}

// reach is what lies between a commit and known ground.
type reach struct {
	fresh []object.ID // commits that no branch of the server is known to reach, nearest first
	edge  []object.ID // where it stops: known commits, and such of which nothing is known
	root  bool        // one of the fresh ones has no parents
}

func (p *proof) walk(from object.ID) (reach, error) {
	var out reach
	seen, queue := map[object.ID]bool{from: true}, []object.ID{from}
	for len(queue) > 0 {
		id := queue[0]
		queue = queue[1:]
		if p.steps++; p.steps > maxSteps {
			return out, errMuch
		}
		h, ok := p.commits[id]
		if p.known[id] || !ok {
			out.edge = append(out.edge, id)
			continue
		}
		out.fresh = append(out.fresh, id)
		out.root = out.root || len(h.Parents) == 0
		for _, parent := range h.Parents {
			if !seen[parent] {
				seen[parent] = true
				queue = append(queue, parent)
			}
		}
	}
	return out, p.ctx.Err()
}

// tip returns the commit that a command leads to, and makes sure that the ways
// from it end on known ground.
func (p *proof) tip(c command) (object.ID, error) {
	id := c.new
	for range 10 {
		if p.known[id] {
			return id, nil
		}
		if err := p.settle(id); err != nil {
			return id, err
		}
		to, tag := p.tags[id]
		if !tag { // the server has other things than commits too
			return id, p.needCommits([]object.ID{id})
		}
		if strings.HasPrefix(c.ref, headsPrefix) {
			return id, errors.New("a branch that leads to a tag is denied")
		}
		id = to
	}
	return id, errors.New("a tag of a tag of a tag is denied")
}

// settle asks the server about commits on the way that are neither in the pack
// nor heads of its branches. It sends those that its branches do not reach; so
// what it does not send, they do.
func (p *proof) settle(from object.ID) error {
	if _, tag := p.tags[from]; tag {
		return nil
	}
	way, err := p.walk(from)
	if err != nil {
		return err
	}
	unknown := slices.DeleteFunc(way.edge, func(id object.ID) bool { return p.known[id] })
	if len(unknown) == 0 {
		return nil
	}
	if len(unknown) > maxHaves {
		return errEdges
	}
	if err := p.r.objects(p.ctx, wish{want: unknown, have: p.haves()}, p.fetched); err != nil {
		return fmt.Errorf("what the push stands on is not on the server: %w", err)
	}
	if way, err = p.walk(from); err != nil {
		return err
	}
	for _, id := range way.edge {
		if _, tag := p.tags[id]; !tag {
			p.known[id] = true
		}
	}
	return nil
}

// forward reports whether old is one of the ancestors of tip.
func (p *proof) forward(old, tip object.ID) (bool, error) {
	way, err := p.walk(tip)
	if err != nil {
		return false, err
	}
	if slices.Contains(way.fresh, old) || slices.Contains(way.edge, old) {
		return true, nil
	}
	if len(way.edge) == 0 {
		return false, nil
	}
	if len(way.edge) > maxHaves {
		return false, errEdges
	}
	return p.r.none(p.ctx, wish{want: []object.ID{old}, have: way.edge})
}

// narrow finds commits of the pack that branches of the server reach already: a
// client that has not fetched for long sends more than it need. It reports
// whether there were any.
func (p *proof) narrow(tip object.ID) (bool, error) {
	const most = 1 << 16
	found, haves := false, p.haves()
	for size := 256; len(haves) > 0 && len(p.asked) < most; size *= 4 {
		way, err := p.walk(tip)
		if err != nil {
			return false, err
		}
		ask := slices.DeleteFunc(way.fresh, func(id object.ID) bool { return p.asked[id] })
		ask = ask[:min(len(ask), size, 1<<14)]
		if len(ask) == 0 {
			break
		}
		for _, id := range ask {
			p.asked[id] = true
		}
		common, err := p.r.common(p.ctx, haves[0], ask)
		if err != nil {
			return false, err
		}
		if len(common) == 0 {
			continue
		}
		strange := map[object.ID]bool{} // the server has it, and its branches do not
		err = p.r.objects(p.ctx, wish{want: common, have: haves}, func(id object.ID, kind object.Type, data []byte) error {
			strange[id] = true
			return p.fetched(id, kind, data)
		})
		if err != nil {
			return false, err
		}
		for _, id := range common {
			if !strange[id] {
				p.known[id], found = true, true
			}
		}
	}
	return found, nil
}
