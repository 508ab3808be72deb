package policy

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"ringfence.dev/ringfence/internal/fault"
)

// The ways in which a container is asked for.
const (
	UsualContainer    = "usual"
	ConfinedContainer = "confined" // the engine keeps its own profile
)

// height ranks a rung. What was not written is at the bottom.
func height(use *Rule) int {
	if use == nil {
		return 0
	}
	return slices.Index(rungs, use.Value)
}

// allowedRungs are those that a list of [require] is content with: those in it, and every
// one above all of them. Nil means any.
func (l List) allowedRungs() []string {
	if l == nil {
		return rungs
	}
	top := -1
	for _, r := range l {
		top = max(top, slices.Index(rungs, r.Value))
	}
	var out []string
	for i, name := range rungs {
		if l.has(name) || top >= 0 && i > top {
			out = append(out, name)
		}
	}
	return out
}

// AcceptsRung says whether a list of [require] is content with a rung.
func (l List) AcceptsRung(name string) bool { return slices.Contains(l.allowedRungs(), name) }

// tightenRung takes the higher rung, and demands what both demand.
func tightenRung(out, over *Policy) {
	if over.Rung.Use != nil && height(over.Rung.Use) > height(out.Rung.Use) {
		out.Rung.Use = over.Rung.Use
	}
	if over.Require.Rung == nil {
		return
	}
	had, wants := out.Require.Rung.allowedRungs(), over.Require.Rung.allowedRungs()
	both := List{}
	for _, name := range had {
		if slices.Contains(wants, name) {
			both = append(both, Rule{Value: name, Source: over.Require.sourceOf(name)})
		}
	}
	out.Require.Rung = both
}

// sourceOf is where a rung is demanded, or what allows it by being below.
func (r Require) sourceOf(name string) Source {
	src := Source{}
	for _, rule := range r.Rung {
		if src = rule.Source; rule.Value == name {
			break
		}
	}
	return src
}

// checkProgram wants the path of a program.
func checkProgram(v string) error {
	if !filepath.IsAbs(v) || filepath.Clean(v) != v {
		return errors.New("is not a clean absolute path")
	}
	return nil
}

// CheckImage wants the name of an image, as engines write it.
func CheckImage(v string) error {
	if !imageName().MatchString(v) || len(v) > 512 {
		return errors.New("is not the name of an image")
	}
	return nil
}

var imageName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._/:-]*(@sha256:[0-9a-f]{64})?$`)
})

// patternMachine is what a machine of the rung ssh may be called. No option of ssh has this
// form, and no shell finds anything in it.
const patternMachine = `^([A-Za-z0-9_][A-Za-z0-9_.-]{0,63}@)?[A-Za-z0-9][A-Za-z0-9_.-]{0,252}$`

var machineName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(patternMachine) })

// CheckMachine wants the name of a machine, as ssh knows it.
func CheckMachine(v string) error {
	if !machineName().MatchString(v) {
		return errors.New("is not the name of a machine: write HOST or USER@HOST, and the rest into ~/.ssh/config")
	}
	return nil
}

// checkSum wants a SHA-256.
func checkSum(v string) error {
	if b, err := hex.DecodeString(v); err != nil || len(b) != sha256.Size || strings.ToLower(v) != v {
		return errors.New("is not a SHA-256: 64 lower-case hexadecimal digits")
	}
	return nil
}

// lowered lists what over would lower: a rung in use, or one that is demanded. Which
// program a rung runs is no matter of more or less, so another one counts.
func lowered(base, over *Policy) []Change {
	var out []Change
	for _, w := range []struct {
		name       string
		have, want *Rule
	}{{"engine", base.Rung.Engine, over.Rung.Engine}, {"container", base.Rung.Container, over.Rung.Container}, {"image", base.Rung.Image, over.Rung.Image}, {"runsc", base.Rung.Runsc, over.Rung.Runsc}, {"runsc-sha256", base.Rung.RunscSum, over.Rung.RunscSum}, {"gvisor-network", base.Rung.Network, over.Rung.Network}, {"ssh", base.Rung.SSH, over.Rung.SSH}} {
		if w.want != nil && w.want.Value != w.have.Text() {
			out = append(out, Change{Section: "rung", Key: w.name, Value: w.want.Value, Source: w.want.Source})
		}
	}
	if use := over.Rung.Use; use != nil && height(use) < height(base.Rung.Use) {
		out = append(out, Change{Section: "rung", Key: "use", Value: use.Value, Source: use.Source})
	}
	if over.Require.Rung == nil {
		return out
	}
	had := base.Require.Rung.allowedRungs()
	for _, r := range over.Require.Rung {
		if !slices.Contains(had, r.Value) {
			out = append(out, Change{Section: "require", Key: "rung", Value: r.Value, Source: r.Source})
		}
	}
	return out
}

// RungOfImages is the rung whose operating system may be an image's.
const RungOfImages = "container"

// rungOfMachines is the rung that stands on another machine.
const rungOfMachines = "ssh"

// UseRung is what the flags --rung and --image say; nothing, if they are empty. An image
// is a container's.
func UseRung(name, image string) (*Policy, error) {
	p := &Policy{}
	if image != "" {
		if err := CheckImage(image); err != nil {
			return nil, fault.New(fault.Usage, "write NAME or NAME@sha256:DIGEST", "--image: %q %w", image, err)
		}
		p.Rung.Image = &Rule{Value: image, Source: Source{File: "flag --image"}}
		name = cmp.Or(name, RungOfImages)
	}
	if name == "" {
		return p, nil
	}
	if host, ok := strings.CutPrefix(name, rungOfMachines+":"); ok {
		if err := CheckMachine(host); err != nil {
			return nil, fault.New(fault.Usage, "for example: --rung ssh:HOST", "--rung: %q %w", host, err)
		}
		name, p.Rung.SSH = rungOfMachines, &Rule{Value: host, Source: Source{File: "flag --rung"}}
	}
	if !slices.Contains(rungs, name) {
		return nil, fault.New(fault.Usage, "`ringfence rungs` lists them", "--rung: %q is not one of %s", name, strings.Join(rungs, ", "))
	}
	p.Rung.Use = &Rule{Value: name, Source: Source{File: "flag --rung"}}
	return p, nil
}
