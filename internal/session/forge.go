package session

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/credentials/broker"
	"ringfence.dev/ringfence/internal/credentials/gitproxy"
	"ringfence.dev/ringfence/internal/credentials/serviceapi"
	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/git/repo"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/network/gate"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/state"
)

// forgeHost is a forge that this repository has remotes on.
type forgeHost struct {
	name   address.Name
	url    *url.URL // https://HOST[:PORT]
	repos  []string
	kind   serviceapi.Kind // "": its API is not known
	source broker.Source
	secret string // its name, for the journal
	user   string // that git sends beside the token

	phantom broker.Phantom // that stands for the token inside
}

// forges are the hosts of this repository's remotes.
type forges struct{ *services }

// prepareHosts makes the hosts of secrets, of remotes and of everybody the broker's. Where
// two of them have one host, it is decided here.
func prepareHosts(b Base) (Contribution, error) {
	fs := &forges{services: &services{Base: b, kept: keptSecrets{}}}
	for _, step := range []func() error{fs.services.prepare, fs.prepare, fs.shutOff, fs.commons} {
		if err := step(); err != nil {
			return fs.Contribution, err
		}
	}
	return fs.Contribution, nil
}

// prepare makes the hosts of this repository's remotes the broker's: git goes through
// it, by whatever address, and so does the API of the forge. Other repositories of the
// host can be read there without the credential.
func (fs *forges) prepare() error {
	var remotes []repo.Remote
	var err error
	if fs.Repo != nil {
		if remotes, err = fs.Repo.Remotes(); err != nil {
			fs.warn(fmt.Sprintf("the remotes of this repository cannot be read: %v", err))
		}
	}
	// In every mode, and without a repository: what a session could have written is
	// not to be taken for the user's by the next one.
	if remotes, err = fs.knownRemotes(remotes); err != nil {
		return err
	}
	if fs.modeNone() || modeOf(fs.bare) == locked {
		return nil
	}
	hosts := map[string]*forgeHost{}
	var order []string
	for _, r := range remotes {
		n, at, ok := hostOf(r)
		if !ok {
			continue // not the name of a host: git would not find it either
		}
		if hosts[at] == nil {
			hosts[at] = &forgeHost{name: n, url: &url.URL{Scheme: "https", Host: at}}
			order = append(order, at)
		}
		if h := hosts[at]; !slices.Contains(h.repos, r.Path) {
			h.repos = append(h.repos, r.Path)
		}
	}
	if err := fs.oneMeaning(hosts); err != nil {
		return err
	}
	for _, at := range order {
		if modeOf(fs.Policy) == locked { // by the project's file
			fs.shutForge(hosts[at], policy.ProjectFile+" sets the mode "+locked)
			continue
		}
		if err := fs.forge(hosts[at]); err != nil {
			fs.notice(fmt.Sprintf("%s is not brokered: %v", plan.Show(at), err))
		}
	}
	return nil
}

// knownRemotes keeps to the remotes that the repository had when ringfence first saw
// it: its config lies where an agent can write, and a remote that one session adds
// must not be the next one's own repository.
func (fs *forges) knownRemotes(now []repo.Remote) ([]repo.Remote, error) {
	file := fs.remotesFile()
	b, err := readIfPresent(file, 64<<10)
	if err != nil {
		return nil, err
	}
	if fs.asked.Passing {
		return nil, nil
	}
	fs.remember = append(fs.remember, fs.markWritten)
	if b == nil {
		// None is also a state: what an agent adds to a repository without remotes is
		// no less its own. So is a repository within what was a project before.
		if len(now) > 0 && fs.withinProject() {
			fs.notice("this repository lies within another project, whose agent may have made it: no credential is used; if it is yours: ringfence trust --remotes")
			now = nil
		}
		lines := []byte(strings.Join(remoteLines(now), "\n") + "\n")
		fs.remember = append(fs.remember, func() error { return writeWhole(file, lines) })
		return now, nil
	}
	known := strings.Split(strings.TrimSpace(string(b)), "\n")
	return slices.DeleteFunc(now, func(r repo.Remote) bool {
		line := remoteLines([]repo.Remote{r})[0]
		fresh := !slices.Contains(known, line)
		if fresh {
			fs.notice(fmt.Sprintf("the remote %s is new since this project was first run: no credential is used for it; if it is yours: ringfence trust --remotes", line))
		}
		return fresh
	}), nil
}

// writeWhole writes a file of our state, and makes its directory.
func writeWhole(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return file.Replace(path, data, 0o600)
}

func (fs *forges) forge(h *forgeHost) error {
	fs.forgeCredential(h)
	if err := fs.moreRepos(h); err != nil {
		return err
	}
	_, none := h.source.(absent)
	shared := fs.homeAt(h.url.Host) // GitLab has its registries of packages below paths
	if shared == nil || none {
		if err := fs.brokered.ownAt(h.name, h.url.Port()); err != nil {
			return err
		}
	}
	fs.brokered.forged = append(fs.brokered.forged, string(h.name))
	if none {
		// A remote alone opens no host that no rule opens.
		fs.brokered.hosts[len(fs.brokered.hosts)-1].ruled = true
	}
	// To the host's own address, where TLS ends at the broker: gh and its like know a
	// repository by its remote.
	fs.rewrites = append(fs.rewrites, gitproxy.InsteadOf(h.url.String(), h.url.Host)...)
	if err := fs.forgeAPI(h); err != nil {
		return err
	}
	site := func(s *Session, g *gate.Gate) (broker.Site, error) { return h.site(s, g) }
	if shared != nil {
		shared.forge = site
		return nil
	}
	fs.brokered.sites = append(fs.brokered.sites, site)
	return nil
}

// site serves the host of a forge.
func (h *forgeHost) site(s *Session, g *gate.Gate) (broker.Site, error) {
	f, err := h.handler(s, g)
	if err != nil {
		return broker.Site{}, err
	}
	web := broker.Web{Upstream: h.url, Name: h.secret, Git: f, Transport: broker.Transport(g.Reach), Record: g.Record}
	if h.kind != "" && !apiApart(h) {
		if web.API, err = h.apiHandler(h.url, g); err != nil {
			return broker.Site{}, err
		}
	}
	handler, err := web.Handler()
	return broker.Site{Hosts: []address.Name{h.name}, Handler: handler}, err
}

// handler speaks git with a forge.
func (h *forgeHost) handler(s *Session, g *gate.Gate) (http.Handler, error) {
	plain, spool := broker.Transport(g.Reach), filepath.Join(s.dirs.State, "spool")
	if err := os.MkdirAll(spool, 0o700); err != nil {
		return nil, err
	}
	note := func(r *http.Request, why string) error {
		return g.Record(journal.Record{Kind: journal.Broker, Event: journal.Use, Via: "git", Name: r.URL.Hostname(), Method: r.Method, Secret: h.secret,
			Verdict: journal.Allow, Reason: why})
	}
	f, err := gitproxy.New(gitproxy.Config{
		Upstream: h.url.String(), Self: h.url.String(), Transport: broker.Carry(plain, h.source, h.user, note),
		Anonymous: broker.Bare(plain), Storage: broker.Bare(broker.Noted(plain, note)), // with what the forge gave out for it
		Repos: h.repos, Protected: values(s.Policy.Broker.Protected), Allow: values(s.Policy.Broker.Git),
		Record: func(e gitproxy.Event) {
			for _, r := range pushed(h, e) {
				g.Record(r)
			}
		}, Spool: spool, Decoy: func(data []byte) bool { return pushesDecoy(g, h, data) },
	})
	return broker.Recorded(g.Record, journal.Record{Via: "git", Name: string(h.name), Secret: h.secret}, f), err
}

// pushesDecoy looks into what a push holds: what is compressed is not found on its way.
func pushesDecoy(g *gate.Gate, h *forgeHost, data []byte) bool {
	set := g.Decoys()
	if set == nil {
		return false
	}
	decoy, form, found := set.Find(data)
	if found {
		g.Caught(string(h.name), decoy, form)
	}
	return found
}

// pushed are the records of what git wanted: one for each ref of a push.
func pushed(h *forgeHost, e gitproxy.Event) []journal.Record {
	r := journal.Record{Kind: journal.Broker, Event: journal.Use, Via: "git", Protocol: e.Service, Name: string(h.name), Secret: h.secret,
		Verdict: journal.Allow, Rule: e.Repo, Reason: e.Reason}
	if e.Anonymous {
		r.Secret = ""
	}
	if e.Denied {
		r.Verdict = journal.Deny
	}
	if len(e.Refs) == 0 {
		return []journal.Record{r}
	}
	var out []journal.Record
	for _, ref := range e.Refs {
		r.Reason = ref.Name
		if ref.Reason != "" {
			r.Reason = ref.Reason + ": " + ref.Name
		}
		out = append(out, r)
	}
	return out
}

// githubAPI is the host of github.com's API.
const githubAPI = "api.github.com"

// githubShut are hosts of github.com that no session has a repository on.
var githubShut = []address.Name{"gist.github.com", "uploads.github.com"}

// shutForge closes a forge that would be served, with all of its hosts.
func (fs *forges) shutForge(h *forgeHost, why string) {
	fs.brokered.shut(h.name, why)
	if apiApart(h) {
		for _, n := range append([]address.Name{githubAPI}, githubShut...) {
			fs.brokered.shut(n, why)
		}
	}
}

// apiApart holds for the one forge whose API has a host of its own. Another port of it
// is another server.
func apiApart(h *forgeHost) bool { return h.url.Host == serviceapi.GitHub.Public() }

// forgeAPI serves the API of a forge, where its kind is known.
func (fs *forges) forgeAPI(h *forgeHost) error {
	if h.kind == "" {
		return nil
	}
	if !apiApart(h) {
		return nil
	}
	api := &url.URL{Scheme: "https", Host: githubAPI}
	n := address.Name(api.Host)
	for _, shut := range githubShut {
		fs.brokered.own(shut, "what is published there is not this repository")
	}
	if err := fs.brokered.ownAt(n, ""); err != nil {
		return err
	}
	fs.brokered.sites = append(fs.brokered.sites, func(_ *Session, g *gate.Gate) (broker.Site, error) {
		handler, err := h.apiHandler(api, g)
		return broker.Site{Hosts: []address.Name{n}, Handler: handler}, err
	})
	return nil
}

func (h *forgeHost) apiHandler(at *url.URL, g *gate.Gate) (http.Handler, error) {
	svc, err := serviceapi.New(serviceapi.Config{Kind: h.kind, Host: at.Host, Repos: h.repos})
	if err != nil {
		return nil, err
	}
	return broker.Service{Service: svc, Kind: h.kind, Name: h.secret, Upstream: at, Phantom: h.phantom, Source: h.source,
		Transport: broker.Transport(g.Reach), Record: g.Record}.Handler(), nil
}

// Remotes lists the remotes that the repository of a session has now, and accept makes
// them its own.
func (s *Session) Remotes() (lines []string, accept func() error, err error) {
	if s.Repo == nil {
		return nil, nil, nil
	}
	now, err := s.Repo.Remotes()
	lines = remoteLines(now)
	return lines, func() error { return writeWhole(s.remotesFile(), []byte(strings.Join(lines, "\n")+"\n")) }, err
}

func (b Base) remotesFile() string { return b.remotesOf(b.projectRoot()) }

func (p person) remotesOf(dir string) string {
	return filepath.Join(p.dirs.State, "remotes", state.Key(dir))
}

func remoteLines(remotes []repo.Remote) []string {
	var lines []string
	for _, r := range remotes {
		at := r.Host
		if r.Port != "" && !r.SSH {
			at += ":" + r.Port
		}
		lines = append(lines, at+"/"+r.Path)
	}
	return lines
}

// markWritten remembers what else this session can write: a repository that appears
// there is nobody's word for its remotes.
func (fs *forges) markWritten() error {
	for _, dir := range fs.written() {
		file := fs.remotesOf(dir)
		if _, err := os.Lstat(file); dir == fs.projectRoot() || err == nil {
			continue
		}
		if err := writeWhole(file, []byte("\n")); err != nil {
			return err
		}
	}
	return nil
}

// withinProject holds where a directory above is one that a session could write.
func (fs *forges) withinProject() bool {
	for dir := filepath.Dir(fs.projectRoot()); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(fs.remotesOf(dir)); err == nil || fs.dirs.Has(dir) {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}
