package repo

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/git/object"
)

// History knows whether git has the very content of a file in the commit that is
// checked out, in stores that lie in what is shown. Such a file can be read from there
// whatever stands in its place. Nobody can make it say so of content that he does not
// know: he would have to store it.
type History struct {
	Repo  *Repo    // the one that was found; may be nil
	Shown []string // directories that are shown: object stores elsewhere do not count
	Hides []string // and what in them is not

	mu    sync.Mutex
	repos map[string]*opened // by git directory
}

// opened is a repository at one commit.
type opened struct {
	head  string
	store *object.Store
	at    *object.Snapshot // nil: it could not be read
}

// Has reports it for the file at path, which lies below root. What it cannot tell is
// false.
func (h *History) Has(root, path string, content []byte) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	at, _, rel := h.at(root, path)
	return at != nil && at.Has(rel, content) == nil
}

// File is what the commit that is checked out has in a file, and which one that is.
func (h *History) File(root, path string) (content []byte, commit string, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	at, commit, rel := h.at(root, path)
	if at == nil {
		return nil, "", false
	}
	content, err := at.File(rel)
	return content, commit, err == nil
}

// Stored reports whether the repository of a file has this content as an object, in
// whatever commit or none.
func (h *History) Stored(root, path string, content []byte) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	at, _, _ := h.at(root, path)
	return at != nil && at.Stored(content) == nil
}

// at opens what is checked out where a file lies; nil if that cannot be read.
func (h *History) at(root, path string) (at *object.Snapshot, commit, rel string) {
	repo, rel := h.repoOf(root, path)
	if repo == nil || !h.shown(filepath.Join(repo.CommonDir, "objects")) {
		return nil, "", ""
	}
	at = h.open(repo)
	return at, h.repos[repo.GitDir].head, rel
}

func (h *History) shown(dir string) bool {
	in := func(s string) bool { return file.Within(dir, s) }
	return slices.ContainsFunc(h.Shown, in) && !slices.ContainsFunc(h.Hides, in)
}

// repoOf finds the repository whose work tree a file lies in: the nearest above it.
func (h *History) repoOf(root, path string) (*Repo, string) {
	for dir := filepath.Dir(path); file.Within(dir, root); dir = filepath.Dir(dir) {
		rel := strings.TrimPrefix(path[len(dir):], "/")
		if h.Repo != nil && h.Repo.WorkTree == dir && h.Repo.GitDir != "" {
			return h.Repo, rel
		}
		git := filepath.Join(dir, ".git")
		st, err := os.Lstat(git)
		switch {
		case err == nil && st.IsDir():
			if _, err := os.Lstat(filepath.Join(git, "commondir")); err == nil {
				return nil, "" // its objects are elsewhere
			}
			return &Repo{WorkTree: dir, GitDir: git, CommonDir: git}, rel
		case err == nil:
			return nil, "" // a pointer, and nobody has looked where to
		}
		if dir == "/" {
			break
		}
	}
	return nil, ""
}

func (h *History) open(r *Repo) *object.Snapshot {
	head := Head(r)
	if o := h.repos[r.GitDir]; o != nil {
		if o.head == head {
			return o.at
		}
		o.close()
	}
	o := &opened{head: head}
	if id, err := object.ParseID(head); err == nil {
		if o.store, err = object.Open([]string{filepath.Join(r.CommonDir, "objects")}, h.Shown); err == nil {
			if o.at, err = o.store.Snapshot(id); err != nil {
				o.at = nil
			}
		}
	}
	if h.repos == nil {
		h.repos = map[string]*opened{}
	}
	if len(h.repos) >= maxOpened {
		h.closeAll()
	}
	h.repos[r.GitDir] = o
	return o.at
}

// maxOpened bounds the descriptors.
const maxOpened = 16

func (o *opened) close() {
	if o.store != nil {
		o.store.Close()
	}
}

func (h *History) closeAll() {
	for name, o := range h.repos {
		o.close()
		delete(h.repos, name)
	}
}

// Close lets go of all repositories.
func (h *History) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closeAll()
}
