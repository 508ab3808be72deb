package gomod

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/sumdb"

	"ringfence.dev/ringfence/internal/registry/brake"
	"ringfence.dev/ringfence/internal/registry/door"
	"ringfence.dev/ringfence/internal/registry/store"
	"ringfence.dev/ringfence/internal/registry/upstream"
)

// SumDB is the sum database of the host. What it answers is proved by its signed tree
// before it is kept or believed.
type SumDB struct {
	Name   string
	Key    string         // its verifier's
	NoSum  string         // patterns of modules that it is not asked about
	Direct *upstream.Site // itself
	Store  *store.Store

	door   *Door
	client *sumdb.Client
	mu     sync.Mutex
	by     map[*upstream.Site]bool // which proxies pass it on
}

// Join makes it the database of a door.
func (s *SumDB) Join(d *Door) {
	s.door, d.Sums = d, s
	s.client = sumdb.NewClient(ops{s})
	s.client.SetGONOSUMDB(s.NoSum)
}

// lookup asks for the digest of a module; it has none of modules that are not its.
func (s *SumDB) lookup(q request) (store.Digest, bool, error) {
	if s == nil || module.MatchPrefixPatterns(s.NoSum, q.module) {
		return store.Digest{}, false, nil
	}
	version := q.version
	if q.what == "mod" {
		version += "/go.mod"
	}
	lines, err := s.client.Lookup(q.module, version)
	if errors.Is(err, sumdb.ErrSecurity) {
		return store.Digest{}, false, &brake.Held{Rule: "GOSUMDB", Why: "the sum database contradicts itself: " + s.Name}
	}
	if err != nil {
		return store.Digest{}, false, nil // it is not reached: nothing is proved, and nothing kept
	}
	text := strings.Join(lines, "\n")
	d, ok := findSum([]byte(text), q)
	if ok {
		s.Store.PutNote(store.Note{Key: s.key(q), When: time.Now(), Body: []byte(text)})
	}
	return d, ok, nil
}

func (s *SumDB) key(q request) string { return "go sum " + s.Key + " " + q.path() }

// proved is a digest that was looked up before.
func (s *SumDB) proved(q request) (store.Digest, bool) {
	if s == nil || module.MatchPrefixPatterns(s.NoSum, q.module) {
		return store.Digest{}, false
	}
	n, ok := s.Store.Note(s.key(q))
	if !ok {
		return store.Digest{}, false
	}
	return findSum(n.Body, q)
}

// sumPath is what may be asked of a database: the rest of the path is a module with its
// version, or numbers.
var sumPath = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^/(supported|latest|lookup/[A-Za-z0-9!][A-Za-z0-9!._~/-]*@v[A-Za-z0-9!.+_-]+|tile/[0-9]+/(data|[0-9]+)(/x?[0-9]{3})+(\.p/[0-9]+)?)$`)
})

// sumdb passes the database on to the go command inside, which checks it by itself.
func (d *Door) sumdb(w http.ResponseWriter, r *http.Request, path string) {
	if d.Sums == nil || !strings.HasPrefix(path, d.Sums.Name+"/") {
		door.Text(w, http.StatusNotFound, "this is not the sum database of the host")
		return
	}
	path = strings.TrimPrefix(path, d.Sums.Name)
	switch {
	case !sumPath().MatchString(path) || strings.Contains(path, ".."):
		door.Text(w, http.StatusNotFound, "this is no question to a sum database")
		return
	case path == "/supported":
		return // we pass it on
	}
	if about, ok := strings.CutPrefix(path, "/lookup/"); ok {
		escaped, _, _ := strings.Cut(about, "@")
		if name, err := module.UnescapePath(escaped); err != nil || module.MatchPrefixPatterns(d.Sums.NoSum, name) {
			door.Text(w, http.StatusNotFound, "GONOSUMDB or GOPRIVATE of the host names this module: the sum database is not asked for it")
			return
		}
	}
	body, err := ops{d.Sums}.ReadRemote(path)
	if err != nil {
		d.fail(w, err)
		return
	}
	door.Say(w, "text/plain; charset=utf-8", body)
}

// ops is what the client of the database needs of the world.
type ops struct{ *SumDB }

const maxSum = 1 << 20

// ReadRemote implements sumdb.ClientOps. What never changes is asked for once, whoever
// of the two wants it.
func (o ops) ReadRemote(path string) ([]byte, error) {
	site, prefix := o.way()
	q := upstream.Question{Path: prefix + path}
	if path == "/latest" {
		a, err := site.Get(context.Background(), q)
		if err != nil {
			return nil, err
		}
		return a.All(maxSum)
	}
	key := "go sumdb " + o.Name + path
	if n, ok := o.Store.Note(key); ok {
		return n.Body, nil
	}
	n, err := site.Index(context.Background(), o.Store, "go sumdb unproved", q, maxSum)
	return n.Body, err
}

// patience is for how long a proxy may think about whether it passes the database on.
const patience = 30 * time.Second

// way is how the database is reached: by the first proxy that passes it on, else itself.
func (o ops) way() (*upstream.Site, string) {
	for _, p := range o.door.Proxies {
		if o.passes(p.Site) {
			return p.Site, "/sumdb/" + o.Name
		}
	}
	return o.Direct, ""
}

// passes asks a proxy once. Nobody waits for a lock while it thinks: two may ask.
func (o ops) passes(site *upstream.Site) bool {
	o.mu.Lock()
	on, known := o.by[site]
	o.mu.Unlock()
	if known {
		return on
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	a, err := site.Get(ctx, upstream.Question{Path: "/sumdb/" + o.Name + "/supported"})
	if err == nil {
		a.Body.Close()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.by == nil {
		o.by = map[*upstream.Site]bool{}
	}
	o.by[site] = err == nil
	return err == nil
}

// ReadConfig implements sumdb.ClientOps.
func (o ops) ReadConfig(file string) ([]byte, error) {
	if file == "key" {
		return []byte(o.Key), nil
	}
	n, _ := o.Store.Note("go sumdb config " + o.Key + " " + file)
	return n.Body, nil
}

// WriteConfig implements sumdb.ClientOps.
func (o ops) WriteConfig(file string, old, new []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if have, _ := o.ReadConfig(file); string(have) != string(old) {
		return sumdb.ErrWriteConflict
	}
	return o.Store.PutNote(store.Note{Key: "go sumdb config " + o.Key + " " + file, When: time.Now(), Body: new})
}

// ReadCache implements sumdb.ClientOps.
func (o ops) ReadCache(file string) ([]byte, error) {
	if n, ok := o.Store.Note("go sumdb " + file); ok {
		return n.Body, nil
	}
	return nil, errors.New("not kept")
}

// WriteCache implements sumdb.ClientOps: it is called with what was proved.
func (o ops) WriteCache(file string, data []byte) {
	o.Store.PutNote(store.Note{Key: "go sumdb " + file, When: time.Now(), Body: data})
}

// Log implements sumdb.ClientOps.
func (ops) Log(string) {}

// SecurityError implements sumdb.ClientOps; the client returns ErrSecurity.
func (ops) SecurityError(string) {}
