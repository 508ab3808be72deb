// Package crates is the registry door for cargo: it speaks the protocol of sparse indexes,
// asks the one that the host uses, marks releases that are too young so that
// nobody chooses them, and keeps files whose checksum the index told.
//
// A young release is marked as yanked: cargo does not choose it. Where a lock file has it,
// its file is refused, with the reason.
//
// Left at risk: when a release came, and which checksum it has, is the registry's word. Not
// every index says when; then the registry's web API is asked, and what neither of them
// dates is as young as can be.
package crates

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"ringfence.dev/ringfence/internal/registry/brake"
	"ringfence.dev/ringfence/internal/registry/door"
	"ringfence.dev/ringfence/internal/registry/store"
	"ringfence.dev/ringfence/internal/registry/upstream"
)

// Door answers for one index.
type Door struct {
	Site   *upstream.Site
	Self   string   // where clients find it
	Named  bool     // that is by its own name
	Caches []string // of cargo on the host
	Store  *store.Store
	Room   upstream.Room // for large documents
	Brake  brake.Rules
	// Refused is told what was held back, and why.
	Refused func(*brake.Held)
	// Left is told, once for a crate, what the index marks so that nobody chooses it; nil:
	// nobody is.
	Left func(*brake.Held)

	mu   sync.Mutex
	told map[string]bool
}

// Bounds of answers, and of what is remembered.
const (
	maxConfig = 64 << 10
	maxIndex  = 32 << 20
	maxDates  = 32 << 20
	maxFile   = 1 << 30
	maxTold   = 1 << 16
)

const tool = "crates"

// Takes holds for a question that is the door's, however it is spelled: what goes past it
// goes past the brakes.
func (d *Door) Takes(r *http.Request) bool {
	path, ok := d.below(r)
	if !ok {
		return false
	}
	q, ok := parse(strings.ToLower(path))
	return ok && (q.version != "" || !door.Writes(r)) || strings.HasSuffix(path, "/download") || strings.HasSuffix(path, ".crate")
}

// below is the path of a request below the index.
func (d *Door) below(r *http.Request) (string, bool) {
	if !d.Named {
		return door.Below(r, "")
	}
	return door.Below(r, d.Site.Base.Path)
}

// ServeHTTP implements http.Handler.
func (d *Door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, _ := d.below(r)
	q, ok := parse(path)
	if !ok {
		door.Text(w, http.StatusNotFound, "the index is asked for crates here, and for nothing else")
		return
	}
	if why := door.Odd(r); why != "" {
		door.Text(w, http.StatusForbidden, why)
		return
	}
	err := d.Brake.Bar(tool, q.name)
	switch {
	case err != nil:
	case q.config:
		err = d.config(w, r)
	case q.version != "":
		err = d.file(w, r, q)
	default:
		err = d.index(w, r, q.name)
	}
	if err != nil {
		door.Fail(w, err, door.Text, d.Refused)
	}
}

// settings asks what the index says of itself.
func (d *Door) settings(ctx context.Context) (config, error) {
	n, err := d.Site.Index(ctx, d.Store, tool, upstream.Question{Path: "/config.json"}, maxConfig)
	if err != nil {
		return config{}, err
	}
	return readConfig(n.Body)
}

// config leads cargo to us for files. That a login is wanted is left out: we have it.
func (d *Door) config(w http.ResponseWriter, r *http.Request) error {
	c, err := d.settings(r.Context())
	if err != nil {
		return err
	}
	say := map[string]string{"dl": d.Self + "/dl"}
	if c.api != "" {
		say["api"] = c.api
	}
	body, err := json.Marshal(say)
	if err != nil {
		return err
	}
	door.Index(w, r, "application/json", body)
	return nil
}

// crate asks the index about a crate, and for dates that it does not have.
func (d *Door) crate(ctx context.Context, name string) ([]release, error) {
	n, err := d.Site.Index(ctx, d.Store, tool, upstream.Question{Path: "/" + prefix(name) + "/" + name, Packed: true}, maxIndex)
	if err != nil {
		return nil, err
	}
	all, err := readCrate(name, n.Body)
	if err != nil || !d.Brake.On(tool, name) {
		return all, err
	}
	for _, r := range all {
		if r.out.IsZero() {
			d.date(ctx, name, all)
			break
		}
	}
	return all, nil
}

// date fills in what the web API knows. Without it they have none.
func (d *Door) date(ctx context.Context, name string, all []release) {
	c, err := d.settings(ctx)
	if err != nil || c.api == "" {
		return
	}
	n, err := d.Site.Index(ctx, d.Store, tool+" dates", upstream.Question{At: c.api + "/api/v1/crates/" + name, Accept: "application/json", Packed: true}, maxDates)
	if err != nil {
		return
	}
	dates := readDates(n.Body)
	for i := range all {
		if all[i].out.IsZero() {
			all[i].out = dates[all[i].version]
		}
	}
}

// index serves what may be chosen of a crate.
func (d *Door) index(w http.ResponseWriter, r *http.Request, name string) error {
	ctx, leave := d.Room.Enter(r.Context())
	defer leave()
	all, err := d.crate(ctx, name)
	if err != nil {
		return err
	}
	var body bytes.Buffer
	var held []release
	for i := range all {
		if d.Brake.Young(tool, name, all[i].out) {
			if err := all[i].hold(); err != nil {
				return err
			}
			held = append(held, all[i])
		}
		body.Write(all[i].line)
		body.WriteByte('\n')
	}
	if n := len(held); n > 0 {
		d.tell(name, d.Brake.Hold(tool, name, held[n-1].version, held[n-1].out), n == len(all))
	}
	door.Index(w, r, "text/plain; charset=utf-8", body.Bytes())
	return nil
}

// tell says once what of a crate cannot be chosen. Where that is all of it, it is refused.
func (d *Door) tell(name string, why *brake.Held, all bool) {
	say := d.Left
	if all {
		say = d.Refused
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if say == nil || d.told[name] || len(d.told) >= maxTold {
		return
	}
	if d.told == nil {
		d.told = map[string]bool{}
	}
	d.told[name] = true
	say(why)
}

// file serves a release: kept, in the host's cache, or from where the index says.
func (d *Door) file(w http.ResponseWriter, r *http.Request, q request) error {
	rel, err := d.locate(r.Context(), q)
	if err != nil {
		return err
	}
	f, err := d.blob(r.Context(), q.name, rel)
	if err != nil {
		return err
	}
	defer f.Close()
	door.File(w, r, "application/gzip", f)
	return nil
}

// locate finds what the index says of a release.
func (d *Door) locate(ctx context.Context, q request) (release, error) {
	ctx, leave := d.Room.Enter(ctx)
	defer leave()
	all, err := d.crate(ctx, strings.ToLower(q.name))
	if err != nil {
		return release{}, err
	}
	for _, r := range all {
		if r.version != q.version {
			continue
		}
		if d.Brake.Young(tool, q.name, r.out) {
			return release{}, d.Brake.Hold(tool, q.name, r.version, r.out)
		}
		return release{version: r.version, want: r.want}, nil
	}
	return release{}, &upstream.Failure{Status: http.StatusNotFound, Why: "the index has no such release"}
}

func (d *Door) blob(ctx context.Context, name string, rel release) (*os.File, error) {
	if f, err := d.Store.Blob(rel.want); err == nil {
		return f, nil
	}
	for _, dir := range d.Caches {
		if f, err := d.Store.Import(filepath.Join(dir, fmt.Sprintf("%s-%s.crate", name, rel.version)), rel.want, maxFile); err == nil {
			return f, nil
		}
	}
	c, err := d.settings(ctx)
	if err != nil {
		return nil, err
	}
	in, err := d.Site.Fetch(ctx, d.Store, upstream.Question{At: c.file(name, rel)}, maxFile)
	if err != nil {
		return nil, err
	}
	if err := d.Store.Keep(in, rel.want); err != nil {
		in.Discard()
		return nil, err
	}
	return in.File, nil
}
