// Package gomod is the registry door for Go: it speaks the protocol of module proxies,
// asks those that the host uses, and keeps what go.sum or the sum database proves.
//
// Left at risk: the date of a module is that of its commit, and who commits chooses it.
package gomod

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/module"

	"ringfence.dev/ringfence/internal/registry/brake"
	"ringfence.dev/ringfence/internal/registry/door"
	"ringfence.dev/ringfence/internal/registry/ready"
	"ringfence.dev/ringfence/internal/registry/store"
	"ringfence.dev/ringfence/internal/registry/upstream"
)

// Door answers the go command inside.
type Door struct {
	Proxies []Proxy // in the order in which they are asked
	NoProxy string  // patterns of modules that no proxy is asked for
	Sums    *SumDB  // nil: nobody proves what go.sum does not
	GoSum   func() []byte
	Cache   string // the host's own module cache; "": there is none
	Store   *store.Store
	Brake   brake.Rules
	// Refused is told what was held back, and why.
	Refused func(*brake.Held)
	// Ready has what later sessions find in their module cache; nil: nobody gathers it.
	Ready *ready.Gathering
}

// Proxy is a module proxy of the host's list.
type Proxy struct {
	*upstream.Site
	// Or holds where the next one is asked whatever went wrong with this one.
	Or bool
	// Store has what this one sent.
	Store *store.Store
}

// Bounds of answers.
const (
	maxInfo = 64 << 10
	maxList = 16 << 20
	maxMod  = 16 << 20
	maxZip  = 1 << 30
)

// ServeHTTP implements http.Handler.
func (d *Door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead || r.URL.RawQuery != "" {
		door.Text(w, http.StatusMethodNotAllowed, "the module proxy is only read")
		return
	}
	path := strings.TrimPrefix(r.URL.Path, "/")
	if rest, ok := strings.CutPrefix(path, "sumdb/"); ok {
		d.sumdb(w, r, rest)
		return
	}
	q, err := parse(path)
	if err != nil {
		door.Text(w, http.StatusNotFound, err.Error())
		return
	}
	if module.MatchPrefixPatterns(d.NoProxy, q.module) {
		door.Text(w, http.StatusNotFound, "GONOPROXY or GOPRIVATE of the host names this module: no proxy is asked for it")
		return
	}
	err = d.Brake.Bar("go", q.module)
	if err == nil {
		err = d.serve(w, r, q)
	}
	if err != nil {
		d.fail(w, err)
	}
}

func (d *Door) serve(w http.ResponseWriter, r *http.Request, q request) error {
	ctx := r.Context()
	switch q.what {
	case "list":
		list, err := d.list(ctx, q)
		if err != nil {
			return err
		}
		door.Say(w, "text/plain; charset=utf-8", list)
	case "info", "latest":
		in, err := d.info(ctx, q)
		if err != nil {
			return err
		}
		q.version = in.Version
		if err := d.aged(q, in); err != nil {
			return err
		}
		body, err := json.Marshal(in) // what was judged is what is told
		if err != nil {
			return err
		}
		door.Say(w, "application/json", body)
	default:
		if d.Brake.On("go", q.module) {
			in, err := d.info(ctx, q.as("info"))
			if err != nil {
				return err
			}
			if err := d.aged(q, in); err != nil {
				return err
			}
		}
		f, err := d.file(ctx, q)
		if err != nil {
			return err
		}
		defer f.Close()
		door.File(w, r, map[string]string{"mod": "text/plain; charset=utf-8", "zip": "application/zip"}[q.what], f)
	}
	return nil
}

func (d *Door) aged(q request, in info) error {
	if d.Brake.Young("go", q.module, in.Time) {
		return d.Brake.Hold("go", q.module, q.version, in.Time)
	}
	return nil
}

// fail answers so that the go command shows the reason. What no proxy has it looks for
// elsewhere, and only that.
func (d *Door) fail(w http.ResponseWriter, err error) { door.Fail(w, err, door.Text, d.Refused) }

// ask goes through the host's list of proxies as the go command would.
func ask[T any](d *Door, do func(Proxy) (T, error)) (out T, err error) {
	err = &upstream.Failure{Status: http.StatusNotFound, Why: "no proxy of the host has it"}
	for _, p := range d.Proxies {
		var one error
		if out, one = do(p); one == nil {
			return out, nil
		}
		if errors.Is(one, store.ErrDigest) {
			return out, one
		}
		if !upstream.IsMissing(one) && !p.Or {
			return out, one
		}
		if !errors.Is(one, upstream.ErrOffline) {
			err = &upstream.Failure{Status: http.StatusNotFound, Why: one.Error()}
		} else {
			err = one
		}
	}
	return out, err
}

// file finds a go.mod or a module: kept, in the host's cache, or upstream.
func (d *Door) file(ctx context.Context, q request) (*os.File, error) {
	want, known := d.known(q)
	if known {
		for _, p := range d.Proxies {
			if f, err := p.Store.Blob(want); err == nil {
				if d.named(q, want) {
					d.ready(q, want, f)
				}
				return f, nil
			}
		}
	}
	return ask(d, func(p Proxy) (*os.File, error) {
		if known && d.Cache != "" {
			if f, err := d.cached(ctx, p, q, want); err == nil {
				return f, nil
			}
		}
		in, err := p.Fetch(ctx, p.Store, upstream.Question{Path: q.path()}, most(q))
		if err != nil {
			return nil, err
		}
		return d.prove(p, q, in, want, known)
	})
}

// cached takes a file from the host's own cache, which may hold what only the user may
// read: a proxy of this session must have that version, too. go.sum alone is the project's
// word. Without a network nobody can be asked, and nothing can leave: there it is lent.
func (d *Door) cached(ctx context.Context, p Proxy, q request, want store.Digest) (*os.File, error) {
	path := filepath.Join(d.Cache, "cache/download", q.path())
	_, err := d.told(ctx, p, q.as("info"))
	switch {
	case errors.Is(err, upstream.ErrOffline):
		return p.Store.Borrow(path, want, most(q))
	case err != nil:
		return nil, err
	}
	f, err := p.Store.Import(path, want, most(q))
	if err == nil {
		d.name(p, q, want)
		d.ready(q, want, f)
	}
	return f, err
}

func most(q request) int64 {
	if q.what == "mod" {
		return maxMod
	}
	return maxZip
}

// prove keeps what can be proved. The rest is passed on and not kept: the go command
// inside judges it by itself, as it would outside.
func (d *Door) prove(p Proxy, q request, in *store.Incoming, want store.Digest, known bool) (*os.File, error) {
	if !known {
		var err error
		if want, known, err = d.Sums.lookup(q); err != nil {
			in.Discard()
			return nil, err
		}
	}
	if !known {
		os.Remove(in.Name())
		return in.File, nil
	}
	if err := p.Store.Keep(in, want); err != nil {
		in.Discard()
		return nil, err
	}
	d.name(p, q, want)
	d.ready(q, want, in.File)
	return in.File, nil
}

// known is the digest that was proved before, or that the project's go.sum has.
func (d *Door) known(q request) (store.Digest, bool) {
	if sum, ok := d.Sums.proved(q); ok {
		return sum, true
	}
	if d.GoSum == nil {
		return store.Digest{}, false
	}
	return findSum(d.GoSum(), q)
}
