package lending

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
	"ringfence.dev/ringfence/internal/git/repo"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/session/launch"
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

	// wished: the login stands in the repository's own settings. Whoever made the clone wrote
	// it, so it opens no host, and it is for git alone.
	wished bool
}

// forAPI is the credential for the forge's API.
func (h *forgeHost) forAPI() broker.Source {
	if h.wished {
		return absent{"the login in .git/config is for git alone; ringfence secret set NAME --host " + h.url.Host}
	}
	return h.source
}

// forges are the hosts of this repository's remotes.
type forges struct{ *services }

// Hosts makes the hosts of secrets, of remotes and of everybody the broker's. Where
// two of them have one host, it is decided here.
func Hosts(b launch.Base) (launch.Contribution, error) {
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
			fs.Warn(fmt.Sprintf("the remotes of this repository cannot be read: %v", err))
		}
	}
	// In every mode, and without a repository: what a session could have written is
	// not to be taken for the user's by the next one.
	if remotes, err = fs.knownRemotes(remotes); err != nil {
		return err
	}
	if fs.NoNetwork() || launch.ModeOf(fs.Bare) == launch.Locked {
		return nil
	}
	hosts := map[string]*forgeHost{}
	var order []string
	for _, r := range remotes {
		n, at, ok := HostOf(r)
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
		if launch.ModeOf(fs.Policy) == launch.Locked { // by the project's file
			fs.shutForge(hosts[at], policy.ProjectFile+" sets the mode "+launch.Locked)
			continue
		}
		if err := fs.forge(hosts[at]); err != nil {
			fs.Notice(fmt.Sprintf("%s is not brokered: %v", plan.Show(at), err))
		}
	}
	return nil
}

// knownRemotes keeps to the remotes that the repository had when ringfence first saw
// it: its config lies where an agent can write, and a remote that one session adds
// must not be the next one's own repository.
func (fs *forges) knownRemotes(now []repo.Remote) ([]repo.Remote, error) {
	file := remotesFile(fs.services.Base)
	b, err := launch.ReadIfPresent(file, 64<<10)
	if err != nil {
		return nil, err
	}
	if fs.Asked.Passing {
		return nil, nil
	}
	fs.Remember = append(fs.Remember, fs.markWritten)
	if b == nil {
		// None is also a state: what an agent adds to a repository without remotes is
		// no less its own. So is a repository within what was a project before.
		if len(now) > 0 && fs.withinProject() {
			fs.Notice("this repository lies within another project, whose agent may have made it: no credential is used; if it is yours: ringfence trust --remotes")
			now = nil
		}
		lines := []byte(strings.Join(remoteLines(now), "\n") + "\n")
		fs.Remember = append(fs.Remember, func() error { return launch.WriteWhole(file, lines) })
		return now, nil
	}
	known := strings.Split(strings.TrimSpace(string(b)), "\n")
	return slices.DeleteFunc(now, func(r repo.Remote) bool {
		line := remoteLines([]repo.Remote{r})[0]
		fresh := !slices.Contains(known, line)
		if fresh {
			fs.Notice(fmt.Sprintf("the remote %s is new since this project was first run: no credential is used for it; if it is yours: ringfence trust --remotes", line))
		}
		return fresh
	}), nil
}

func (fs *forges) forge(h *forgeHost) error {
	fs.forgeCredential(h)
	if err := fs.moreRepos(h); err != nil {
		return err
	}
	_, none := h.source.(absent)
	none = none || h.wished
	shared := fs.homeAt(h.url.Host) // GitLab has its registries of packages below paths
	if shared == nil || none {
		if err := fs.Brokered.OwnAt(h.name, h.url.Port()); err != nil {
			return err
		}
	}
	fs.Brokered.Forged = append(fs.Brokered.Forged, string(h.name))
	if none {
		// A remote alone opens no host that no rule opens.
		fs.Brokered.Hosts[len(fs.Brokered.Hosts)-1].Ruled = true
	}
	// To the host's own address, where TLS ends at the broker: gh and its like know a
	// repository by its remote.
	fs.Rewrites = append(fs.Rewrites, gitproxy.InsteadOf(h.url.String(), h.url.Host)...)
	if err := fs.forgeAPI(h); err != nil {
		return err
	}
	site := func(g launch.Gateway, _ *broker.Broker) (broker.Site, error) { return h.site(fs.Base, g) }
	if shared != nil {
		shared.forge = site
		return nil
	}
	fs.Brokered.Sites = append(fs.Brokered.Sites, site)
	return nil
}

// site serves the host of a forge.
func (h *forgeHost) site(b launch.Base, g launch.Gateway) (broker.Site, error) {
	f, err := h.handler(b, g)
	if err != nil {
		return broker.Site{}, err
	}
	web := broker.Web{Upstream: h.url, Name: h.secret, Git: f, Transport: broker.Transport(g.Reach, g.Roots(), g.Record), Record: g.Record}
	if h.kind != "" && !apiApart(h) {
		if web.API, err = h.apiHandler(h.url, g); err != nil {
			return broker.Site{}, err
		}
	}
	handler, err := web.Handler()
	return broker.Site{Hosts: []address.Name{h.name}, Handler: handler}, err
}

// handler speaks git with a forge.
func (h *forgeHost) handler(b launch.Base, g launch.Gateway) (http.Handler, error) {
	plain, spool := broker.Transport(g.Reach, g.Roots(), g.Record), filepath.Join(b.Dirs.State, "spool")
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
		Repos: h.repos, Protected: b.Policy.Broker.Protected.Values(), Allow: b.Policy.Broker.Git.Values(),
		Record: func(e gitproxy.Event) {
			for _, r := range pushed(h, e) {
				g.Record(r)
			}
		}, Spool: spool, Decoy: func(data []byte) bool { return pushesDecoy(g, h, data) },
	})
	return broker.Recorded(g.Record, journal.Record{Via: "git", Name: string(h.name), Secret: h.secret}, f), err
}

// pushesDecoy looks into what a push holds: what is compressed is not found on its way.
func pushesDecoy(g launch.Gateway, h *forgeHost, data []byte) bool {
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
	fs.Brokered.Shut(h.name, why)
	if apiApart(h) {
		for _, n := range append([]address.Name{githubAPI}, githubShut...) {
			fs.Brokered.Shut(n, why)
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
		fs.Brokered.Own(shut, "what is published there is not this repository")
	}
	if err := fs.Brokered.OwnAt(n, ""); err != nil {
		return err
	}
	fs.Brokered.Sites = append(fs.Brokered.Sites, func(g launch.Gateway, _ *broker.Broker) (broker.Site, error) {
		handler, err := h.apiHandler(api, g)
		return broker.Site{Hosts: []address.Name{n}, Handler: handler}, err
	})
	return nil
}

func (h *forgeHost) apiHandler(at *url.URL, g launch.Gateway) (http.Handler, error) {
	svc, err := serviceapi.New(serviceapi.Config{Kind: h.kind, Host: at.Host, Repos: h.repos})
	if err != nil {
		return nil, err
	}
	return broker.Service{Service: svc, Kind: h.kind, Name: h.secret, Upstream: at, Phantom: h.phantom, Source: h.forAPI(),
		Transport: broker.Transport(g.Reach, g.Roots(), g.Record), Record: g.Record}.Handler(), nil
}

// Remotes lists the remotes that the repository of a session has now, and accept makes
// them its own.
func Remotes(b launch.Base) (lines []string, accept func() error, err error) {
	if b.Repo == nil {
		return nil, nil, nil
	}
	now, err := b.Repo.Remotes()
	lines = remoteLines(now)
	return lines, func() error { return launch.WriteWhole(remotesFile(b), []byte(strings.Join(lines, "\n")+"\n")) }, err
}

func remotesFile(b launch.Base) string { return remotesOf(b.Person, b.ProjectRoot()) }

func remotesOf(p launch.Person, dir string) string {
	return filepath.Join(p.Dirs.State, "remotes", state.Key(dir))
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
	for _, dir := range fs.Written() {
		file := remotesOf(fs.services.Base.Person, dir)
		if _, err := os.Lstat(file); dir == fs.ProjectRoot() || err == nil {
			continue
		}
		if err := launch.WriteWhole(file, []byte("\n")); err != nil {
			return err
		}
	}
	return nil
}

// withinProject holds where a directory above is one that a session could write.
func (fs *forges) withinProject() bool {
	for dir := filepath.Dir(fs.ProjectRoot()); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(remotesOf(fs.services.Base.Person, dir)); err == nil || fs.Dirs.Has(dir) {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}

// JudgePush says why a push to a ref would be refused; "" for one that would not.
func JudgePush(p *policy.Policy) func(ref string) string {
	return func(ref string) string {
		return gitproxy.JudgeName(ref, p.Broker.Protected.Values(), p.Broker.Git.Values())
	}
}
