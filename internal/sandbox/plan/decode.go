package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"
)

// Bounds of a plan that inside will act on.
const (
	maxOps  = 20000
	maxArgs = 100000
	maxData = 4 << 20

	maxHide   = 50000
	maxLower  = 8 // whose names the kernel takes in one text of at most 255 bytes
	maxTrees  = 100
	maxListen = 100 // so that all descriptors fit one message
)

// Decode reads what Encode wrote, strictly: unknown fields, bytes that no file asks
// for, another version, a relative or unclean destination, an unknown wall or
// operation are errors. The plan shares the bytes.
func Decode(b []byte) (*Plan, error) {
	var p Plan
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		return nil, fmt.Errorf("decode plan: %w", err)
	}
	if err := p.take(b[d.InputOffset():]); err != nil {
		return nil, err
	}
	if err := p.validate(); err != nil {
		return nil, err
	}
	return &p, nil
}

func (p *Plan) validate() error {
	if p.Version != Version {
		return fmt.Errorf("plan version %d, this binary reads %d", p.Version, Version)
	}
	if len(p.Ops) > maxOps {
		return fmt.Errorf("plan has %d operations, at most %d are read", len(p.Ops), maxOps)
	}
	if len(p.Process.Argv) == 0 || len(p.Process.Argv)+len(p.Process.Env) > maxArgs {
		return errors.New("plan has no command, or too long a one")
	}
	for _, list := range [][]Raw{p.Process.Argv, p.Process.Env, {p.Process.Dir}} {
		for _, s := range list {
			if strings.ContainsRune(string(s), 0) {
				return errors.New("a string of the plan holds a NUL byte")
			}
		}
	}
	for _, w := range p.Walls {
		if !known(w) {
			return fmt.Errorf("plan names an unknown wall %q", w)
		}
	}
	for i := range p.Ops {
		if err := p.Ops[i].validate(); err != nil {
			return fmt.Errorf("operation %d: %w", i, err)
		}
	}
	return errors.Join(p.Capture.validate(p.Sentry != nil && p.Sentry.Inside), p.validateTrees(), p.Sentry.validate())
}

func (p *Plan) validateTrees() error {
	// A filter without trees is one that only tells; see Input.Observe.
	if len(p.Trees) > maxTrees || len(p.Trees) > 0 && len(p.Watch) == 0 {
		return fmt.Errorf("the plan has %d trees, and a filter for them of %d bytes", len(p.Trees), len(p.Watch))
	}
	for _, t := range p.Trees {
		for _, s := range []string{string(t.Path), string(t.Layer)} {
			if s != "" && !path.IsAbs(s) {
				return fmt.Errorf("tree at %q, layer %q: not an absolute path", string(t.Path), string(t.Layer))
			}
		}
	}
	return nil
}

// validate wants rules, and routes or a veth pair, but of who only leads to the gate.
func (c *Capture) validate(leads bool) error {
	if c == nil {
		return nil
	}
	// Without rules and routes nothing leads anywhere; one without the other is a mistake.
	if len(c.Listen) == 0 || len(c.Listen) > maxListen || !leads && (len(c.Rules) == 0) != (len(c.Routes) == 0 && c.Veth == nil) {
		return errors.New("the capture has rules without routes, routes without rules, or no or too many ports")
	}
	if !c.Gate.V4.Is4() || !c.Gate.V6.Is6() || c.Gate.V6.Is4In6() || c.Gate.V6.Zone() != "" {
		return fmt.Errorf("the gate cannot stand at %s and %s", c.Gate.V4, c.Gate.V6)
	}
	if c.Veth != nil && (len(c.Veth.Pair) == 0 || len(c.Veth.Quiet) == 0 || len(c.Veth.Near) != 2 || len(c.Veth.Far) != 2) {
		return errors.New("the veth pair has not two ends of two families")
	}
	for _, l := range c.Listen {
		if l.Network != "tcp" && l.Network != "udp" || l.Port < 1 || l.Port > 65535 || l.Name == "" {
			return fmt.Errorf("cannot listen on %s port %d for %q", l.Network, l.Port, l.Name)
		}
	}
	return nil
}

func known(w Wall) bool {
	for _, k := range AllWalls() {
		if w == k {
			return true
		}
	}
	return false
}

func (o *Op) validate() error {
	dst := string(o.Dst)
	if !path.IsAbs(dst) || path.Clean(dst) != dst || strings.ContainsRune(dst, 0) {
		return fmt.Errorf("destination %q is not a clean absolute path", dst)
	}
	if len(o.Data) > maxData {
		return fmt.Errorf("%q holds %d bytes, at most %d", dst, len(o.Data), maxData)
	}
	switch o.Do {
	case DoBind, DoDevice:
		src := string(o.Src)
		if !path.IsAbs(src) || strings.ContainsRune(src, 0) {
			return fmt.Errorf("source %q is not an absolute path", src)
		}
	case DoCover:
		return o.validateCover()
	case DoLayer:
		for _, s := range []string{string(o.Src), string(o.Upper), string(o.Work)} {
			if !path.IsAbs(s) || strings.ContainsRune(s, 0) {
				return fmt.Errorf("layer %q: %q is not an absolute path", dst, s)
			}
		}
	case DoCache:
		if len(o.Lower) == 0 || len(o.Lower) > maxLower {
			return fmt.Errorf("cache %q has %d directories below, at least 1 and at most %d are shown", dst, len(o.Lower), maxLower)
		}
		for _, s := range append([]Raw{o.Src, o.Upper, o.Work}, o.Lower...) {
			if !path.IsAbs(string(s)) || strings.ContainsRune(string(s), 0) {
				return fmt.Errorf("cache %q: %q is not an absolute path", dst, string(s))
			}
		}
	case DoTmpfs:
		if o.Size <= 0 {
			return fmt.Errorf("tmpfs %q has no size", dst)
		}
	case DoDir, DoFile, DoSymlink, DoPts, DoProc, DoMask, DoReadOnly:
	default:
		return fmt.Errorf("unknown operation %q", o.Do)
	}
	return nil
}

// validateCover wants names that lie below the source.
func (o *Op) validateCover() error {
	src := string(o.Src)
	if !path.IsAbs(src) || strings.ContainsRune(src, 0) {
		return fmt.Errorf("source %q is not an absolute path", src)
	}
	if len(o.Hide) > maxHide {
		return fmt.Errorf("%q hides %d names, at most %d", string(o.Dst), len(o.Hide), maxHide)
	}
	for _, n := range o.Hide {
		if !filepath.IsLocal(string(n)) || path.Clean(string(n)) != string(n) || n == "." || strings.ContainsRune(string(n), 0) {
			return fmt.Errorf("%q hides %q, which is no name below it", string(o.Dst), string(n))
		}
	}
	return nil
}
