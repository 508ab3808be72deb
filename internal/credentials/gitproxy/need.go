package gitproxy

import (
	"fmt"
	"slices"
	"sync"

	"ringfence.dev/ringfence/internal/git/object"
)

// maxNeed bounds how many objects are asked of the server for one push.
const maxNeed = 1 << 14

// needCommits makes sure that commits are at hand.
func (p *proof) needCommits(ids []object.ID) error {
	var missing []object.ID
	for _, id := range ids {
		if _, ok := p.commits[id]; !ok && !p.r.f.known.commit(p, id) && !slices.Contains(missing, id) {
			missing = append(missing, id)
		}
		if len(missing) > maxHaves {
			return errEdges
		}
	}
	if len(missing) == 0 {
		return nil
	}
	if err := p.r.objects(p.ctx, wish{want: missing, alone: true}, p.fetched); err != nil {
		return err
	}
	for _, id := range missing {
		if _, ok := p.commits[id]; !ok {
			return fmt.Errorf("the server does not give out commit %v", id)
		}
	}
	return nil
}

// needFolders makes sure that trees are at hand. One that the server does not
// have may be in the pack, as a delta on a tree that only the server has: first
// those are asked for that are known to be trees, then what is missing itself,
// and last all that deltas stand on, blobs too.
func (p *proof) needFolders(ids map[object.ID]bool) error {
	var trouble error
	missing := p.missing(ids)
	for try := 0; try < 4 && len(missing) > 0; try++ {
		ask := missing
		switch try {
		case 0:
			ask = slices.DeleteFunc(p.pushed.Missing(), func(id object.ID) bool { return p.folders[id] == nil })
		case 2:
			ask = p.pushed.Missing()
		}
		if err := p.ask(ask); err != nil {
			trouble = err
		}
		missing = p.missing(ids)
	}
	if len(missing) > 0 && trouble != nil {
		return trouble
	}
	if len(missing) > 0 {
		return fmt.Errorf("tree %v is neither in the pack nor on the server", missing[0])
	}
	for id := range ids {
		if err := p.folders[id].err; err != nil {
			return fmt.Errorf("tree %v: %w", id, err)
		}
	}
	return nil
}

func (p *proof) missing(ids map[object.ID]bool) []object.ID {
	var out []object.ID
	for id := range ids {
		if p.folders[id] == nil && !p.r.f.known.folder(p, id) {
			out = append(out, id)
		}
	}
	return out
}

// ask gets objects from the server, those and no others.
func (p *proof) ask(ids []object.ID) error {
	if len(ids) == 0 {
		return nil
	}
	if len(ids) > maxNeed {
		return fmt.Errorf("the push needs more than %d objects of the server", maxNeed)
	}
	return p.r.objects(p.ctx, wish{want: ids}, p.fetched)
}

// cache remembers objects from one push to the next. They are named by what is in
// them, so nothing in it can be wrong; that the server has them it does not say.
type cache struct {
	mu      sync.Mutex
	commits map[object.ID]object.History
	folders map[object.ID]*folder
}

const maxCache = 1 << 12

// commit gives a proof a commit, if it is there.
func (c *cache) commit(p *proof, id object.ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	h, ok := c.commits[id]
	if ok {
		p.commits[id] = h
	}
	return ok
}

// folder gives a proof a tree, if it is there.
func (c *cache) folder(p *proof, id object.ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	f, ok := c.folders[id]
	if ok {
		p.folders[id] = f
	}
	return ok
}

// put takes commits with their trees out of a proof that has them.
func (c *cache) put(p *proof, ids []object.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.commits == nil || len(c.commits) > maxCache || len(c.folders) > maxCache {
		c.commits, c.folders = map[object.ID]object.History{}, map[object.ID]*folder{}
	}
	for _, id := range ids[:min(len(ids), maxCache)] {
		root := p.commits[id].Tree
		c.commits[id], c.folders[root] = p.commits[id], p.folders[root]
		for inner := range p.folders[root].inner() {
			c.folders[inner] = p.folders[inner]
		}
	}
}
