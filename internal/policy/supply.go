package policy

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Supply brakes what comes in with packages of others. A nil field was not written.
type Supply struct {
	Age     *Rule // how long a release must have been out, as ParseAge reads it; nil means no wait
	Scripts *Flag // whether scripts of packages run when they are installed; nil means no
	Allow   List  // packages that are exempt, as ParsePackage reads them
	Deny    List  // packages that are refused, in every version
}

const (
	maxAge      = 3650 * day
	maxPackages = 256
	maxPackage  = 214 // what npm takes
	day         = 24 * time.Hour

	patternAge     = `^(0|[1-9][0-9]{0,4}[dh])$`
	patternPackage = `^((npm:|pypi:|crates:)?((@[A-Za-z0-9][A-Za-z0-9._-]*/)?[A-Za-z0-9][A-Za-z0-9._-]*\*?|@[A-Za-z0-9][A-Za-z0-9._-]*/\*)|go:[A-Za-z0-9][A-Za-z0-9._~-]*(/[A-Za-z0-9._~-]+)*(/?\*)?)$`
)

// packageTools are what a package can be told apart by.
var packageTools = []string{"npm", "pypi", "go", "crates"}

// MinAge is how long a release must have been out.
func (s *Supply) MinAge() time.Duration {
	if s.Age == nil {
		return 0
	}
	d, err := ParseAge(s.Age.Value)
	if err != nil { // cannot come from Decode
		return maxAge
	}
	return d
}

// ScriptsOn reports whether scripts of packages may run when they are installed.
func (s *Supply) ScriptsOn() bool { return s.Scripts != nil && s.Scripts.Value }

func checkAge(v string) error {
	_, err := ParseAge(v)
	return err
}

// ParseAge reads an age: "3d", "72h", or "0" for none. Each has one spelling in each
// unit.
func ParseAge(v string) (time.Duration, error) {
	if v == "0" {
		return 0, nil
	}
	unit := time.Hour
	digits, ok := strings.CutSuffix(v, "h")
	if !ok {
		digits, ok = strings.CutSuffix(v, "d")
		unit = day
	}
	n, err := strconv.ParseUint(digits, 10, 31) // takes no sign, no space, no underscore
	if !ok || err != nil || digits[0] == '0' {
		return 0, fmt.Errorf("%q is no age: write days or hours as 3d or 72h, or 0 for no wait", v)
	}
	if time.Duration(n) > maxAge/unit {
		return 0, fmt.Errorf("the age %q is longer than %dd", v, maxAge/day)
	}
	return time.Duration(n) * unit, nil
}

// Package is one package, or with Below all whose names begin so.
type Package struct {
	Tool  string // of packageTools; "" is any
	Name  string
	Below bool
}

func checkPackage(v string) error {
	_, err := ParsePackage(v)
	return err
}

// ParsePackage reads NAME, TOOL:NAME or TOOL:PREFIX*. A name of npm may have a scope.
func ParsePackage(v string) (Package, error) {
	var p Package
	name := v
	if tool, rest, ok := strings.Cut(v, ":"); ok {
		if !slices.Contains(packageTools, tool) {
			return p, fmt.Errorf("%q: there are packages of %s", v, strings.Join(packageTools, ", "))
		}
		p.Tool, name = tool, rest
	}
	p.Name, p.Below = strings.CutSuffix(name, "*")
	if p.Tool == "go" {
		return p, checkModule(v, p)
	}
	switch scope, bare, scoped := strings.Cut(p.Name, "/"); {
	case len(v) > maxPackage+len("pypi:"):
		return Package{}, fmt.Errorf("the name of a package has at most %d bytes", maxPackage)
	case p.Name == "" && p.Below:
		return Package{}, fmt.Errorf("%q is every package: age and scripts are what switches the brakes off", v)
	case scoped && (p.Tool == "pypi" || p.Tool == "crates" || !strings.HasPrefix(scope, "@") || !packageName(scope[1:]) || !packageName(bare) && !(bare == "" && p.Below)),
		!scoped && !packageName(p.Name):
		return Package{}, fmt.Errorf("%q is no package: write NAME, npm:NAME, npm:@SCOPE/NAME, pypi:NAME, crates:NAME or go:PATH", v)
	}
	return p, nil
}

// checkModule takes paths of Go modules: names with slashes between.
func checkModule(v string, p Package) error {
	path := p.Name
	if p.Below {
		path = strings.TrimSuffix(path, "/")
	}
	parts := strings.Split(path, "/")
	bad := slices.ContainsFunc(parts, func(s string) bool {
		return s == "" || strings.Trim(s, nameBytes+".~") != "" || strings.Trim(s, ".") == ""
	})
	if bad || len(v) > maxPackage || strings.ContainsRune("-._~", rune(parts[0][0])) {
		return fmt.Errorf("%.100q is no module: write go:example.org/path, or go:example.org/path/* for all below it", v)
	}
	return nil
}

// packageName takes what both registries have names of. None begins as an option of
// a command does, or as a path.
func packageName(s string) bool {
	return s != "" && strings.Trim(s, nameBytes+".") == "" && !strings.ContainsRune("-._", rune(s[0]))
}

// covers reports whether p exempts all that o does.
func (p Package) covers(o Package) bool {
	if p.Tool != "" && p.Tool != o.Tool {
		return false
	}
	return p.Below && strings.HasPrefix(o.Name, p.Name) || !o.Below && o.Name == p.Name
}

// exempts returns the test whether a list covers a package.
func (l List) exempts() func(string) bool {
	var all []Package
	for _, r := range l {
		if p, err := ParsePackage(r.Value); err == nil {
			all = append(all, p)
		}
	}
	return func(v string) bool {
		o, err := ParsePackage(v)
		if err != nil {
			return false
		}
		for _, p := range all {
			if p.covers(o) {
				return true
			}
		}
		return false
	}
}

// Exempts reports whether a package of a registry has no brakes.
func (s *Supply) Exempts(tool, name string) bool { return s.Allow.names(tool, name) }

// Denies reports whether a package of a registry is refused, in every version.
func (s *Supply) Denies(tool, name string) bool { return s.Deny.names(tool, name) }

var runs = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[-_.]+`) })

// NormalProject is the one spelling of the name of a project of PyPI, as PEP 503 has it.
func NormalProject(name string) string {
	return strings.ToLower(runs().ReplaceAllString(name, "-"))
}

// names reports whether a list has a package of a registry. Names of PyPI, and of crates,
// are one however they are spelled.
func (l List) names(tool, name string) bool {
	fold := func(name string) string {
		switch tool {
		case "pypi":
			return NormalProject(name)
		case "crates":
			return strings.ToLower(strings.ReplaceAll(name, "_", "-"))
		}
		return name
	}
	o := Package{Tool: tool, Name: fold(name)}
	return slices.ContainsFunc(l, func(r Rule) bool {
		p, err := ParsePackage(r.Value)
		p.Name = fold(p.Name)
		return err == nil && p.covers(o)
	})
}

// tightenSupply takes from over what can only take away: the longer wait, no
// scripts, the packages that both exempt, and those that either refuses.
func tightenSupply(s, o *Supply) {
	if o.MinAge() > s.MinAge() {
		s.Age = o.Age
	}
	if o.Scripts != nil && !o.Scripts.Value && s.ScriptsOn() {
		s.Scripts = o.Scripts
	}
	s.Allow = both(s.Allow, o.Allow, o.Allow.exempts(), s.Allow.exempts())
	s.Deny = join(s.Deny, o.Deny)
}

// widensSupply lists what of one key of over base does not give already.
func widensSupply(k *key, base, over *Policy) List {
	b, o := &base.Supply, &over.Supply
	var out List
	switch k.name {
	case "age":
		if o.Age != nil && o.MinAge() < b.MinAge() {
			out = List{*o.Age}
		}
	case "scripts":
		if o.ScriptsOn() && !b.ScriptsOn() {
			out = List{{"true", o.Scripts.Source}}
		}
	case "deny": // which only takes away
	default:
		exempt := b.Allow.exempts()
		for _, r := range o.Allow {
			if !exempt(r.Value) {
				out = append(out, r)
			}
		}
	}
	return out
}
