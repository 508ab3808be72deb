package session

import (
	"path/filepath"
	"strings"
	"time"

	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/policy/supply"
	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// brakes tells the package managers inside to wait for young releases and to run no
// install scripts. Without a network there is nothing to brake.
func (d *draft) brakes() error {
	if d.capture == nil || d.opt.Passing {
		return nil
	}
	s := &d.Policy.Supply
	env, files, _ := supply.Settings(supply.Options{Age: s.MinAge(), Scripts: s.ScriptsOn(), Allow: values(s.Allow), Now: time.Now()})
	for _, e := range env {
		d.base = append(d.base, policy.Setting{Name: e.Name, Value: e.Value, Source: policy.Source{File: "[supply]"}})
	}
	for _, f := range files {
		p := f.Path
		if rest, ok := strings.CutPrefix(p, "~/"); ok {
			p = filepath.Join(d.User.Home, rest)
		}
		d.files = append(d.files, plan.File{Dst: p, Data: f.Data, Why: "[supply]: " + f.Tool})
	}
	return nil
}
