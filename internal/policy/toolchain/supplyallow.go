package toolchain

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// Exempt is a package without brakes: its name in each registry, empty where it is
// not meant. Only a name on npm can be a pattern, and only all of a scope.
type Exempt struct{ NPM, PyPI string }

// lazily makes an expression when it is first used: every command has these.
func lazily(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// The names that the registries give out today. They are stricter than what was
// once given out, so that no name can mean anything in a configuration file or on
// a command line. 214 is npm's own limit.
var (
	npmName  = lazily(`^(@[a-z0-9][a-z0-9._-]*/)?[a-z0-9][a-z0-9._-]*$`)
	npmScope = lazily(`^@[a-z0-9][a-z0-9._-]*/\*$`)
	pypiName = lazily(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)
	pypiDash = lazily(`[-_.]+`)
)

const longestName = 214

// ParseAllow reads one exemption: npm:NAME, npm:@SCOPE/NAME, npm:@SCOPE/*,
// pypi:NAME, or a bare name for every registry that can have it.
func ParseAllow(s string) (Exempt, error) {
	registry, name, found := strings.Cut(s, ":")
	if !found {
		registry, name = "", s
	}
	if len(name) > longestName {
		return Exempt{}, fmt.Errorf("allow %.40q...: the name is longer than %d bytes", s, longestName)
	}
	var e Exempt
	if npmName().MatchString(name) || npmScope().MatchString(name) {
		e.NPM = name
	}
	if pypiName().MatchString(name) {
		e.PyPI = strings.ToLower(pypiDash().ReplaceAllString(name, "-"))
	}
	switch {
	case found && registry == "npm":
		e.PyPI = ""
	case found && registry == "pypi":
		e.NPM = ""
	case found && (registry == "go" || registry == "crates"):
		return Exempt{}, nil // they have no brakes of their own
	case found:
		return Exempt{}, fmt.Errorf("allow %q: the registry is npm, pypi, go or crates", s)
	}
	if e == (Exempt{}) {
		return Exempt{}, fmt.Errorf("allow %q: not the name of a package", s)
	}
	return e, nil
}
