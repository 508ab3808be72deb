package keeper

import (
	"sync"
)

// ownFiles knows the files that the session itself made under the names of secrets: it has
// seen what is in them. It knows the files and not the names, under which a person may
// write something else later. A file whose file system does not say when it was born
// cannot be told from a later one of its number, and is nobody's.
type ownFiles struct {
	mu sync.Mutex
	of map[node]madeAt // where it was made
}

type madeAt struct {
	tree int
	rel  string
}

// maxMade bounds them. What is beyond is masked like a file of the host's.
const maxMade = 1 << 14

// mine notes that t was just made, if err says so. The caller has names, so whoever has
// them alone finds it noted.
func (w *worker) mine(t *target, err error) {
	if err != nil || w.conf.Secret == nil || t.held != nil || !w.conf.Secret(t.tree, t.rel) {
		return
	}
	n, _, ok := nodeAt(t.dir, t.name)
	if !ok {
		return
	}
	m := &w.made
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.of == nil {
		m.of = map[node]madeAt{}
	}
	if len(m.of) >= maxMade {
		w.forgetGone()
	}
	if len(m.of) < maxMade {
		m.of[n] = madeAt{t.tree, t.rel}
	}
}

// writes notes that t is about to be written, before it is: a file that was shown as it
// is does not become a secret by what the session writes to it.
func (w *worker) writes(t *target) {
	if w.conf.Secret != nil && w.conf.Shown != nil && w.conf.Secret(t.tree, t.rel) && w.conf.Shown(t.tree, t.rel) {
		w.mine(t, nil)
	}
}

// forgetGone forgets files that are no more where they were made. One that was moved is
// masked from then on.
func (w *worker) forgetGone() {
	for n, at := range w.made.of {
		dir, name, err := w.parentIn(int(w.conf.Trees[at.tree].Host.Fd()), at.rel)
		if now, _, ok := nodeAt(dir, name); err != nil || !ok || now != n {
			delete(w.made.of, n)
		}
	}
}

func (m *ownFiles) has(n node) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, ok := m.of[n]
	return ok
}
