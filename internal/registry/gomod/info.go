package gomod

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/registry/store"
	"ringfence.dev/ringfence/internal/registry/upstream"
)

// info is what a proxy tells of a version.
type info struct {
	Version string
	Time    time.Time `json:",omitzero"`
}

var errInfo = &upstream.Failure{Why: "what the proxy tells of the version cannot be read"}

// readInfo reads it. An answer about another version than the one that was asked for is
// a lie; a name such as a branch may mean any.
func readInfo(q request, body []byte) (info, error) {
	var in info
	if json.Unmarshal(body, &in) != nil {
		return info{}, errInfo
	}
	if module.CanonicalVersion(in.Version) != in.Version || q.what == "info" && q.canonical() && in.Version != q.version {
		return info{}, errInfo
	}
	return in, nil
}

// info asks for it. What is told of a version that always means the same is kept.
func (d *Door) info(ctx context.Context, q request) (info, error) {
	in, err := d.asked(ctx, q)
	if errors.Is(err, upstream.ErrOffline) && d.Cache != "" && q.canonical() {
		// The host's own cache has no digest for it; it is the host's word.
		if body, err := file.Read(filepath.Join(d.Cache, "cache/download", q.path()), maxInfo, unix.O_NOFOLLOW); err == nil {
			return readInfo(q, body)
		}
	}
	return in, err
}

func (d *Door) asked(ctx context.Context, q request) (info, error) {
	return ask(d, func(p Proxy) (info, error) { return d.told(ctx, p, q) })
}

// told is what one proxy tells.
func (d *Door) told(ctx context.Context, p Proxy, q request) (info, error) {
	key := "go info " + p.Name() + " " + q.path()
	lasting := q.what == "info" && q.canonical()
	if n, ok := d.Store.Note(key); ok && (lasting || p.Trip == nil || time.Since(n.When) < upstream.Fresh) {
		return readInfo(q, n.Body)
	}
	a, err := p.Get(ctx, upstream.Question{Path: q.path()})
	if err != nil {
		return info{}, err
	}
	body, err := a.All(maxInfo)
	if err != nil {
		return info{}, err
	}
	in, err := readInfo(q, body)
	if err == nil {
		err = d.Store.PutNote(store.Note{Key: key, When: time.Now(), Body: body})
	}
	return in, err
}

// enough is how many versions in a row have to be old for the rest to be.
const enough = 10

// list is the versions that may be chosen: those that are too young are left out.
func (d *Door) list(ctx context.Context, q request) ([]byte, error) {
	n, err := ask(d, func(p Proxy) (store.Note, error) {
		return p.Index(ctx, d.Store, "go list", upstream.Question{Path: q.path()}, maxList)
	})
	if err != nil {
		return nil, err
	}
	versions := readList(n.Body)
	if d.Brake.On("go", q.module) {
		versions = d.choose(ctx, q, versions)
	}
	return []byte(strings.Join(append(versions, ""), "\n")), nil
}

// readList reads a list of versions, one a line; what may follow on the line is not for us.
func readList(body []byte) (out []string) {
	for line := range bytes.Lines(body) {
		f := strings.Fields(string(line))
		if len(f) > 0 && len(out) < 100_000 && module.CanonicalVersion(f[0]) == f[0] && semver.IsValid(f[0]) {
			out = append(out, f[0])
		}
	}
	return out
}

func (d *Door) choose(ctx context.Context, q request, versions []string) (out []string) {
	slices.SortFunc(versions, func(a, b string) int { return semver.Compare(b, a) })
	old := 0
	for _, v := range versions {
		if old < enough {
			one := request{q.module, v, "info"}
			in, err := d.info(ctx, one)
			if err != nil || d.aged(one, in) != nil {
				old = 0
				continue
			}
			old++
		}
		out = append(out, v)
	}
	slices.Reverse(out)
	return out
}
