package trees

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/workspace/phantom"
)

// maxCommitted bounds the lines about phantoms that git has now.
const maxCommitted = 5

// shows notes what a file shows that was masked while the session ran.
func (m *masking) shows(p string, data []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.phantoms[p] = data
}

// committedNotes tell at the end which phantoms got into the host's repositories: in the
// live view git's objects are the host's at once, and whoever has the commit takes them
// for real values. Under review they wait, and apply refuses the file.
//
// Left at risk: a phantom that was copied to another file, or changed and committed on a
// branch that is not checked out, is not found here. The push of it is refused by its mark.
func (k *Changes) committedNotes() (notes []string) {
	m := &k.trees.masking
	defer m.past.Close()
	for _, p := range slices.Sorted(maps.Keys(m.phantoms)) {
		n := slices.IndexFunc(m.roots, func(r maskRoot) bool { return file.Within(p, r.path) })
		if n < 0 {
			continue
		}
		commit := m.committed(m.roots[n].path, p)
		if commit == "" {
			continue
		}
		k.run.Record(journal.Record{Kind: journal.Work, Event: journal.Masked, Name: p, Reason: commit + " has phantom values of it"})
		notes = append(notes, fmt.Sprintf("%s has phantom values of %s in it: ringfence undo %s takes back what this session committed or stashed", commit, plan.Show(p), k.ID))
	}
	if more := len(notes) - maxCommitted; more > 0 {
		notes = append(notes[:maxCommitted], fmt.Sprintf("git has phantom values of %d more files in it", more))
	}
	return notes
}

// committed says what of git has the phantom of a file: the commit that is checked out,
// or some object; "" for nothing.
func (m *masking) committed(root, p string) string {
	data := m.phantoms[p]
	if now, commit, ok := m.past.File(root, p); ok && (phantom.IsPhantom(now) || len(data) > 0 && bytes.Equal(now, data)) {
		return "commit " + commit[:min(12, len(commit))]
	}
	if len(data) > 0 && m.past.Stored(root, p, data) {
		return "git"
	}
	return ""
}
