package lending

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/credentials/broker"
	"ringfence.dev/ringfence/internal/credentials/serviceapi"
	"ringfence.dev/ringfence/internal/credentials/source"
	"ringfence.dev/ringfence/internal/git/repo"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/session/launch"
)

// A remote is a wish of whoever made the clone. So a credential belongs to hosts that
// the person named for it, or to the one public host of its kind, and they are compared
// as a whole: a name that begins, ends or looks like another is another host, and so is
// another port.

// HostOf is where a remote leads by https: the name in its one spelling, and the port
// where it is not the usual one. An address of ssh says nothing of the port of https.
func HostOf(r repo.Remote) (n address.Name, at string, ok bool) {
	n, err := address.ParseName(r.Host)
	if err != nil {
		return "", "", false
	}
	if r.Port == "" || r.SSH || r.Port == "443" {
		return n, string(n), true
	}
	port, err := address.ParsePort(r.Port)
	return n, fmt.Sprintf("%s:%d", n, port), err == nil
}

// forgeCredential finds the token for a forge: the user's own secret first, then what
// the forge's own client keeps on the host.
func (fs *forges) forgeCredential(h *forgeHost) {
	h.kind, h.user = kindOf(h.url.Host), "x-access-token"
	if off := fs.Policy.Broker.Forges; off != nil && !off.Value {
		h.secret, h.source = h.url.Host, absent{"logins of forges are switched off by " + off.Source.String()}
		return
	}
	secrets := secrets(fs.services.Base.Law)
	for _, s := range secrets {
		kind := serviceapi.Kind(s.Kind())
		if !kind.Forge() || !covers(s.Secret, h.url.Host, kind) {
			continue
		}
		if s.off != "" { // and nothing else in its place
			h.kind, h.secret, h.source = kind, s.Name, absent{s.off}
			return
		}
		h.kind, h.source, h.secret = kind, fs.kept.one(fs.Base, &keptSecret{ref: refOf(s.Secret)}), s.Name
		if u := s.User.Text(); u != "" {
			h.user = u
		}
	}
	if h.source == nil {
		fs.clientToken(h)
	}
	if h.kind == serviceapi.GitLab {
		h.user = "oauth2"
	}
	if h.source == nil {
		fs.addressLogin(h)
	}
	if h.source == nil {
		fs.withoutToken(h, secrets)
		return
	}
	fs.Keys = append(fs.Keys, h.url.Host+" by "+h.secret)
	if h.kind != "" && !h.wished {
		fs.forgePhantom(h)
	}
}

// addressLogin takes the login that stands in the address of the remote, where the host has
// no other. It goes to that host alone, where it would have gone.
func (fs *forges) addressLogin(h *forgeHost) {
	if fs.Repo == nil {
		return
	}
	user, secret, ok := fs.Repo.Login(func(r repo.Remote) bool { _, at, ok := HostOf(r); return ok && !r.SSH && at == h.url.Host })
	if !ok {
		return
	}
	if user != "" {
		h.user = user
	}
	h.secret = "the login in .git/config"
	h.source, h.wished = variable{name: h.secret, value: secret}, true
}

// withoutToken says what would help. A person whose secret was taken for this host by
// the look of its name until now is told what it is for.
func (fs *forges) withoutToken(h *forgeHost, secrets []usable) {
	kind := h.kind
	if kind == "" {
		kind = serviceapi.GitHub
	}
	help := fmt.Sprintf("ringfence secret set NAME --use %s --host %s", kind, h.url.Host)
	for _, s := range secrets {
		kind := serviceapi.Kind(s.Kind())
		if public := kind.Public(); kind.Forge() && len(s.Hosts) == 0 && public != "" {
			help = fmt.Sprintf("ringfence secret set %s --use %s --host %s", s.Name, kind, h.url.Host)
			fs.Notice(fmt.Sprintf("the secret %s is for %s alone, and %s gets no credential; if it is for that host: %s", s.Name, public, h.url.Host, help))
		}
	}
	h.secret = h.url.Host
	h.source = absent{fmt.Sprintf("the host has no credential for %s; there: gh auth login --hostname %[1]s, or: %s", h.url.Host, help)}
}

// forgePhantom makes what stands for the token inside.
func (fs *forges) forgePhantom(h *forgeHost) {
	prefix, length, _ := serviceapi.Shape(h.kind)
	p := broker.NewPhantom(prefix, len(prefix)+length)
	h.phantom = p
	at := h.url.Host
	if apiApart(h) {
		at = githubAPI
	}
	svc, err := serviceapi.New(serviceapi.Config{Kind: h.kind, Host: at, Repos: h.repos})
	if err != nil {
		fs.Notice(fmt.Sprintf("the API of %s is not brokered: %v", h.name, err))
		h.kind = ""
		return
	}
	setPhantoms(&fs.services.Contribution, svc.ClientEnv(string(p)), nil, p)
}

// covers holds for a secret that is for a host; one that names none is for the public
// host of its kind.
func covers(s *policy.Secret, at string, kind serviceapi.Kind) bool {
	if len(s.Hosts) == 0 {
		return at != "" && at == kind.Public()
	}
	return slices.ContainsFunc(s.Hosts, func(r policy.Rule) bool { return secretHost(r.Value) == at })
}

// secretHost is a host of a secret in the spelling of hostOf; "" if it is not one whole
// host by TLS.
func secretHost(v string) string {
	to, err := policy.ParseHome(v)
	if err != nil || to.Base != "" {
		return ""
	}
	return hostText(to.Host)
}

// hostText is the same of a rule.
func hostText(r address.Rule) string {
	switch {
	case r.Below || !r.Whole() || r.Proto != "" && r.Proto != address.TLS:
		return ""
	case r.Port == 0 || r.Port == 443:
		return string(r.Name)
	}
	return fmt.Sprintf("%s:%d", r.Name, r.Port)
}

// kindOf knows the public hosts of forges, by their whole names.
func kindOf(at string) serviceapi.Kind {
	for _, k := range serviceapi.Kinds() {
		if k.Forge() && at == k.Public() {
			return k
		}
	}
	return ""
}

// client is a program of a forge that keeps logins on the host.
type client struct {
	kind  serviceapi.Kind
	env   string   // names its directory, if set
	dir   string   // else that one, below the user's configuration
	file  string   // in it
	below string   // the key under which hosts stand in it; "": at its top
	argv  []string // prints the token for the host that is named last
	drop  []string // variables by which it would print another token than that of the host
}

var clients = []client{
	{serviceapi.GitHub, "GH_CONFIG_DIR", "gh", "hosts.yml", "", []string{"gh", "auth", "token", "--hostname"},
		[]string{"GH_HOST", "GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN"}},
	{serviceapi.GitLab, "GLAB_CONFIG_DIR", "glab-cli", "config.yml", "hosts", []string{"glab", "config", "get", "token", "--host"},
		[]string{"GITLAB_HOST", "GITLAB_URI", "GL_HOST", "GITLAB_TOKEN", "GITLAB_ACCESS_TOKEN", "OAUTH_TOKEN"}},
}

// clientFiles are where a client keeps its logins: where it looks, and where it would
// without its variable.
func clientFiles(p launch.Person, c client) []string {
	usual := filepath.Join(p.ConfigHome(), c.dir, c.file)
	if dir := p.Getenv(c.env); filepath.IsAbs(dir) {
		return []string{filepath.Join(dir, c.file), usual}
	}
	return []string{usual}
}

// clientToken finds the login of gh or glab on the host.
func (fs *forges) clientToken(h *forgeHost) {
	for _, c := range clients {
		file := clientFiles(fs.services.Base.Person, c)[0]
		b, err := launch.ReadIfPresent(file, 1<<20)
		if err != nil || !hasHost(b, c.below, h.url.Host) || h.kind != "" && h.kind != c.kind {
			continue
		}
		argv := append(slices.Clone(c.argv), h.url.Host)
		h.kind, h.secret = c.kind, argv[0]+" login"
		h.source = fs.kept.one(fs.Base, &keptSecret{ref: source.Ref{Name: h.secret, From: "command", Argv: argv}, host: vault(fs.services.Base, c.environ(fs.Asked.Environ, h)), file: file,
			hint: "run it there: " + strings.Join(argv, " ")})
		return
	}
}

// environ leaves out what would make the client print a token that belongs to another
// host: its variables name none. A directory that is not named from the root on would be
// one of wherever it is started, and is not where we looked.
func (c client) environ(all []string, h *forgeHost) []string {
	drop := c.drop
	if !apiApart(h) {
		drop = append(slices.Clone(drop), "GH_TOKEN", "GITHUB_TOKEN") // for github.com
	}
	return slices.DeleteFunc(slices.Clone(all), func(e string) bool {
		name, value, _ := strings.Cut(e, "=")
		return slices.Contains(drop, name) || name == c.env && !filepath.IsAbs(value)
	})
}

// hasHost holds if a client's settings have a login for the very host: a line of its
// own where hosts stand, and nowhere deeper, where names of users do.
func hasHost(settings []byte, below, host string) bool {
	within, depth := below == "", 0
	for line := range bytes.Lines(settings) {
		text := strings.TrimRight(string(line), " \t\r\n")
		key := strings.TrimLeft(text, " ")
		indent := len(text) - len(key)
		switch {
		case key == "" || key[0] == '#':
		case below != "" && indent == 0:
			within, depth = key == below+":", 0
		case !within:
		case below != "" && depth == 0 || indent == depth:
			if depth = indent; key == host+":" {
				return true
			}
		}
	}
	return false
}
