// Package npm is the registry door for npm, pnpm, yarn and bun: it asks the registry that
// the host uses, leaves out versions that are too young, and keeps files whose
// digest the registry told.
//
// Left at risk: when a version was published, and which digest it has, is the registry's
// word. A version that has no digest but SHA-1 is checked by it and not kept.
package npm

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"ringfence.dev/ringfence/internal/registry/brake"
	"ringfence.dev/ringfence/internal/registry/door"
	"ringfence.dev/ringfence/internal/registry/ready"
	"ringfence.dev/ringfence/internal/registry/store"
	"ringfence.dev/ringfence/internal/registry/upstream"
)

// Door answers for one registry.
type Door struct {
	Site  *upstream.Site
	Self  string                    // where clients find it, if not by its own name
	Other func(scope string) string // the registry that has a scope, if it is not this one
	Cache string                    // npm's own on the host; "": there is none
	Store *store.Store
	Room  upstream.Room // for large documents
	Brake brake.Rules
	// Refused is told what was held back, and why.
	Refused func(*brake.Held)
	// Left is told, once for a package, what the index leaves out; nil: nobody is.
	Left func(*brake.Held)
	// Skipped is told of a package whose install scripts will not run; nil: they will.
	Skipped func(name string)
	// Ready has what later sessions find in npm's cache; nil: nobody gathers it.
	Ready *ready.Gathering

	mu    sync.Mutex
	told  map[string]bool
	files map[string]string // names of packages, by the paths of their files
}

// Bounds of answers.
const (
	maxPackument = 64 << 20
	maxFile      = 1 << 30
	maxFiles     = 1 << 18 // that are remembered
)

const abbreviated = "application/vnd.npm.install-v1+json"

// Takes holds for a question that is the door's, however it is spelled: what goes past it
// goes past the brakes. What else a registry can be asked is not.
func (d *Door) Takes(r *http.Request) bool {
	if q, ok := d.parse(r); ok {
		return q.file != "" || !door.Writes(r)
	}
	rest, ok := door.Below(r, d.prefix())
	return ok && filed(rest)
}

// Owns holds for a package that comes from this registry.
func (d *Door) Owns(r *http.Request) bool {
	q, ok := d.parse(r)
	return ok && (d.Other == nil || scope(q.name) == "" || d.Other(scope(q.name)) == "")
}

// parse reads a request to the registry by its own name, or to the door.
func (d *Door) parse(r *http.Request) (request, bool) {
	rest, ok := door.Below(r, d.prefix())
	if !ok {
		return request{}, false
	}
	q, ok := parse(rest)
	if ok && strings.HasSuffix(q.file, ".tgz") {
		return q, true
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	at := d.prefix() + rest
	name, known := d.files[at]
	if ok && q.file == "" && !(known && filed(rest)) { // a file may lie where a package of that name would
		return q, true
	}
	return request{name: name, file: at}, known
}

// prefix is what paths begin with: those of the registry where it is asked by its name.
func (d *Door) prefix() string {
	if d.Self != "" {
		return ""
	}
	return d.Site.Base.Path
}

// ServeHTTP implements http.Handler.
func (d *Door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if changes(r) {
		refuse(w, http.StatusForbidden, "the registry is only read here: to publish, and to change tags, owners or a release, is for a person outside the sandbox")
		return
	}
	q, ok := d.parse(r)
	if why := door.Odd(r); ok && why != "" {
		refuse(w, http.StatusForbidden, why)
		return
	}
	if !ok {
		refuse(w, http.StatusNotFound, "the registry is asked for packages here, and for nothing else: accounts, tags and search are for a person outside the sandbox")
		return
	}
	if s := scope(q.name); s != "" && d.Other != nil {
		if at := d.Other(s); at != "" {
			refuse(w, http.StatusForbidden, fmt.Sprintf("packages of %s come from %s on this host, and from nowhere else", s, at))
			return
		}
	}
	err := d.Brake.Bar("npm", q.name)
	switch {
	case err != nil:
	case q.file != "":
		err = d.file(r, w, q)
	case q.version != "":
		err = d.version(r.Context(), w, q)
	default:
		err = d.index(r, w, q)
	}
	if err != nil {
		door.Fail(w, err, refuse, d.Refused)
	}
}

// changes holds for a request that writes, or that reads what npm is about to write back.
func changes(r *http.Request) bool {
	return door.Writes(r) || strings.Contains(r.URL.RawQuery, "write=true")
}

// doc asks the registry about a package, and for the dates that the brakes need.
func (d *Door) doc(ctx context.Context, q request, full bool) (*packument, []byte, error) {
	kind, accept := "npm", abbreviated+"; q=1.0, application/json; q=0.8"
	if full {
		kind, accept = "npm full", "application/json"
	}
	n, err := d.Site.Index(ctx, d.Store, kind, upstream.Question{Path: q.path(), Accept: accept, Packed: true}, maxPackument)
	if err != nil {
		return nil, nil, err
	}
	p, err := readPackument(q.name, n.Body)
	if err != nil {
		return nil, nil, err
	}
	if !full && d.Brake.On("npm", q.name) && p.times == nil && !p.untouched(d.Brake) {
		dated, _, err := d.doc(ctx, q, true)
		if err != nil {
			return nil, nil, err
		}
		p.times = dated.times
	}
	return p, n.Body, nil
}

// young lists the versions that are held back.
func (d *Door) young(q request, p *packument) (out []string) {
	if !d.Brake.On("npm", q.name) || p.times == nil && p.untouched(d.Brake) {
		return nil
	}
	for v := range p.versions {
		if d.Brake.Young("npm", q.name, p.out(v)) {
			out = append(out, v)
		}
	}
	slices.Sort(out)
	return out
}

// index serves what may be chosen of a package.
func (d *Door) index(r *http.Request, w http.ResponseWriter, q request) error {
	short := strings.Contains(r.Header.Get("Accept"), abbreviated)
	ctx, leave := d.Room.Enter(r.Context())
	defer leave()
	p, body, err := d.doc(ctx, q, !short)
	if err != nil {
		return err
	}
	d.remember(q, p)
	young := d.young(q, p)
	if d.Self != "" {
		p.lead(d.Site.Base, d.Self)
	}
	if len(young) > 0 {
		held := d.Brake.Hold("npm", q.name, strings.Join(young, ", "), p.newest(young))
		p.hold(young, "ringfence: "+held.Why)
		if d.Left != nil && d.once("left "+q.name) {
			d.Left(held)
		}
	}
	if d.Self != "" || len(young) > 0 {
		if body, err = json.Marshal(p.rest); err != nil {
			return err
		}
	}
	kind := "application/json"
	if short {
		kind = abbreviated
	}
	door.Index(w, r, kind, body)
	return nil
}

func (p *packument) newest(versions []string) (last time.Time) {
	for _, v := range versions {
		if t := p.out(v); t.After(last) {
			last = t
		}
	}
	return last
}

// version serves what a registry says of one version, by its number or by a tag.
func (d *Door) version(ctx context.Context, w http.ResponseWriter, q request) error {
	ctx, leave := d.Room.Enter(ctx)
	defer leave()
	p, _, err := d.doc(ctx, q, true)
	if err != nil {
		return err
	}
	v := q.version
	young := d.young(q, p)
	if p.versions[v] == nil {
		p.hold(young, "")
		v = p.tags[v]
	} else if slices.Contains(young, v) {
		return d.Brake.Hold("npm", q.name, v, p.out(v))
	}
	if p.versions[v] == nil {
		return &upstream.Failure{Status: http.StatusNotFound, Why: "the registry has no such version"}
	}
	if d.Self != "" {
		p.lead(d.Site.Base, d.Self)
	}
	door.Say(w, "application/json", p.versions[v])
	return nil
}

// remember notes which package a file is of: not every registry names files alike.
func (d *Door) remember(q request, p *packument) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for v := range p.versions {
		info, ok := p.dist(v)
		u, err := url.Parse(info.Tarball)
		if !ok || err != nil || u.Host != d.Site.Base.Host || len(d.files) > maxFiles {
			continue
		}
		if d.files == nil {
			d.files = map[string]string{}
		}
		d.files[u.Path] = q.name
	}
}

// file serves the file of a version: kept, in the host's cache, or from the registry.
func (d *Door) file(r *http.Request, w http.ResponseWriter, q request) error {
	info, manifest, err := d.locate(r.Context(), q)
	if err != nil {
		return err
	}
	want, err := info.digest()
	if err != nil {
		return &upstream.Failure{Why: "the registry does not say what the file must be"}
	}
	f, err := d.blob(r.Context(), info, want)
	if err != nil {
		return err
	}
	defer f.Close()
	scripts := hasScripts(manifest)
	if scripts {
		d.tell(q.name)
	} else if want.Kind == store.SHA512 && d.Ready != nil { // who has scripts is told of each time
		d.Ready.Link(f, content(want))
	}
	door.File(w, r, "application/octet-stream", f)
	return nil
}

// locate finds what the registry says of a file.
func (d *Door) locate(ctx context.Context, q request) (dist, json.RawMessage, error) {
	ctx, leave := d.Room.Enter(ctx)
	defer leave()
	p, _, err := d.doc(ctx, q, false)
	if err != nil {
		return dist{}, nil, err
	}
	version, info, ok := p.find(d.Site.Base, q)
	if !ok {
		return dist{}, nil, &upstream.Failure{Status: http.StatusNotFound, Why: "the registry has no such file"}
	}
	if slices.Contains(d.young(q, p), version) {
		return dist{}, nil, d.Brake.Hold("npm", q.name, version, p.out(version))
	}
	return info, slices.Clone(p.versions[version]), nil
}

// hasScripts holds for a package that wants to run something when it is installed.
func hasScripts(manifest json.RawMessage) bool {
	var m struct {
		Has     bool `json:"hasInstallScript"`
		Scripts map[string]any
	}
	json.Unmarshal(manifest, &m) // what cannot be read has none that is known
	for _, event := range []string{"preinstall", "install", "postinstall"} {
		m.Has = m.Has || m.Scripts[event] != nil
	}
	return m.Has
}

// tell says once that a package has install scripts, which will not run.
func (d *Door) tell(name string) {
	if d.Skipped != nil && !d.Brake.Exempt("npm", name) && d.once(name) {
		d.Skipped(name)
	}
}

// once holds the first time that something is to be told.
func (d *Door) once(what string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.told[what] || len(d.told) > maxFiles {
		return false
	}
	if d.told == nil {
		d.told = map[string]bool{}
	}
	d.told[what] = true
	return true
}

// find is the version that a file is of, by where the registry says that it is.
func (p *packument) find(base *url.URL, q request) (string, dist, bool) {
	for v := range p.versions {
		info, ok := p.dist(v)
		u, err := url.Parse(info.Tarball)
		if !ok || err != nil {
			continue
		}
		rest := strings.TrimPrefix(u.Path, base.Path)
		if u.Path == q.file || rest == "/"+q.name+"/-/"+q.file || u.Host != base.Host && strings.HasSuffix(u.Path, "/"+q.name+"/-/"+q.file) {
			return v, info, true
		}
	}
	return "", dist{}, false
}

// content is where npm's cache has what a digest names.
func content(d store.Digest) string {
	return filepath.Join("_cacache/content-v2", string(d.Kind), d.Sum[:2], d.Sum[2:4], d.Sum[4:])
}

func (d *Door) blob(ctx context.Context, info dist, want store.Digest) (*os.File, error) {
	if f, err := d.Store.Blob(want); err == nil {
		return f, nil
	}
	if d.Cache != "" && want.Proves() {
		path := filepath.Join(d.Cache, content(want))
		if f, err := d.Store.Import(path, want, maxFile); err == nil {
			return f, nil
		}
	}
	in, err := d.Site.Fetch(ctx, d.Store, upstream.Question{At: info.Tarball}, maxFile)
	if err != nil {
		return nil, err
	}
	if err := d.Store.Keep(in, want); err != nil {
		in.Discard()
		return nil, err
	}
	if !want.Proves() {
		os.Remove(in.Name())
	}
	return in.File, nil
}

// refuse answers in the form whose reason npm shows.
func refuse(w http.ResponseWriter, status int, why string) {
	body, err := json.Marshal(map[string]string{"error": "ringfence: " + why})
	if err != nil {
		body = []byte("{}")
	}
	door.Say(door.Deny(w, status), "application/json", body)
}
