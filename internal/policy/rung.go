package policy

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"ringfence.dev/ringfence/internal/fault"
)

// The ways in which a container is asked for.
const (
	UsualContainer    = "usual"
	ConfinedContainer = "confined" // the engine keeps its own profile
)

// SoftwareAccel lets software make the processor of a virtual machine.
const SoftwareAccel = "tcg"

const hardwareAccel = "kvm"

// accels are what can make it.
func accels() []string { return []string{hardwareAccel, SoftwareAccel} }

// height ranks a rung. What was not written is at the bottom.
func height(use *Rule) int {
	if use == nil {
		return 0
	}
	return slices.Index(rungs, use.Value)
}

// allowedRungs are those that a list of [require] is content with: those in it, and every
// one above all of them. Another machine is above none: its walls are its word, so it is
// allowed only where it is named. Nil means any.
func (l List) allowedRungs() []string {
	if l == nil {
		return rungs
	}
	top := -1
	for _, r := range l {
		if r.Value != rungOfMachines {
			top = max(top, slices.Index(rungs, r.Value))
		}
	}
	var out []string
	for i, name := range rungs {
		if l.has(name) || top >= 0 && i > top && name != rungOfMachines {
			out = append(out, name)
		}
	}
	return out
}

// AcceptsRung says whether a list of [require] is content with a rung.
func (l List) AcceptsRung(name string) bool { return slices.Contains(l.allowedRungs(), name) }

// AcceptsRung says whether what is demanded is met by a rung as this policy has it. A machine
// whose processor software makes is no more than the walls around its emulator and in it, which are
// native's: who wrote that emulator promises no boundary there.
func (p *Policy) AcceptsRung(name string) bool {
	if p.Emulates(name) {
		name = rungs[0]
	}
	return p.Require.Rung.AcceptsRung(name)
}

// Emulates says whether software makes the processor of a rung.
func (p *Policy) Emulates(name string) bool {
	return name == rungOfGuests && p.Rung.Accel.Text() == SoftwareAccel
}

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

// How long a session on another machine may wait for a lost link.
const (
	usualKeep = 10 * time.Minute
	mostKeep  = 24 * time.Hour
)

const patternKeep = `^([0-9]+(s|m|h))+$`

func checkKeep(v string) error {
	d, err := time.ParseDuration(v)
	if err != nil || d < 0 || d > mostKeep || d%time.Second != 0 {
		return errors.New("is not a time from 0s to 24h, such as 10m")
	}
	return nil
}

// KeepCut is how long a session on another machine waits for a lost link.
func (r *Rung) KeepCut() time.Duration {
	if r.Keep == nil {
		return usualKeep
	}
	d, _ := time.ParseDuration(r.Keep.Value) // it was checked when it was read
	return d
}

// checkSum wants a SHA-256.
func checkSum(v string) error {
	if b, err := hex.DecodeString(v); err != nil || len(b) != sha256.Size || strings.ToLower(v) != v {
		return errors.New("is not a SHA-256: 64 lower-case hexadecimal digits")
	}
	return nil
}

// word and size are keys of a rung with their names.
type word struct {
	name string
	at   **Rule
}

type size struct {
	name string
	at   **Limit
}

// words are what is no matter of more or less.
func (r *Rung) words() []word {
	return []word{{"engine", &r.Engine}, {"container", &r.Container}, {"image", &r.Image}, {"runsc", &r.Runsc}, {"runsc-sha256", &r.RunscSum},
		{"gvisor-network", &r.Network}, {"qemu", &r.Qemu}, {"kernel", &r.Kernel}, {"kernel-sha256", &r.KernelSum}, {"modules-sha256", &r.ModulesSum}, {"qemu-sha256", &r.QemuSum},
		{"accel", &r.Accel}, {"ssh", &r.SSH}, {"keep", &r.Keep}}
}

// sizes are those of a virtual machine, which the limits of a session bound.
func (r *Rung) sizes() []size {
	return []size{{"memory", &r.Memory}, {"cpus", &r.CPUs}, {"disk", &r.Disk}}
}

// take lets hold what a ceiling says.
func (r *Rung) take(ceiling *Rung) {
	if ceiling.Accel == nil && height(ceiling.Use) > 0 && r.Accel.Text() == SoftwareAccel {
		r.Accel = &Rule{Value: hardwareAccel, Source: ceiling.Use.Source} // who says that there is to be a machine means one
	}
	own := r.words()
	for i, w := range ceiling.words() {
		if *w.at != nil {
			*own[i].at = *w.at
		}
	}
	sizes := r.sizes()
	for i, w := range ceiling.sizes() {
		if *w.at != nil {
			*sizes[i].at = *w.at
		}
	}
}

// lowered lists what over would lower: a rung in use, or one that is demanded. Which
// program a rung runs is no matter of more or less, so another one counts.
func lowered(base, over *Policy) []Change {
	var out []Change
	have, want := base.Rung.words(), over.Rung.words()
	for i, w := range want {
		if r := *w.at; r != nil && r.Value != (*have[i].at).Text() {
			out = append(out, Change{Section: "rung", Key: w.name, Value: r.Value, Source: r.Source})
		}
	}
	sizes := base.Rung.sizes()
	for i, w := range over.Rung.sizes() {
		if l := *w.at; l != nil && l.Value != (*sizes[i].at).Number() {
			out = append(out, Change{Section: "rung", Key: w.name, Value: strconv.FormatInt(l.Value, 10), Source: l.Source})
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

// rungOfGuests is the rung of virtual machines.
const rungOfGuests = "microvm"

// rungOfMachines is the rung that stands on another machine.
const rungOfMachines = "ssh"

// stays is a project's policy without the wish to be sent to another machine, and that wish:
// who trusts a project has not said where it may go.
func (p *Policy) stays() (*Policy, []Change) {
	if p == nil || p.Rung.Use.Text() != rungOfMachines {
		return p, nil
	}
	out := p.clone()
	out.Rung.Use = nil
	return out, []Change{{Section: "rung", Key: "use", Value: rungOfMachines, Source: p.Rung.Use.Source,
		Never: "no project chooses another machine; you do, with --rung ssh:HOST"}}
}

// UseRung is what the flags --rung, --image and --accel say; nothing, if they are empty. An
// image is a container's.
func UseRung(name, image, accel string) (*Policy, error) {
	p := &Policy{}
	if accel != "" {
		if !slices.Contains(accels(), accel) {
			return nil, fault.New(fault.Usage, "--accel kvm, or --accel tcg", "--accel: %q is not one of %s", accel, strings.Join(accels(), ", "))
		}
		p.Rung.Accel = &Rule{Value: accel, Source: Source{File: "flag --accel"}}
	}
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
