package toolchain

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// situation is what the tables are filled in from.
type situation struct {
	SupplyRules
	npm   []string // exempt names and scopes on npm, sorted
	exact []string // those of npm that are names
	pypi  []string
}

// consider reads the exemptions. What is not understood is not exempt.
func consider(o SupplyRules) (situation, []string) {
	c := situation{SupplyRules: o}
	var notes []string
	if c.Now.IsZero() {
		c.Now = time.Now()
	}
	for _, s := range o.Allow {
		e, err := ParseAllow(s)
		if err != nil {
			notes = append(notes, err.Error()+"; it exempts nothing")
			continue
		}
		if e.NPM != "" {
			c.npm = append(c.npm, e.NPM)
		}
		if e.PyPI != "" {
			c.pypi = append(c.pypi, e.PyPI)
		}
	}
	c.npm, c.pypi = unique(c.npm), unique(c.pypi)
	for _, name := range c.npm {
		if !strings.HasSuffix(name, "*") {
			c.exact = append(c.exact, name)
		}
	}
	return c, notes
}

func unique(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

func (c situation) aged() bool   { return c.Age > 0 }
func (c situation) silent() bool { return !c.Scripts }

// alone holds where the tools themselves must see to the age.
func (c situation) alone() bool { return c.aged() && c.NoDoor }

// minutes is the age for the tools that count so, rounded up.
func (c situation) minutes() string {
	return strconv.FormatInt(int64((c.Age+time.Minute-1)/time.Minute), 10)
}

func (c situation) seconds() string {
	return strconv.FormatInt(int64((c.Age+time.Second-1)/time.Second), 10)
}

// date is the last moment whose versions are old enough.
func (c situation) date() string {
	return c.Now.Add(-c.Age).UTC().Truncate(time.Second).Format(time.RFC3339)
}

// day is date, rounded down to midnight: uv writes it into the project's lock
// file, which should not change with every session.
func (c situation) day() string {
	return c.Now.Add(-c.Age).UTC().Truncate(24 * time.Hour).Format(time.RFC3339)
}

// home is where a document goes. Some tools look under XDG_CONFIG_HOME.
func (c situation) home(d document) string {
	if d.xdg == "" || c.ConfigHome == "" {
		return d.path
	}
	return strings.TrimSuffix(c.ConfigHome, "/") + "/" + d.xdg
}

// list writes names as a JSON array, which is YAML and TOML as well.
func list(names []string) string {
	b, err := json.Marshal(names)
	if err != nil {
		panic(err) // strings always marshal
	}
	return string(b)
}

// builds is pnpm's map of the packages that may run scripts.
func builds(names []string) string {
	pairs := make([]string, len(names))
	for i, name := range names {
		pairs[i] = strconv.Quote(name) + ":true"
	}
	return "{" + strings.Join(pairs, ",") + "}"
}

// overrides says how an exempt package gets past a tool that has no setting for it.
func (c situation) overrides() []string {
	var notes []string
	for _, name := range c.pypi {
		if c.alone() {
			notes = append(notes, fmt.Sprintf("pip, uv: no setting exempts %s from the age; for one call: pip install --uploaded-prior-to=%s, uv add --exclude-newer-package %s=%s",
				name, c.now(), name, c.now()))
		}
		if c.silent() {
			notes = append(notes, fmt.Sprintf("pip: no setting exempts %s from wheels only; for one call: pip install --only-binary=:none: %s", name, name))
		}
	}
	return notes
}

func (c situation) now() string { return c.Now.UTC().Truncate(time.Second).Format(time.RFC3339) }
