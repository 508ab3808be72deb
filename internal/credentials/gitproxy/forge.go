package gitproxy

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"ringfence.dev/ringfence/internal/workspace/hostexec"
)

// The refusals that can be switched off, by the names that a policy uses.
const (
	PushDefault = "push-default" // write the default branch, or a protected one
	Force       = "force"        // move a branch or a tag other than forward
	Delete      = "delete"
	Tags        = "tags"
	OtherRepos  = "other-repos" // use the credential for any repository of the host
	Workflows   = "workflows"   // change what the forge runs
	Locks       = "lfs-locks"   // take and drop LFS locks
)

var refusals = []string{PushDefault, Force, Delete, Tags, OtherRepos, Workflows, Locks}

// Config is what a Forge is made of.
type Config struct {
	Upstream string // https://HOST
	Self     string // the URL below which the client sees us, no slash behind

	Transport http.RoundTripper // to Upstream, adds the credential
	Anonymous http.RoundTripper // to Upstream, adds nothing; nil: other repositories are denied
	Storage   http.RoundTripper // to where the forge keeps LFS objects, adds nothing; nil: such places are denied

	Repos     []string    // owner/name of the repositories of this session
	Protected []string    // patterns of branches; * is within an element, ** is not
	Allow     []string    // refusals that are switched off
	Record    func(Event) // may be nil; is called from many goroutines
	// Decoy tells of a decoy in what is pushed, which is denied then. nil: nobody looks.
	Decoy func(data []byte) bool
	Spool string // directory on a disk for pushes that are being judged; "": the usual one
}

// Event is something that a client wanted.
type Event struct {
	Repo      string // "" if there is none
	Service   string // git-upload-pack, git-receive-pack, lfs-download, lfs-upload, lfs-locks; "" if not understood
	Anonymous bool   // it went without the credential
	Refs      []Ref  // of a push
	Denied    bool
	Reason    string // why it was denied, or failed
}

// Ref is one command of a push.
type Ref struct {
	Name, Old, New string
	Reason         string // why it is denied; "": it is not
}

// Forge serves one host.
type Forge struct {
	Config
	upstream *url.URL
	prefix   string // the path of Self
	allow    map[string]bool
	maxPush  int64
	pushes   chan struct{} // a place for each push that may be judged at a time
	tickets  tickets
	known    cache
	now      func() time.Time

	mu      sync.Mutex
	moved   map[string]string // where a repository went, by its path
	servers map[string]server // what a repository's server can do
}

// atOnce bounds pushes that are judged at a time, and so the disk they take.
const atOnce = 2

// New returns a Forge. What is wrong with the Config is an error.
func New(c Config) (*Forge, error) {
	f := &Forge{Config: c, allow: map[string]bool{}, maxPush: maxPush, pushes: make(chan struct{}, atOnce),
		moved: map[string]string{}, servers: map[string]server{}, now: time.Now}
	var err error
	if f.upstream, err = baseURL(c.Upstream); err != nil || f.upstream.Path != "" {
		return nil, fmt.Errorf("forge: upstream %q is not the URL of a host", c.Upstream)
	}
	self, err := baseURL(c.Self)
	if err != nil {
		return nil, fmt.Errorf("forge: self %q is not the URL of a place", c.Self)
	}
	f.prefix = self.Path
	if c.Transport == nil {
		return nil, fmt.Errorf("forge: no transport")
	}
	if _, err := hostexec.OnPush(); err != nil {
		return nil, fmt.Errorf("forge: %w", err)
	}
	for _, name := range c.Repos {
		if repo, suffix := splitRepo(name); !goodRepo(repo) || suffix != "" {
			return nil, fmt.Errorf("forge: repository %q is not spelled owner/name", name)
		}
	}
	for _, name := range c.Allow {
		if !slices.Contains(refusals, name) {
			return nil, fmt.Errorf("forge: no refusal is called %q; there are %s", name, strings.Join(refusals, ", "))
		}
		f.allow[name] = true
	}
	return f, nil
}

// baseURL takes URLs that something can be put behind.
func baseURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil {
		return nil, err
	}
	plain := u.User == nil && u.RawQuery == "" && !u.ForceQuery && u.Fragment == "" && u.Opaque == ""
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || !plain || strings.HasSuffix(u.Path, "/") || u.String() != s {
		return nil, fmt.Errorf("URL %q", s)
	}
	return u, nil
}

// host is how the other side is called in sentences.
func (f *Forge) host() string { return f.upstream.Host }

func (f *Forge) record(e Event) {
	if f.Record != nil {
		f.Record(e)
	}
}

// ServeHTTP serves all that is below Self.
func (f *Forge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rt, no := f.route(r)
	if no != nil {
		f.record(Event{Denied: true, Reason: no.text})
		no.write(w)
		return
	}
	if rt.call == lfsObject {
		f.serveObject(w, r, rt.id)
		return
	}
	a, no := f.access(rt)
	if no != nil {
		f.record(Event{Repo: rt.repo, Service: rt.service, Denied: true, Reason: no.text})
		no.toward(rt).write(w)
		return
	}
	switch rt.call {
	case advertise:
		f.serveRefs(w, r, a)
	case uploadPack:
		f.serveFetch(w, r, a)
	case receivePack:
		f.servePush(w, r, a)
	case lfsBatch:
		f.serveBatch(w, r, a)
	case lfsLocks, lfsVerify, lfsLock:
		f.serveLocks(w, r, a)
	}
}
