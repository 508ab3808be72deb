package serviceapi

import (
	"crypto/sha256"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// Common judges requests to hosts on which anybody can write with a credential of his
// own. Reading passes, without a credential. A write does not, nor does a credential,
// which would be one that the agent brought along: who has it can be told anything.
// It is safe for concurrent use.
//
// Left at risk: what the path and the query of a read say is in the logs of the host,
// which only its owner reads.
type Common struct {
	opens []opening
	given given
}

// opening is a request that a policy lets through as it is.
type opening struct {
	covers func(host string) bool
	rule   rule
}

// Open lets requests through that a policy names: "POST /path/**", to the hosts that
// covers says.
func (c *Common) Open(covers func(host string) bool, text string) error {
	r, err := parseRule(text)
	if err == nil {
		c.opens = append(c.opens, opening{covers, r})
	}
	return err
}

// Judge decides about a request to a host. Raw is set in a decision by a policy: the
// request goes on with all that it carries. Otherwise it is one that reads, and what
// it carries besides is not needed.
func (c *Common) Judge(host string, r Request) (d Decision, raw bool) {
	if why := oneMeaning(r); why != "" {
		return Decision{Rule: "form", Reason: why}, false
	}
	p, err := parsePath(r.Path, true)
	for _, o := range c.opens {
		if err == nil && o.covers(host) && o.rule.allows(r.Method, p) {
			return Decision{Allow: true, Rule: o.rule.text, Reason: "the policy opens it"}, true
		}
	}
	no := func(reason string) (Decision, bool) {
		d := Decision{Rule: "reading alone", Reason: reason, Hint: "a person can open it in the policy"}
		if err == nil && len(r.Path) <= 200 && !strings.Contains(r.Path, "%") {
			d.Hint += ": [broker] open = [\"" + r.Method + " " + host + r.Path + "\"]"
		}
		return d, false
	}
	asks := err == nil && r.Method == http.MethodPost && slices.ContainsFunc(asking, func(a asked) bool { return a.on(host) && a.rule.allows(r.Method, p) })
	switch where := c.credential(host, r); {
	case !asks && !reading(r.Method) && r.Method != http.MethodOptions:
		return no("anybody can write to this host: it can be read, and " + r.Method + " is no reading")
	case where != "":
		return no("anybody can have a credential for this host: the one in " + where + " is not yours")
	case !asks && r.Length != 0:
		return no("a request that reads has no body")
	}
	return Decision{Allow: true, Rule: "reading alone", Reason: "read without a credential"}, false
}

// oneMeaning says why a request could be taken for another one than it looks like.
func oneMeaning(r Request) string {
	if !slices.Contains(methods, r.Method) || r.Method == websocket {
		return "the method is not known"
	}
	for name := range r.Header {
		if slices.Contains(overriding, http.CanonicalHeaderKey(strings.ReplaceAll(name, "_", "-"))) {
			return "the header " + http.CanonicalHeaderKey(name) + " asks for another request than this one"
		}
	}
	if len(r.Header.Values("Upgrade")) > 0 {
		return "another protocol could not be judged"
	}
	query, err := url.ParseQuery(r.Query)
	if err != nil {
		return "the query cannot be read"
	}
	for name := range query {
		if slices.Contains(overridingQuery, parameter(name)) {
			return "the query asks for another request than this one"
		}
	}
	return ""
}

// asked is a POST that only asks: its answer is all that comes of it.
type asked struct {
	on   func(host string) bool
	rule rule
}

func below(zone string) func(string) bool {
	return func(host string) bool { return strings.HasSuffix(host, "."+zone) }
}

func is(name string) func(string) bool { return func(host string) bool { return host == name } }

var asking = []asked{
	{below("npmjs.org"), must("", "POST /-/npm/v1/security/**")},
	{below("yarnpkg.com"), must("", "POST /-/npm/v1/security/**")},
	{is("packagist.org"), must("", "POST /api/security-advisories")},
	{is("casa.stackage.org"), must("", "POST /v1/pull")},
}

// credential says where a request carries one; "" where it does not.
func (c *Common) credential(host string, r Request) string {
	for name, lines := range r.Header {
		low := strings.ToLower(strings.ReplaceAll(name, "_", "-"))
		if !slices.ContainsFunc(secretive, func(end string) bool { return strings.HasSuffix(low, end) }) {
			continue
		}
		for _, line := range lines {
			if line = strings.TrimSpace(line); line != "" && !(low == "authorization" && len(lines) == 1 && c.given.has(host, line)) {
				return "the header " + http.CanonicalHeaderKey(name)
			}
		}
	}
	query, _ := url.ParseQuery(r.Query) // it can be read: oneMeaning
	for name, values := range query {
		if credentialParameter(parameter(name)) && slices.ContainsFunc(values, func(v string) bool { return v != "" }) {
			return "the parameter " + parameter(name)
		}
	}
	return ""
}

// secretive is how the names of fields end that hold credentials: those that services
// are known to take, and what somebody will call one tomorrow.
var secretive = []string{"authorization", "token", "apikey", "-key", "secret", "password", "passwd", "cookie", "cookie2", "credential", "credentials",
	"-otp", "x-jfrog-art-api", "signature", "assertion"}

// issuer is a registry of images, which wants a token even from who has no account:
// where it hands it out, and which host takes it.
type issuer struct{ host, path, registry string }

var issuers = []issuer{
	{"auth.docker.io", "/token", "registry-1.docker.io"},
	{"ghcr.io", "/token", "ghcr.io"},
	{"quay.io", "/v2/auth", "quay.io"},
}

// Issues reports whether the answer to a request, which reads and carries no
// credential, is a token for nobody. Given must see it.
func (c *Common) Issues(host, path string) bool {
	return slices.ContainsFunc(issuers, func(i issuer) bool { return i.host == host && i.path == path })
}

// maxIssued bounds an answer with a token.
const maxIssued = 64 << 10

// Given remembers a token that was handed out to nobody in particular.
func (c *Common) Given(host string, answer []byte) {
	var v struct {
		Token       string `json:"token"`
		AccessToken string `json:"access_token"`
	}
	if len(answer) > maxIssued || json.Unmarshal(answer, &v) != nil {
		return
	}
	for _, i := range issuers {
		for _, token := range []string{v.Token, v.AccessToken} {
			if i.host == host && token != "" {
				c.given.add(i.registry, token)
			}
		}
	}
}

// given are tokens by their digests: a session may pull from many repositories, each
// with a token of its own, and the oldest have ended long before these are too many.
type given struct {
	mu    sync.Mutex
	known map[[sha256.Size]byte]bool
	order [][sha256.Size]byte
}

const maxGiven = 4096

func digest(host, token string) [sha256.Size]byte {
	return sha256.Sum256([]byte(host + "\x00" + token))
}

func (g *given) add(host, token string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	d := digest(host, token)
	if g.known == nil {
		g.known = map[[sha256.Size]byte]bool{}
	}
	if g.known[d] {
		return
	}
	if len(g.order) == maxGiven {
		delete(g.known, g.order[0])
		g.order = g.order[1:]
	}
	g.known[d], g.order = true, append(g.order, d)
}

// has reports whether a line is "Bearer" and a token that was given for a host.
func (g *given) has(host, line string) bool {
	scheme, token, _ := strings.Cut(line, " ")
	g.mu.Lock()
	defer g.mu.Unlock()
	return strings.EqualFold(scheme, "Bearer") && g.known[digest(host, strings.TrimSpace(token))]
}
