package hostexec

import "strings"

// Memory is a tree that does not change meanwhile, for one who asks about path after
// path: what was found on the way to the last directory is remembered, so that the next
// one costs what is new on its way. It is not to be shared.
type Memory struct {
	Tree
	dir   string // the last directory
	start int
	steps []step // the root of the tree, and every directory on the way to dir
	heads map[string]head
}

// step is a way that was gone up to a directory.
type step struct {
	end int // of the directory's name in dir
	way
}

// head is what is at a path.
type head struct {
	kind Kind
	is   bool
}

// maxHeads bounds what is remembered. It is more than a path can be deep.
const maxHeads = 8 << 10

// At remembers whether a directory has a HEAD: who goes up and down asks again.
func (m *Memory) At(rel string) (Kind, bool) {
	if baseName(rel) != "HEAD" {
		return m.Tree.At(rel)
	}
	h, known := m.heads[rel]
	if !known {
		if m.heads == nil || len(m.heads) >= maxHeads {
			m.heads = map[string]head{}
		}
		h.kind, h.is = m.Tree.At(rel)
		m.heads[rel] = h
	}
	return h.kind, h.is
}

// around is gitPlaces. What it returns is not to be changed.
func (m *Memory) around(r *Rules, rel string) []gitPlace {
	dir := rel[:max(strings.LastIndexByte(rel, '/'), 0)]
	if len(m.steps) == 0 || m.start != r.start {
		m.start, m.dir, m.steps = r.start, "", []step{{way: r.outermost(nil, m)}}
	}
	m.back(dir)
	last := m.steps[len(m.steps)-1]
	for end := last.end; end < len(dir); {
		end++
		for end < len(dir) && dir[end] != '/' {
			end++
		}
		last.places = last.places[:len(last.places):len(last.places)] // those above stay as they are
		last = step{end, last.enter(m, dir[:end])}
		m.steps = append(m.steps, last)
	}
	m.dir = dir
	return last.places
}

// back goes up to the last directory that is also on the way to dir.
func (m *Memory) back(dir string) {
	same := 0
	for same < len(dir) && same < len(m.dir) && dir[same] == m.dir[same] {
		same++
	}
	for n := len(m.steps) - 1; n > 0; n-- {
		end := m.steps[n].end
		if end <= same && (end == len(dir) || dir[end] == '/') {
			break
		}
		m.steps = m.steps[:n]
	}
}
