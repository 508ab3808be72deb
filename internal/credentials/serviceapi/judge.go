package serviceapi

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// MaxBody is how much of a body Judge looks at. A longer one that it needs to
// see is denied.
const MaxBody = 1 << 20

// Request is what somebody inside wants of the service.
type Request struct {
	Method string
	Path   string // escaped, as it will be sent
	Query  string // raw
	Header http.Header
	Length int64  // of the body; -1 where it is not known
	Body   []byte // where NeedsBody says so, up to MaxBody+1 bytes
}

// From takes a Request from what net/http read. The path is the one that
// net/http writes again.
func From(r *http.Request, body []byte) Request {
	return Request{Method: r.Method, Path: r.URL.EscapedPath(), Query: r.URL.RawQuery, Header: r.Header, Length: r.ContentLength, Body: body}
}

// Decision is the answer, with the rule that gave it.
type Decision struct {
	Allow  bool
	Rule   string
	Reason string
	Hint   string // what helps, for whoever reads the refusal

	// Body, where it is not nil, is sent in the place of the one that was judged: the
	// same, spelled in the one way that every reader takes for that.
	Body []byte

	// Files holds where the answer is what a repository has, unless it is JSON: a file, an
	// archive, a difference.
	Files bool

	// Learn, where it is not nil, must be given the body of a successful answer,
	// decoded: the request goes out without Accept-Encoding then.
	Learn func(body []byte)
}

// overriding are the fields with which a request asks to be taken for another.
var overriding = []string{
	"X-Http-Method-Override", "X-Http-Method", "X-Method-Override",
	"X-Original-Url", "X-Rewrite-Url", "X-Original-Uri", "X-Forwarded-Uri", "Sudo",
}

// overridingQuery are the parameters that do the same.
var overridingQuery = []string{"_method", "x-http-method-override", "sudo"}

// NeedsBody reports whether Judge must see the body of r.
func (s *Service) NeedsBody(r Request) bool {
	method, p, d := s.form(r)
	if d.Reason != "" || !s.config.Kind.Forge() || reading(method) || method == websocket {
		return false
	}
	d, decided := s.byUser(method, p)
	return !decided && d.Reason == ""
}

// Judge decides a request. What no rule allows is denied.
func (s *Service) Judge(r Request) Decision {
	method, p, d := s.form(r)
	if d.Reason != "" {
		return d
	}
	if d, decided := s.byUser(method, p); decided {
		return d
	}
	if s.graphql != nil && match(s.graphql, p.segs, false) {
		return s.judgeGraphQL(method, r)
	}
	spellings := p.spellings()
	for _, rule := range s.deny {
		if rule.denies(method, spellings) {
			return s.no(method, r.Path, rule.text, rule.reason)
		}
	}
	for _, rule := range s.allow {
		if !rule.allows(method, p) {
			continue
		}
		body, reason := s.looksInto(method, rule, r)
		if reason != "" {
			return s.no(method, r.Path, rule.text, reason)
		}
		return Decision{Allow: true, Rule: rule.text, Reason: "the rules of " + string(s.config.Kind) + " allow it", Body: anew(body), Learn: rule.learn, Files: reading(method) && s.handsOut(p)}
	}
	return s.no(method, r.Path, "default", s.why(method))
}

// form checks what holds for every request, whatever a user allowed.
func (s *Service) form(r Request) (method string, p path, d Decision) {
	bad := func(format string, args ...any) (string, path, Decision) {
		return "", path{}, Decision{Rule: "form", Reason: fmt.Sprintf(format, args...)}
	}
	if !slices.Contains(methods, r.Method) || r.Method == websocket {
		return bad("method %.20q is not known", r.Method)
	}
	for name := range r.Header {
		if slices.Contains(overriding, http.CanonicalHeaderKey(strings.ReplaceAll(name, "_", "-"))) {
			return bad("the header %s asks for another request than this one", http.CanonicalHeaderKey(name))
		}
	}
	query, err := url.ParseQuery(r.Query)
	if err != nil || len(r.Query) > 2*maxPath {
		return bad("the query cannot be read or is too long")
	}
	for name := range query {
		if slices.Contains(overridingQuery, parameter(name)) {
			return bad("the parameter %q asks for another request than this one", parameter(name))
		}
	}
	p, err = parsePath(r.Path, s.config.Kind == NPM || s.config.Kind.Forge())
	if err != nil {
		return bad("%v", err)
	}
	if !s.below(p) {
		return bad("the credential is for what lies below %s%s/ alone", s.config.Host, s.config.Base)
	}
	if to := r.Header.Values("Upgrade"); len(to) > 0 {
		if len(to) > 1 || !strings.EqualFold(to[0], "websocket") {
			return bad("a connection may become a WebSocket, and nothing else")
		}
		return websocket, p, Decision{}
	}
	return r.Method, p, Decision{}
}

// below holds for a path that is the base of the service or lies below it, in the very
// letters: no rule, of whoever, leads the credential elsewhere on the host.
func (s *Service) below(p path) bool {
	if len(p.segs) < len(s.base) {
		return false
	}
	for i, name := range s.base {
		if p.segs[i].slash || p.segs[i].text != name {
			return false
		}
	}
	return true
}

func (s *Service) byUser(method string, p path) (Decision, bool) {
	spellings := p.spellings()
	for _, rule := range s.userDeny {
		if rule.denies(method, spellings) {
			return Decision{Rule: rule.text, Reason: "the policy denies it"}, true
		}
	}
	for _, rule := range s.userAllow {
		if rule.allows(method, p) {
			return Decision{Allow: true, Rule: rule.text, Reason: "the policy allows it"}, true
		}
	}
	return Decision{}, false
}

// looksInto judges what a forge would take from elsewhere than the path. It
// returns the reason for a denial, or "", and the body as it was read.
func (s *Service) looksInto(method string, rule rule, r Request) (object, string) {
	if !s.config.Kind.Forge() {
		return nil, ""
	}
	if reading(method) {
		if r.Length != 0 {
			return nil, "a request that reads has no body"
		}
		return nil, ""
	}
	if r.Query != "" {
		return nil, "a request that writes has no query"
	}
	body, err := bodyOf(r)
	if err != nil {
		return nil, err.Error()
	}
	for key := range body {
		if name := parameter(key); slices.Contains(overridingQuery, name) || credentialParameter(name) {
			return nil, fmt.Sprintf("the body holds %q", name)
		}
	}
	if reason := s.judgeTexts(body); reason != "" {
		return nil, reason
	}
	if rule.body != nil {
		return body, rule.body(body)
	}
	return body, ""
}

func (s *Service) no(method, path, rule, reason string) Decision {
	d := Decision{Rule: rule, Reason: reason, Hint: "a person can allow it in the policy"}
	if s.config.Kind.registry() && s.config.Base == "" && rule == "default" && reading(method) {
		d.Hint = fmt.Sprintf("a registry below a path is kept with its path: ringfence secret set NAME --use %s --host %s/PATH", s.config.Kind, s.config.Host)
		return d
	}
	if len(path) <= 200 && !strings.Contains(path, "%") {
		d.Hint += fmt.Sprintf(": allow = [%q]", method+" "+path)
	}
	return d
}

// handsOut holds for a path below which a forge hands out files of a repository.
func (s *Service) handsOut(p path) bool {
	return slices.ContainsFunc(s.files, func(r rule) bool { return r.allows("GET", p) })
}

// why explains a denial that no rule of its own explains.
func (s *Service) why(method string) string {
	switch c := s.config; {
	case method == websocket:
		return "no rule allows a WebSocket here"
	case c.Kind.Forge() && reading(method):
		return "this is not on the list of what may be read"
	case c.Kind.Forge() && len(c.Repos) == 0:
		return "writing is denied: the session has no repository here"
	case c.Kind.Forge():
		return "writing is denied but for issues, pull requests and comments of " + strings.Join(c.Repos, ", ")
	case c.Kind.registry() && reading(method):
		return "this is not on the list of what may be read"
	case c.Kind.registry() && c.Publish:
		return "only publishing a version is allowed: no deletion, and nothing about users, owners and tokens"
	case c.Kind.registry():
		return "publishing to this registry is denied"
	default:
		return "only reading is allowed"
	}
}

func reading(method string) bool { return method == "GET" || method == "HEAD" }

// parameter is the name under which frameworks take a parameter: in any case, without
// the brackets of a list, and without those before it, which Rack passes over.
func parameter(name string) string {
	name = strings.TrimLeft(strings.TrimSpace(name), "[]")
	if end := strings.IndexAny(name, "[]"); end >= 0 {
		name = name[:end]
	}
	return strings.ToLower(strings.TrimSpace(name))
}
