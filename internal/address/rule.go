package address

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Protocol is what the bytes of a connection must be.
type Protocol string

// The protocols that the gate can tell.
const (
	TLS  Protocol = "tls"  // a ClientHello that asks for the very name
	HTTP Protocol = "http" // requests whose Host is the very name
	TCP  Protocol = "tcp"  // anything: judged by name and port alone
)

// Rule matches connections by name:
//
//	example.org            ports 443 (TLS) and 80 (HTTP)
//	*.example.org          every name below, at any depth, not example.org itself
//	example.org:5432       one port; 443 means TLS and 80 HTTP
//	https://example.org:8443, http://example.org:8080, tcp://example.org:443
//	                       the protocol said: tcp is unchecked
//	GET,HEAD http://example.org/pub/*
//	                       method and path, where the gate sees them
type Rule struct {
	Name    Name
	Below   bool // *.Name
	Port    uint16
	Proto   Protocol // "" follows the port
	Methods []string // none: all
	Path    string   // "" all; exact, or a prefix that ends in "/*"
}

// ParseRule reads a rule as a person writes it.
func ParseRule(s string) (Rule, error) {
	var r Rule
	rest := s
	if methods, after, ok := strings.Cut(rest, " "); ok {
		for m := range strings.SplitSeq(methods, ",") {
			if m == "" || strings.Trim(m, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
				return Rule{}, fmt.Errorf("%q: %q is not a method", s, m)
			}
			r.Methods = append(r.Methods, m)
		}
		rest = after
	}
	if scheme, after, ok := strings.Cut(rest, "://"); ok {
		var known bool
		if r.Proto, known = map[string]Protocol{"https": TLS, "http": HTTP, "tcp": TCP}[scheme]; !known {
			return Rule{}, fmt.Errorf("%q: the protocol is one of https, http, tcp", s)
		}
		rest = after
	}
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		rest, r.Path = rest[:i], rest[i:]
	}
	if err := r.host(rest); err != nil {
		return Rule{}, fmt.Errorf("%q: %w", s, err)
	}
	if err := r.check(); err != nil {
		return Rule{}, fmt.Errorf("%q: %w", s, err)
	}
	return r, nil
}

func (r *Rule) host(s string) error {
	if host, port, ok := cutLast(s, ':'); ok {
		var err error
		if r.Port, err = ParsePort(port); err != nil {
			return err
		}
		s = host
	}
	if _, err := netip.ParseAddr(s); err == nil || strings.ContainsAny(s, ":[]") {
		return errors.New("this is an address, not a name: an address is allowed with its port, see --allow-ip")
	}
	if below, ok := strings.CutPrefix(s, "*."); ok {
		r.Below, s = true, below
	}
	if strings.Contains(s, "*") {
		return errors.New("a star stands only at the front, before a dot: *.example.org")
	}
	var err error
	if r.Name, err = FromText(s); err != nil {
		return err
	}
	if strings.HasSuffix(s, ".") {
		return errors.New("no dot at the end")
	}
	return nil
}

func (r *Rule) check() error {
	if r.Below {
		if bare(r.Name) {
			return fmt.Errorf("*.%s is everybody's: name what is needed below it", r.Name)
		}
	}
	if r.Path == "/" {
		return errors.New("a path is /something, or a prefix such as /pub/*; leave it out for all paths")
	}
	if r.Path != "" && (strings.Contains(strings.TrimSuffix(r.Path, "/*"), "*") || !PlainPath(strings.TrimSuffix(r.Path, "*"))) {
		return fmt.Errorf("path %q is not plain: no query, no escapes, no dots, a star only at the end as in /pub/*", r.Path)
	}
	if !r.Whole() && r.Proto != HTTP && (r.Proto != "" || r.Port != 80) {
		return errors.New("method and path can be seen in plain HTTP only: write http://…, or leave them out")
	}
	if r.Proto == TCP && r.Port == 0 {
		return errors.New("tcp:// needs a port")
	}
	return nil
}

// PlainPath holds for a path that means the same to everybody: what servers may
// decode, fold or cut differently cannot be judged by a rule about paths.
func PlainPath(p string) bool {
	if !strings.HasPrefix(p, "/") || strings.Contains(p, "//") || strings.ContainsAny(p, "%\\?#; \t") {
		return false
	}
	for seg := range strings.SplitSeq(p[1:], "/") {
		if seg == "." || seg == ".." {
			return false
		}
	}
	for i := range len(p) {
		if p[i] <= ' ' || p[i] >= 0x7f {
			return false
		}
	}
	return true
}

// Shared returns the domain whose names strangers can have, where a rule covers
// them with its star.
func (r Rule) Shared() (string, bool) {
	return string(r.Name), r.Below && slices.Contains(shared, r.Name)
}

// Covers reports whether the rule's name covers n.
func (r Rule) Covers(n Name) bool {
	if r.Below {
		return n.Under(r.Name)
	}
	return n == r.Name
}

// On returns the protocol that the rule demands on a port, and whether it speaks
// of that port at all.
func (r Rule) On(port uint16) (Protocol, bool) {
	if r.Port != 0 {
		return r.protocol(port), port == r.Port
	}
	switch {
	case port == 443 && (r.Proto == "" && r.Path == "" && r.Methods == nil || r.Proto == TLS):
		return TLS, true
	case port == 80 && (r.Proto == "" || r.Proto == HTTP):
		return HTTP, true
	}
	return "", false
}

func (r Rule) protocol(port uint16) Protocol {
	switch {
	case r.Proto != "":
		return r.Proto
	case port == 443:
		return TLS
	case port == 80:
		return HTTP
	}
	return TCP
}

// Whole reports whether the rule allows every request on the ports that it names.
func (r Rule) Whole() bool { return len(r.Methods) == 0 && r.Path == "" }

// Request reports whether the rule allows a method and a path. A path that is not
// plain is covered only by a rule that speaks of none.
func (r Rule) Request(method, path string) bool {
	if len(r.Methods) > 0 && !slices.Contains(r.Methods, method) {
		return false
	}
	if r.Path == "" {
		return true
	}
	path, _, _ = strings.Cut(path, "?")
	if !PlainPath(path) {
		return false
	}
	if prefix, ok := strings.CutSuffix(r.Path, "*"); ok {
		return strings.HasPrefix(path, prefix)
	}
	return path == r.Path
}

// Within reports whether everything that r allows, over allows too.
func (r Rule) Within(over Rule) bool {
	if r.Below && !over.Below || r.Below && r.Name != over.Name && !r.Name.Under(over.Name) || !r.Below && !over.Covers(r.Name) {
		return false
	}
	for _, port := range []uint16{r.Port, 443, 80} {
		mine, ok := r.On(port)
		if !ok {
			continue
		}
		theirs, ok := over.On(port)
		if !ok || theirs != mine && theirs != TCP {
			return false
		}
	}
	if over.Whole() {
		return true
	}
	if len(over.Methods) > 0 && (len(r.Methods) == 0 || slices.ContainsFunc(r.Methods, func(m string) bool { return !slices.Contains(over.Methods, m) })) {
		return false
	}
	return over.Path == "" || r.Path == over.Path || strings.HasSuffix(over.Path, "*") && strings.HasPrefix(r.Path, strings.TrimSuffix(over.Path, "*"))
}

// String is the rule in its canonical spelling.
func (r Rule) String() string {
	s := string(r.Name)
	if r.Below {
		s = "*." + s
	}
	if r.Proto != "" {
		s = map[Protocol]string{TLS: "https", HTTP: "http", TCP: "tcp"}[r.Proto] + "://" + s
	}
	if r.Port != 0 {
		s += ":" + strconv.Itoa(int(r.Port))
	}
	s += r.Path
	if len(r.Methods) > 0 {
		s = strings.Join(r.Methods, ",") + " " + s
	}
	return s
}
