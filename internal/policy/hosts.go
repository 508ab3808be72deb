package policy

import (
	"errors"
	"fmt"
	"strings"

	"ringfence.dev/ringfence/internal/address"
)

// maxHost bounds the text of one rule about hosts: it is shown and journalled.
const maxHost = 1024

func checkHost(v string) error {
	_, err := parseHost(v)
	return err
}

func checkDeny(v string) error {
	if address.Numeric(v) {
		_, err := address.ParseDenied(v)
		return err
	}
	_, err := parseDeny(v)
	return err
}

func checkBudget(v string) error {
	_, err := parseBudget(v)
	return err
}

func parseHost(v string) (address.Rule, error) {
	if len(v) > maxHost {
		return address.Rule{}, fmt.Errorf("the rule has more than %d bytes", maxHost)
	}
	return address.ParseRule(v)
}

// parseDeny takes a name with or without a port. What depends on a protocol or a
// path could not be held against everything that is not seen.
func parseDeny(v string) (address.Rule, error) {
	r, err := parseHost(v)
	if err == nil && (r.Proto != "" || !r.Whole()) {
		err = fmt.Errorf("%q: a deny is a name, or a name and a port, and nothing else", v)
	}
	return r, err
}

func parseBudget(v string) (address.Rule, error) {
	r, err := parseHost(v)
	if err == nil && (r.Proto != "" || r.Port != 0 || !r.Whole()) {
		err = fmt.Errorf("%q: a budget is for a name, whatever the port", v)
	}
	return r, err
}

// plainHost is the one spelling of a host.
func plainHost(v string) string {
	r, err := parseHost(v)
	if err != nil {
		return v
	}
	return r.String()
}

func checkIP(v string) error {
	_, err := address.ParsePrefix(v)
	return err
}

func checkPort(v string) error {
	_, err := address.ParsePort(v)
	return err
}

func checkPublish(v string) error {
	_, _, err := ParsePublish(v)
	return err
}

// ParsePublish reads PORT, or HOST:INSIDE where the two differ, so that every
// publication has one spelling.
func ParsePublish(v string) (host, inside uint16, err error) {
	first, second, pair := strings.Cut(v, ":")
	if host, err = address.ParsePort(first); err != nil || !pair {
		return host, host, err
	}
	if inside, err = address.ParsePort(second); err != nil {
		return 0, 0, err
	}
	if host == inside {
		return 0, 0, fmt.Errorf("%q names one port twice: write %d", v, host)
	}
	return host, inside, nil
}

// What proxy may be besides a URL.
const (
	ProxyNone = "none"
	ProxyEnv  = "env"
)

func checkProxy(v string) error {
	if v == ProxyNone || v == ProxyEnv {
		return nil
	}
	scheme, rest, ok := strings.Cut(v, "://")
	switch {
	case !ok || scheme != "http" && scheme != "socks5" && scheme != "socks5h":
		return fmt.Errorf("%q is neither none, env, http://HOST:PORT nor socks5h://HOST:PORT", v)
	case strings.Contains(rest, "@"):
		return errors.New("a policy holds no password: use env and the launcher's variables")
	case strings.Contains(rest, "/"):
		return fmt.Errorf("%q: a proxy has no path: nothing follows the port", v)
	}
	if _, err := address.ParseTarget(rest); err != nil {
		return fmt.Errorf("%q: %w", v, err)
	}
	return nil
}

func checkBytes(v string) error {
	_, err := ParseBytes(v)
	return err
}

// Add puts a rule under a key that is a list or a word.
func (p *Policy) Add(section, name string, r Rule) error {
	k := findKey(section, name)
	switch {
	case k != nil && k.list != nil:
		l := k.list(p)
		*l = append(*l, r)
	case k != nil && k.word != nil:
		*k.word(p) = &r
	default:
		return fmt.Errorf("[%s] %s takes no such value", section, name)
	}
	return nil
}

// Admit reports why a value of a list or a word could not stand under a key of a
// policy file. Who builds a policy from flags asks it for each.
func Admit(section, name, value string) error {
	k := findKey(section, name)
	if s := secretTables; section == secretSection && s.knows(name) {
		k = s.keyOf(&Secret{}, name)
	}
	if k == nil || k.list == nil && k.word == nil {
		return fmt.Errorf("[%s] %s takes no such value", section, name)
	}
	return k.admit(value)
}
