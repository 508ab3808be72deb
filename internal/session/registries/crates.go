package registries

import (
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/credentials/broker"
	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/registry/crates"
	"ringfence.dev/ringfence/internal/session/launch"
)

// crateIndex is one that cargo takes crates from.
type crateIndex struct {
	*place
	name address.Name
	path string // of the plain endpoint; "": TLS to its own name ends at the door
}

// rusts are the registries of cargo.
type rusts struct {
	*doors
	home  string // cargo's on the host
	order []*crateIndex
	lines []string // of cargo's settings inside
}

// crates leads cargo to its door. Its lock file names crates.io whatever stands in for
// it, and other registries by their own addresses.
func (ds *doors) crates() {
	rs := &rusts{doors: ds, home: filepath.Join(ds.User.Home, ".cargo")}
	if h := ds.Getenv("CARGO_HOME"); filepath.IsAbs(h) {
		rs.home = h
	}
	s := rs.read()
	builtin := builtinCrates()
	rs.main(s, builtin)
	if !ds.offline {
		rs.add(builtin, "", tools) // whoever names another one: it can be asked all the same
		for _, name := range launch.SortedKeys(s.Registries) {
			rs.other(name, s.Registries[name], s.Tokens[name])
		}
		rs.variables()
	}
	for _, i := range rs.order {
		rs.entrance(i)
	}
	if len(rs.lines) > 0 {
		ds.Put(filepath.Join(ds.User.Home, ".cargo/config.toml"), []byte(strings.Join(rs.lines, "\n")+"\n"), "leads cargo to the host's registries")
	}
}

// builtinCrates is the index that cargo comes with: the name among its group's hosts.
func builtinCrates() *url.URL {
	hosts := policy.GroupHosts("rust")
	at := slices.IndexFunc(hosts, func(h string) bool { return strings.HasPrefix(h, "index.") })
	return &url.URL{Scheme: "https", Host: hosts[at]}
}

// read gathers what cargo's own files say; what the agent can write opens nothing.
func (rs *rusts) read() crates.Settings {
	s := crates.Settings{Registries: map[string]string{}, Tokens: map[string]string{}}
	if data, ok := rs.file("config.toml", "config"); ok {
		var err error
		if s, err = crates.Read(data); err != nil {
			rs.Warn("cargo's config.toml: " + err.Error())
		}
	}
	if data, ok := rs.file("credentials.toml", "credentials"); ok && s.Tokens != nil {
		if err := s.Credentials(data); err != nil {
			rs.Notice("cargo's credentials.toml: " + err.Error() + ": no login is lent from it")
		}
	}
	for name := range s.Registries {
		if v := rs.Getenv("CARGO_REGISTRIES_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_")) + "_TOKEN"); v != "" {
			s.Tokens[name] = v
		}
	}
	return s
}

// file reads the first of cargo's files that is there, by its names.
func (rs *rusts) file(names ...string) ([]byte, bool) {
	for _, name := range names {
		path := filepath.Join(rs.home, name)
		if data, err := file.Read(path, maxRC, 0); err == nil {
			return data, !rs.AgentWrites(path)
		}
	}
	return nil, false
}

// main leads to what stands for crates.io.
func (rs *rusts) main(s crates.Settings, builtin *url.URL) {
	at, by := builtin, tools
	if s.Registry != "" && s.Index == "" { // where the host would not ask crates.io, nobody does
		rs.replace(nowhere)
		return
	}
	if s.Index != "" {
		u, err := crates.ParseIndex(s.Index)
		if err != nil {
			rs.Warn("what stands in for crates.io on this host is " + err.Error() + ": no door leads there, and no release is held back")
			rs.replace(s.Index)
			return
		}
		at, by = u, user
	}
	i := rs.add(at, s.Tokens[s.Registry], by)
	if by == user || i.path != "" {
		rs.replace("sparse+" + i.at() + "/")
	}
}

// nowhere is an index that nobody serves.
var nowhere = "sparse+" + broker.Endpoint + "/crates-elsewhere/"

// replace has cargo ask there instead of crates.io. What cannot be read leads nowhere: who
// knows what of it is a login.
func (rs *rusts) replace(index string) {
	if u, err := url.Parse(index); err == nil && u.Opaque == "" && (u.Host != "" || u.Scheme == "file") {
		index = bare(u).String()
	} else {
		index = nowhere
	}
	rs.lines = append(rs.lines, "[source.crates-io]", `replace-with = "ringfence"`, "[source.ringfence]", fmt.Sprintf("registry = %q", index))
}

// other is a registry that dependencies name. Cargo looks for it at its own address: there
// is no door to one that has no name of its own.
func (rs *rusts) other(name, index, token string) {
	u, err := crates.ParseIndex(index)
	if err != nil {
		rs.Warn("the registry " + name + " of cargo is " + err.Error() + ", and is not asked")
		return
	}
	rs.lines = append(rs.lines, "[registries."+name+"]", fmt.Sprintf("index = %q", "sparse+"+bare(u).String()+"/"))
	if _, err := address.ParseName(u.Hostname()); err == nil && u.Scheme == "https" {
		rs.add(u, token, user)
	}
}

// variables are registries that the environment names: cargo finds them by the same names
// inside, without a login.
func (rs *rusts) variables() {
	for _, e := range rs.Asked.Environ {
		name, index, _ := strings.Cut(e, "=")
		of, ok := strings.CutSuffix(name, "_INDEX")
		if !ok || !strings.HasPrefix(of, "CARGO_REGISTRIES_") {
			continue
		}
		u, err := crates.ParseIndex(index)
		if err != nil {
			rs.Warn(name + " is " + err.Error() + ", and is not asked")
			continue
		}
		rs.Set("registry", name, "sparse+"+bare(u).String()+"/")
		if _, err := address.ParseName(u.Hostname()); err == nil && u.Scheme == "https" {
			rs.add(u, rs.Getenv(of+"_TOKEN"), user)
		}
	}
}

// add takes an index in, once.
func (rs *rusts) add(u *url.URL, token string, by namer) *crateIndex {
	for _, i := range rs.order {
		if i.base.String() == bare(u).String() {
			return i
		}
	}
	i := &crateIndex{place: rs.place(u, by)}
	if token != "" {
		i.login = &login{"cargo's token for " + u.Host, broker.AsWord, func() (string, bool) { return token, true }}
	}
	var err error
	if i.name, err = address.ParseName(u.Hostname()); err != nil || u.Scheme != "https" || rs.offline {
		i.path = "/crates"
	}
	rs.order = append(rs.order, i)
	return i
}

// at is where cargo inside finds an index.
func (i *crateIndex) at() string {
	if i.path != "" {
		return broker.Endpoint + i.path
	}
	return i.base.String()
}

// entrance serves an index: at the plain endpoint, or where TLS to its name ends.
func (rs *rusts) entrance(i *crateIndex) {
	door := func(g launch.Gateway) *crates.Door {
		caches, _ := filepath.Glob(filepath.Join(rs.home, "registry/cache/*"))
		return &crates.Door{Site: i.site(g), Self: i.at(), Named: i.path == "", Caches: caches, Store: rs.store, Room: rs.room, Brake: rs.brake, Refused: rs.refused(g, "crates"), Left: rs.left(g, "crates")}
	}
	if i.path == "" {
		rs.serve(i.name, i.base, i.by, func(g launch.Gateway) taker { return door(g) })
		return
	}
	rs.Brokered.Sites = append(rs.Brokered.Sites, func(g launch.Gateway, _ *broker.Broker) (broker.Site, error) {
		return broker.Site{Prefix: i.path, Handler: door(g)}, nil
	})
}
