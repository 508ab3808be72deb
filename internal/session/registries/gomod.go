package registries

import (
	"bytes"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/credentials/broker"
	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/registry/gomod"
	"ringfence.dev/ringfence/internal/registry/ready"
	"ringfence.dev/ringfence/internal/session/launch"
)

// modules leads the go command to its door.
func (ds *doors) modules() error {
	s, err := gomod.Read(gomod.Host{Getenv: ds.Getenv, Home: ds.User.Home, ConfigHome: ds.ConfigHome(), Goroot: ds.goroot(), Unsafe: ds.AgentWrites}, builtinProxy())
	if err != nil {
		ds.Warn(err.Error() + ": modules are not fetched")
		ds.Set("registry", "GOPROXY", "off")
		return nil
	}
	if ds.offline && s.Rest == "direct" {
		s.Rest = "off"
	}
	inside := s.Inside(broker.Endpoint + "/go")
	for _, name := range slices.Sorted(maps.Keys(inside)) {
		ds.Set("registry", name, inside[name])
	}
	if len(s.Proxies) == 0 {
		return nil
	}
	var named []*place
	for _, p := range s.Proxies {
		if !s.Named {
			ds.shut(p.URL)
		}
		named = append(named, ds.place(p.URL, byUser(s.Named)))
	}
	gathered := ds.readyModules(s, named)
	ds.Brokered.Sites = append(ds.Brokered.Sites, func(g launch.Gateway, _ *broker.Broker) (broker.Site, error) {
		d := &gomod.Door{NoProxy: s.Unproxied(), GoSum: ds.goSum, Store: ds.store, Cache: s.Cache, Brake: ds.brake, Refused: ds.refused(g, "go"), Ready: gathered}
		for i, p := range s.Proxies {
			d.Proxies = append(d.Proxies, gomod.Proxy{Site: named[i].site(g), Or: p.Or, Store: named[i].store()})
		}
		if name, key, at, ok := s.Database(); ok {
			db := &gomod.SumDB{Name: name, Key: key, NoSum: s.Unsummed(), Store: ds.store}
			// One that the user placed elsewhere is the user's word, as a proxy is.
			db.Direct = ds.place(at, byUser(strings.Contains(s.SumDB, " "))).site(g)
			db.Join(d)
		}
		return broker.Site{Prefix: "/go", Handler: d}, nil
	})
	return nil
}

// readyModules shows what is ready below the module cache. The host's own cache lends to
// sessions what the door names for them, so that it is a part of the judgement.
func (ds *doors) readyModules(s gomod.Settings, named []*place) *ready.Gathering {
	var places []judged
	for i, p := range named {
		places = append(places, p.judged(strconv.FormatBool(s.Proxies[i].Or)))
	}
	return ds.ready("go", "go/pkg", "mod", 0, places, s.Unproxied(), s.Unsummed(), s.SumDB, s.Cache)
}

// shut closes the public proxy to who would go past the door. One that the user names may
// have more than modules at its host; the rules say who reaches that.
func (ds *doors) shut(u *url.URL) {
	if name, err := address.ParseName(u.Hostname()); err == nil && u.Scheme == "https" {
		ds.Brokered.Closed = append(ds.Brokered.Closed, launch.ShutHost(name, "modules come by the registry door: GOPROXY="+broker.Endpoint+"/go"))
	}
}

// builtinProxy is what Go comes with where no go.env says so: the name that the group of
// Go's hosts covers.
func builtinProxy() string {
	for _, h := range policy.GroupHosts("go") {
		if suffix, ok := strings.CutPrefix(h, "*"); ok {
			return "https://proxy" + suffix + ",direct"
		}
	}
	return "direct"
}

// goroot finds the go command that the host would start.
func (ds *doors) goroot() string {
	path, err := ds.Program("go")
	if err != nil {
		return ""
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	return filepath.Dir(filepath.Dir(real))
}

const maxGoSum = 16 << 20

// goSum is what the project's own files prove, as they are now: where the agent starts
// and above, as far as the workspace goes.
func (ds *doors) goSum() []byte {
	var all [][]byte
	for _, ws := range ds.Workspaces {
		dir := ws.Path
		if file.Within(ds.Dir, ws.Path) {
			dir = ds.Dir
		}
		for ; file.Within(dir, ws.Path); dir = filepath.Dir(dir) {
			for _, name := range []string{"go.sum", "go.work.sum"} {
				if data, err := file.Read(filepath.Join(dir, name), maxGoSum, unix.O_NOFOLLOW); err == nil {
					all = append(all, data)
				}
			}
			if dir == ws.Path {
				break
			}
		}
	}
	return bytes.Join(all, []byte("\n"))
}

// netrc is where the host's programs look for logins.
func (ds *doors) netrc() string {
	if p := ds.Getenv("NETRC"); filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(ds.User.Home, ".netrc")
}

// bare is a URL without its login, which may be in its query too, and without the port that
// is meant where none is said: one place has one spelling.
func bare(u *url.URL) *url.URL {
	c := *u
	c.User, c.Host = nil, strings.ToLower(u.Host)
	c.RawQuery, c.ForceQuery, c.Fragment, c.RawFragment = "", false, "", ""
	if port := map[string]string{"https": ":443", "http": ":80"}[strings.TrimPrefix(u.Scheme, "sparse+")]; port != "" {
		c.Host = strings.TrimSuffix(strings.TrimSuffix(c.Host, port), ":")
	}
	return &c
}
