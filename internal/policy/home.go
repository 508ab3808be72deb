package policy

import (
	"fmt"
	"strings"

	"ringfence.dev/ringfence/internal/address"
)

// Home is where a credential goes, and nowhere else: a host and, where a registry lies
// below a path, what is below that path.
type Home struct {
	Host address.Rule
	Base string // "", or a path without a slash at its end
}

// ParseHome reads HOST[:PORT][/PATH]. The path is one that everybody reads in one way:
// what a server could decode or fold is refused.
func ParseHome(v string) (Home, error) {
	if rest, ok := strings.CutPrefix(v, "//"); ok {
		return Home{}, fmt.Errorf("%q: write the host without // before it: %s", v, strings.TrimSuffix(rest, ":_authToken"))
	}
	scheme, rest, ok := strings.Cut(v, "://")
	if ok {
		scheme += "://"
	} else {
		scheme, rest = "", v
	}
	host, base := rest, ""
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		host, base = rest[:i], strings.TrimSuffix(rest[i:], "/")
	}
	r, err := parseHost(scheme + host)
	if err == nil {
		err = checkBase(v, base)
	}
	switch {
	case err != nil:
		return Home{}, err
	case len(v) > maxHost:
		return Home{}, fmt.Errorf("the rule has more than %d bytes", maxHost)
	case r.Below:
		return Home{}, fmt.Errorf("%q: a credential is for hosts by their whole names: name each", v)
	case !r.Whole():
		return Home{}, fmt.Errorf("%q: methods are written in allow and deny", v)
	case r.Proto == address.TCP:
		return Home{}, fmt.Errorf("%q: a credential travels in TLS, or in http:// where you say so", v)
	}
	return Home{r, base}, nil
}

const (
	baseBytes       = nameBytes + ".~@+"
	maxBaseSegments = 32
)

// checkBase names what is wrong with the path of a host.
func checkBase(v, base string) error {
	if base == "" {
		return nil
	}
	segments := strings.Split(base[1:], "/")
	if len(segments) > maxBaseSegments {
		return fmt.Errorf("%q: the path has more than %d parts", v, maxBaseSegments)
	}
	for _, s := range segments {
		switch bad := strings.Trim(s, baseBytes); {
		case s == "":
			return fmt.Errorf("%q: the path has two slashes in a row", v)
		case s == "." || s == "..":
			return fmt.Errorf("%q: the path holds %q, which servers take for another path", v, s)
		case strings.Contains(s, "%"):
			return fmt.Errorf("%q: the path holds an escape: servers read those in more than one way (GitLab takes the number of a project or a group)", v)
		case strings.ContainsAny(s, "*{}"):
			return fmt.Errorf("%q: the path holds %q: a credential is for one path and what is below it, with no pattern", v, bad[:1])
		case bad != "":
			return fmt.Errorf("%q: the path holds %.4q: it consists of letters, digits and - _ . ~ @ +", v, firstRune(bad))
		}
	}
	return nil
}

func firstRune(s string) string {
	for _, r := range s {
		return string(r)
	}
	return ""
}

// String is the home in its one spelling.
func (h Home) String() string { return h.Host.String() + h.Base }

// plainHome is the one spelling of a home.
func plainHome(v string) string {
	h, err := ParseHome(v)
	if err != nil {
		return v
	}
	return h.String()
}

func checkTo(v string) error {
	_, err := ParseHome(v)
	return err
}

// Meets holds where one path is the other, or lies below it.
func Meets(a, b string) bool {
	return strings.HasPrefix(a+"/", b+"/") || strings.HasPrefix(b+"/", a+"/")
}

// overlap reports whether two homes share a host, a port and a path.
func overlap(a, b string) bool {
	x, errX := ParseHome(a)
	y, errY := ParseHome(b)
	if errX != nil || errY != nil {
		return false // said already
	}
	if x.Host.Name != y.Host.Name || !Meets(x.Base, y.Base) {
		return false
	}
	for _, port := range []uint16{x.Host.Port, y.Host.Port, 443, 80} {
		_, mine := x.Host.On(port)
		if _, theirs := y.Host.On(port); mine && theirs && port != 0 {
			return true
		}
	}
	return false
}
