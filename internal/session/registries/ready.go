package registries

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/registry/ready"
	"ringfence.dev/ringfence/internal/sandbox/rung"
	"ringfence.dev/ringfence/internal/session/launch"
)

// judgement is all that decides what a door hands out. Sessions for which it is the same are
// shown what the door handed out to any of them.
type judgement struct {
	Registries []judged
	Settings   []string // what else the door goes by
	Age        time.Duration
	Allow      []string
	Deny       []string
	Mode       string
	Addresses  []string // rules about them, whole
}

// judged is a registry as a session asks it.
type judged struct {
	Name   string
	Login  string // its digest: another one may read something else
	By     namer
	Closed string
	Scopes []string
	Rules  []string // about its host
}

// lasts is for how long npm's view goes by what a registry said: it may take a version back,
// and its door asks again each minute. What a module is does not change.
const lasts = 24 * time.Hour

// ready shows what was handed out before below a private directory of HOME, and gathers more
// of it. Where that directory cannot lie above it, the door is asked for everything.
func (ds *doors) ready(tool, at, sign string, lasts time.Duration, places []judged, settings ...string) *ready.Gathering {
	if _, linked := ds.Rung.(rung.Linked); linked || ds.Rung.Name() != "native" || ds.Own != nil || ds.offline {
		return nil
	}
	s := &ds.Policy.Supply
	j := judgement{Registries: places, Settings: settings, Age: s.MinAge(), Allow: values(s.Allow), Deny: values(s.Deny), Mode: ds.Reach.Mode + " " + ds.Reach.Proxy}
	for _, d := range slices.Concat(ds.Reach.IP, ds.Reach.DenyIP) {
		j.Addresses = append(j.Addresses, d.Text)
	}
	for _, port := range ds.Reach.HostPorts {
		j.Addresses = append(j.Addresses, fmt.Sprint(port))
	}
	v, err := ready.At(ds.Dirs.State, tool, j, lasts)
	if err != nil {
		return nil
	}
	held := v.Hold(time.Now())
	g := v.Gather(held)
	ds.Caches = append(ds.Caches, launch.Cache{At: filepath.Join(ds.User.Home, at), Sign: sign, Held: held})
	ds.Brokered.Done = append(ds.Brokered.Done, g.Publish)
	return g
}

func values(l policy.List) (out []string) {
	for _, r := range l {
		out = append(out, r.Value)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// judged is how a session asks a place.
func (p *place) judged(scopes ...string) judged {
	j := judged{Name: p.name(), By: p.by, Closed: p.closed, Scopes: slices.Sorted(slices.Values(scopes))}
	if p.login != nil {
		value, ok := p.login.read()
		sum := sha256.Sum256([]byte(value))
		j.Login = fmt.Sprintf("%v %x", ok, sum)
	}
	name, err := address.ParseName(p.base.Hostname())
	for _, list := range [][]policy.Entry{p.doors.Reach.Allow, p.doors.Reach.Deny} {
		for _, e := range list {
			if err == nil && e.Rule.Covers(name) {
				j.Rules = append(j.Rules, e.Text)
			}
		}
		j.Rules = append(j.Rules, "") // what allows is not what denies
	}
	return j
}
