// Package pypi is the registry door for pip and uv: it asks the index that the host uses,
// marks files that are too young so that nobody chooses them, and keeps files whose
// digest the index told.
//
// A young file is marked as yanked, with our reason: the word of the protocol for what is
// to be taken by its very number alone. Who does is refused, with the same reason.
//
// Left at risk: when a file was uploaded, and which digest it has, is the index's word. An
// index in HTML does not say when: there everything is as young as can be. A file without
// a digest is passed on, and not kept.
package pypi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"
	"sync"
	"time"

	"ringfence.dev/ringfence/internal/registry/brake"
	"ringfence.dev/ringfence/internal/registry/door"
	"ringfence.dev/ringfence/internal/registry/store"
	"ringfence.dev/ringfence/internal/registry/upstream"
)

// Door answers for one index.
type Door struct {
	Site *upstream.Site // its base is the index itself, as https://host/simple
	Self string         // where clients find it, if not by its own name
	// FilesAt is another host where Files stands; "": there is none.
	FilesAt string
	Store   *store.Store
	Room    upstream.Room // for large documents
	Brake   brake.Rules
	// Refused is told what was held back, and why.
	Refused func(*brake.Held)

	mu    sync.Mutex
	files map[string]string // projects, by the addresses of their files
	told  map[string]bool   // projects of which nothing is left
}

// Bounds of answers, and of what is remembered.
const (
	maxIndex    = 64 << 20
	maxDownload = 4 << 30
	maxMetadata = 16 << 20
	maxKnown    = 1 << 18
)

const tool = "pypi"

// Takes holds for a question for the files of a project, however it is spelled: what goes
// past the door goes past the brakes. What else an index can be asked is not the door's.
func (d *Door) Takes(r *http.Request) bool {
	_, ok := d.parse(r)
	return ok && !door.Writes(r) || d.takesFile(r)
}

// takesFile holds for what looks like a file of a project: where the door has a place of
// its own in that, else beside the index.
func (d *Door) takesFile(r *http.Request) bool {
	if d.Self != "" {
		_, _, ok := d.ownFile(r.URL)
		return ok
	}
	rest, ok := door.Below(r, path.Dir("/"+d.Site.Base.Path))
	return ok && installs(path.Base(rest))
}

// parse reads a request for a project.
func (d *Door) parse(r *http.Request) (string, bool) {
	prefix := d.Site.Base.Path
	if d.Self != "" {
		prefix = "/simple"
	}
	rest, ok := door.Below(r, prefix)
	if !ok {
		return "", false
	}
	return project(rest)
}

// ownFile reads the address of a file that the door gave out: /files/PROJECT/FILE.
func (d *Door) ownFile(u *url.URL) (name, file string, ok bool) {
	rest, ok := strings.CutPrefix(u.EscapedPath(), "/files/")
	name, file, cut := strings.Cut(rest, "/")
	normal, good := project("/" + name)
	return normal, file, ok && cut && good && isFile(file)
}

// ServeHTTP implements http.Handler.
func (d *Door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if why := door.Odd(r); why != "" {
		refuse(w, http.StatusForbidden, why)
		return
	}
	var err error
	if name, ok := d.parse(r); ok {
		err = d.index(w, r, name)
	} else if d.takesFile(r) {
		err = d.file(w, r)
	} else {
		err = &upstream.Failure{Status: http.StatusNotFound, Why: "the index is asked for projects here, and for nothing else"}
	}
	if err != nil {
		door.Fail(w, err, refuse, d.Refused)
	}
}

// Files is the door at a host that has files and no index.
func (d *Door) Files() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if why := door.Odd(r); why != "" {
			refuse(w, http.StatusForbidden, why)
		} else if err := d.file(w, r); err != nil {
			door.Fail(w, err, refuse, d.Refused)
		}
	})
}

// IsFile holds for a question to a host of files that is the door's.
func IsFile(r *http.Request) bool {
	if _, ok := door.Below(r, "/packages"); ok {
		return true
	}
	rest, ok := door.Below(r, "")
	return ok && installs(path.Base(rest))
}

// page asks the index about a project.
func (d *Door) page(ctx context.Context, name string) (*page, error) {
	q := upstream.Question{Path: "/" + name + "/", Accept: kindJSON + ", " + kindHTML + ";q=0.2, text/html;q=0.1", Packed: true}
	n, err := d.Site.Index(ctx, d.Store, tool, q, maxIndex)
	if err != nil {
		return nil, err
	}
	at, err := url.Parse(d.Site.Base.String() + q.Path)
	if err != nil {
		return nil, err
	}
	p, err := readPage(name, at, n.Kind, n.Body)
	if err != nil {
		return nil, err
	}
	d.remember(name, p)
	return p, nil
}

// remember notes which project a file is of.
func (d *Door) remember(name string, p *page) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.files == nil {
		d.files = map[string]string{}
	}
	for _, e := range p.files {
		if len(d.files) < maxKnown {
			d.files[e.at.Host+e.at.Path] = name
		}
	}
}

// held is why a file is not to be had; nil: it is.
func (d *Door) held(name string, e entry) *brake.Held {
	h := (*brake.Held)(nil)
	if errors.As(d.Brake.Bar(tool, name), &h) {
		return h
	}
	if d.Brake.Young(tool, name, e.out) {
		return d.Brake.Hold(tool, name, version(name, e.name), e.out)
	}
	return nil
}

// index serves what may be chosen of a project.
func (d *Door) index(w http.ResponseWriter, r *http.Request, name string) error {
	ctx, leave := d.Room.Enter(r.Context())
	defer leave()
	p, err := d.page(ctx, name)
	if err != nil {
		return err
	}
	if h := d.hold(name, p); h != nil {
		return h
	}
	if d.Self != "" {
		if err := p.lead(d.Self + "/files/" + name + "/"); err != nil {
			return err
		}
	}
	if !strings.Contains(r.Header.Get("Accept"), "application/vnd.pypi.simple.v1+json") {
		door.Index(w, r, "text/html; charset=utf-8", p.asHTML(name))
		return nil
	}
	body, err := p.asJSON(name)
	if err != nil {
		return err
	}
	door.Index(w, r, kindJSON, body)
	return nil
}

// hold marks what is too young or refused, so that the reason is shown to who asks for it
// all the same; what lies where no door is would be had then, and is left out. It is why
// nothing at all is in the list then. Where nothing can be chosen, that is told once.
func (d *Door) hold(name string, p *page) *brake.Held {
	var kept []entry
	free, last := 0, (*brake.Held)(nil)
	for _, e := range p.files {
		switch h := d.held(name, e); {
		case h == nil:
			free++
			kept = append(kept, e)
		case d.hands(e.at):
			e.yanked, e.why, last = true, "ringfence: "+h.Why, h
			kept = append(kept, e)
		default:
			last = h
		}
	}
	if p.files = kept; len(kept) == 0 {
		return last
	}
	if free == 0 {
		d.tell(name, last)
	}
	return nil
}

// hands holds for a file that comes by the door.
func (d *Door) hands(at *url.URL) bool {
	if d.Self != "" {
		return true
	}
	r := &http.Request{Method: http.MethodGet, URL: at}
	return at.Scheme == "https" && (at.Host == d.Site.Base.Host && d.takesFile(r) || d.FilesAt != "" && at.Host == d.FilesAt && IsFile(r))
}

// tell says once that nothing of a project can be chosen.
func (d *Door) tell(name string, why *brake.Held) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.told[name] || len(d.told) >= maxKnown || d.Refused == nil {
		return
	}
	if d.told == nil {
		d.told = map[string]bool{}
	}
	d.told[name] = true
	d.Refused(why)
}

// lead has files fetched from the door.
func (p *page) lead(below string) error {
	for i, e := range p.files {
		u, err := url.Parse(below + url.PathEscape(e.name))
		if err != nil {
			return err
		}
		p.files[i].at = u
	}
	return nil
}

// file serves a file or its metadata: kept, or from where the index says.
func (d *Door) file(w http.ResponseWriter, r *http.Request) error {
	name, e, err := d.find(r)
	if err != nil {
		return err
	}
	if h := d.held(name, e); h != nil {
		return h
	}
	at, want, most, kind := e.at.String(), e.want, int64(maxDownload), "application/octet-stream"
	if strings.HasSuffix(r.URL.Path, metadata) {
		at, want, most, kind = at+metadata, e.meta, maxMetadata, "text/plain; charset=utf-8"
	}
	f, err := d.blob(r.Context(), at, want, most)
	if err != nil {
		return err
	}
	defer f.Close()
	door.File(w, r, kind, f)
	return nil
}

var errNoFile = &upstream.Failure{Status: http.StatusNotFound, Why: "the index has no such file"}

// find asks the index for what lies at an address: that alone says what it must be.
func (d *Door) find(r *http.Request) (string, entry, error) {
	if !isFile(fileOf(r.URL)) {
		return "", entry{}, errNoFile
	}
	ctx, leave := d.Room.Enter(r.Context())
	defer leave()
	names, is := d.names(r)
	for _, name := range names {
		p, err := d.page(ctx, name)
		if upstream.IsMissing(err) {
			continue
		}
		if err != nil {
			return "", entry{}, err
		}
		if e, ok := p.find(is); ok {
			return name, e, nil
		}
	}
	return "", entry{}, errNoFile
}

// names are the projects that a file can be of, and how it is known there.
func (d *Door) names(r *http.Request) ([]string, func(entry) bool) {
	if d.Self != "" {
		name, file, _ := d.ownFile(r.URL)
		file = strings.TrimSuffix(file, metadata)
		return []string{name}, func(e entry) bool { return e.name == file }
	}
	at := r.Host + strings.TrimSuffix(r.URL.Path, metadata)
	is := func(e entry) bool { return e.at.Host+e.at.Path == at }
	d.mu.Lock()
	defer d.mu.Unlock()
	if name, ok := d.files[at]; ok {
		return []string{name}, is
	}
	return guess(fileOf(r.URL)), is
}

func (d *Door) blob(ctx context.Context, at string, want store.Digest, most int64) (*os.File, error) {
	if f, err := d.Store.Blob(want); err == nil {
		return f, nil
	}
	in, err := d.Site.Fetch(ctx, d.Store, upstream.Question{At: at}, most)
	if err != nil {
		return nil, err
	}
	if !want.Proves() {
		os.Remove(in.Name())
		return in.File, nil
	}
	if err := d.Store.Keep(in, want); err != nil {
		in.Discard()
		return nil, err
	}
	return in.File, nil
}

// refuse answers in the forms whose reason is shown: pip shows the words behind the
// number, uv a description of the problem.
func refuse(w http.ResponseWriter, status int, why string) {
	body, err := json.Marshal(map[string]any{"title": "refused by ringfence", "detail": why, "status": status})
	if err != nil {
		body = []byte("{}")
	}
	const kind = "application/problem+json"
	if h, ok := w.(http.Hijacker); ok {
		if c, b, err := h.Hijack(); err == nil {
			defer c.Close()
			c.SetDeadline(time.Now().Add(10 * time.Second))
			fmt.Fprintf(b, "HTTP/1.1 %d ringfence: %s\r\nContent-Type: %s\r\nContent-Length: %d\r\nX-Ringfence: denied\r\nConnection: close\r\n\r\n%s", status, line(why), kind, len(body), body)
			b.Flush()
			return
		}
	}
	door.Say(door.Deny(w, status), kind, body)
}

// line is a text as it can stand behind a status.
func line(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, s)
}
