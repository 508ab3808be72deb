package gitproxy

import (
	"net/http"
	"slices"
	"strings"
)

// call is what a request is for.
type call int

const (
	advertise   call = iota // the list of refs, before anything else
	uploadPack              // the client fetches
	receivePack             // the client pushes
	lfsBatch                // where LFS objects are
	lfsLocks                // who has locked what
	lfsVerify               // the same, asked before a push
	lfsLock                 // take or drop a lock
	lfsObject               // the object itself
)

const (
	fetchService = "git-upload-pack"
	pushService  = "git-receive-pack"
	locksService = "lfs-locks"
)

// route is a request that has been understood.
type route struct {
	call    call
	repo    string // without .git
	suffix  string // ".git" or nothing, as the client has it
	path    string // behind the repository
	service string
	id      string // of an LFS object
	query   string
}

// endpoints are the paths behind a repository. Nothing else is served: not the
// old protocol that reads files, not the forge's own pages.
var endpoints = []struct {
	method, path string
	call         call
	service      string
}{
	{http.MethodGet, "/info/refs", advertise, ""},
	{http.MethodPost, "/git-upload-pack", uploadPack, fetchService},
	{http.MethodPost, "/git-receive-pack", receivePack, pushService},
	{http.MethodPost, "/info/lfs/objects/batch", lfsBatch, ""},
	{http.MethodGet, "/info/lfs/locks", lfsLocks, locksService},
	{http.MethodPost, "/info/lfs/locks", lfsLock, locksService},
	{http.MethodPost, "/info/lfs/locks/verify", lfsVerify, locksService},
}

// route reads the path as it was sent. One with an escape in it is refused, so
// there is one spelling of each and the server cannot read another.
func (f *Forge) route(r *http.Request) (route, *denial) {
	path, ok := strings.CutPrefix(r.URL.EscapedPath(), f.prefix+"/")
	if !ok || r.URL.Opaque != "" || len(path) > 1024 {
		return route{}, deny(http.StatusNotFound, "this is not a path of git or LFS")
	}
	if id, ok := strings.CutPrefix(path, "lfs/"); ok && isTicket(id) && r.URL.RawQuery == "" {
		return route{call: lfsObject, id: id}, nil
	}
	rt, ok := behind(r.Method, path)
	if !ok {
		return route{}, deny(http.StatusNotFound, "this is not a path of git or LFS")
	}
	if !goodRepo(rt.repo) {
		return route{}, deny(http.StatusBadRequest, "the path does not name a repository")
	}
	return rt.withQuery(r.URL.RawQuery)
}

// behind splits a path into the repository and what is behind it.
func behind(method, path string) (route, bool) {
	for _, e := range endpoints {
		if repo, ok := strings.CutSuffix(path, e.path); ok && method == e.method {
			rt := route{call: e.call, path: e.path, service: e.service}
			rt.repo, rt.suffix = splitRepo(repo)
			return rt, true
		}
	}
	repo, lock, ok := strings.Cut(path, "/info/lfs/locks/")
	id, drop := strings.CutSuffix(lock, "/unlock")
	if !ok || !drop || method != http.MethodPost || !goodElement(id) {
		return route{}, false
	}
	rt := route{call: lfsLock, path: "/info/lfs/locks/" + lock, service: locksService}
	rt.repo, rt.suffix = splitRepo(repo)
	return rt, true
}

// withQuery takes the queries that git and git-lfs send.
func (rt route) withQuery(q string) (route, *denial) {
	switch {
	case rt.call == advertise && q == "service="+fetchService:
		rt.service = fetchService
	case rt.call == advertise && q == "service="+pushService:
		rt.service = pushService
	case rt.call == lfsLocks && goodQuery(q):
	case rt.call != advertise && q == "":
	default:
		return rt, deny(http.StatusBadRequest, "this is not a query of git or LFS")
	}
	rt.query = q
	return rt, nil
}

// goodQuery takes queries that are spelled in plain characters.
func goodQuery(q string) bool {
	for _, pair := range strings.Split(q, "&") {
		key, _, _ := strings.Cut(pair, "=")
		if q != "" && !slices.Contains([]string{"path", "id", "cursor", "limit", "refspec"}, key) {
			return false
		}
	}
	for _, c := range []byte(q) {
		if !plain(c) && !strings.ContainsRune("%&=/", rune(c)) {
			return false
		}
	}
	return true
}

func splitRepo(s string) (repo, suffix string) {
	if repo, ok := strings.CutSuffix(s, ".git"); ok {
		return repo, ".git"
	}
	return s, ""
}

// goodRepo takes the path of a repository without its .git. An element that still
// ends so is either a repository with a path inside it or .git twice.
func goodRepo(repo string) bool {
	elements := strings.Split(repo, "/")
	for _, e := range elements {
		if !goodElement(e) || strings.HasSuffix(strings.ToLower(e), ".git") {
			return false
		}
	}
	return len(elements) <= 20
}

func goodElement(e string) bool {
	if e == "" || e == "." || e == ".." || len(e) > 255 {
		return false
	}
	for _, c := range []byte(e) {
		if !plain(c) {
			return false
		}
	}
	return true
}

// plain are the characters that mean the same in every URL.
func plain(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '_' || c == '-' || c == '~' || c == '+'
}
