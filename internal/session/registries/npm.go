package registries

import (
	"cmp"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/credentials/broker"
	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/registry/npm"
	"ringfence.dev/ringfence/internal/registry/ready"
	"ringfence.dev/ringfence/internal/session/launch"
)

// npmRegistry is one that the package managers of node use.
type npmRegistry struct {
	*place
	scopes []string // "" is for all packages that have no other
	name   address.Name
	path   string // of the plain endpoint; "": TLS to its own name ends at the door
}

// nodes are the registries of node's package managers.
type nodes struct {
	*doors
	rc    npm.RC // the user's own words, which have the logins
	found map[string]*npmRegistry
	order []*npmRegistry
	says  map[string]string // by scope: what the user's settings say
	yarn  map[string]string // the same, of yarn's own

	gathered *ready.Gathering // what later sessions find in npm's cache
}

// packages leads npm, pnpm, yarn and bun to their door.
func (ds *doors) packages() {
	ns := &nodes{doors: ds, found: map[string]*npmRegistry{}, says: map[string]string{}, yarn: map[string]string{}}
	said, env := ns.read()
	for _, scope := range launch.SortedKeys(ns.says) {
		ns.add(scope, ns.says[scope], user)
	}
	if env != "" {
		ns.add("", env, user)
	}
	for _, scope := range launch.SortedKeys(ns.yarn) {
		ns.add(cmp.Or(scope, forYarn), ns.yarn[scope], user)
	}
	for i, at := range builtinNodes() { // whoever names another one: they can be asked all the same
		if i == 0 && env == "" && said[""] == "" && ns.says[""] == "" {
			ns.add("", at, tools)
		} else if !ds.offline {
			ns.add("builtin-"+strconv.Itoa(i), at, tools)
		}
	}
	for _, scope := range launch.SortedKeys(said) {
		if own := ns.says[scope]; scope != "" && own != "" && own != said[scope] {
			ns.Warn("the project's settings take " + scope + " from another registry than you do: yours is asked")
			continue // a package of the company's must not be taken from whoever took its name
		}
		if env == "" || scope != "" {
			by := project
			if slices.Contains(ns.values(), said[scope]) {
				by = user
			}
			ns.add(scope, said[scope], by)
		}
	}
	ns.tell(env != "" || ns.says[""] != "", said)
	ns.tellYarn(said)
	var places []judged
	for _, r := range ns.order {
		places = append(places, r.judged(r.scopes...))
	}
	ns.gathered = ns.ready("npm", ".npm", "_cacache", lasts, places, ns.cache())
	for _, r := range ns.order {
		ns.entrance(r)
	}
	if slices.ContainsFunc(ns.order, func(r *npmRegistry) bool { return r.path != "" }) {
		ns.stray()
	}
}

func (ns *nodes) values() (out []string) {
	for _, v := range ns.says {
		out = append(out, v)
	}
	return out
}

const maxRC = 256 << 10

// read gathers what the host's files say: what the agent can write counts as the project's.
func (ns *nodes) read() (said map[string]string, env string) {
	said, ns.rc = map[string]string{}, npm.RC{}
	for _, path := range ns.NPMFiles() {
		if data, ok := ns.ClientFile(path); ok {
			rc := npm.ParseRC(data, ns.Getenv)
			merge(ns.rc, rc)
			merge(ns.says, rc.Registries())
		} else {
			merge(said, npm.ParseRC(data, nil).Registries())
		}
	}
	ns.readYarn()
	for _, dir := range ns.projectDirs() {
		if data, err := file.Read(filepath.Join(dir, ".npmrc"), maxRC, unix.O_NOFOLLOW); err == nil {
			merge(said, npm.ParseRC(data, nil).Registries())
		}
		ns.projectYarn(dir, said)
	}
	return said, ns.NPMVariable("registry")
}

func (ns *nodes) projectDirs() []string {
	dirs := ns.Paths()
	if !slices.Contains(dirs, ns.Dir) {
		dirs = append(dirs, ns.Dir)
	}
	return dirs
}

func merge[M ~map[string]string](to, from M) {
	for key, value := range from {
		to[key] = value
	}
}

// builtinNodes are the registries that npm and yarn come with: names that the group of
// their hosts covers.
func builtinNodes() (out []string) {
	for _, h := range policy.GroupHosts("npm") {
		if suffix, ok := strings.CutPrefix(h, "*"); ok {
			out = append(out, "https://registry"+suffix)
		}
	}
	return out
}

// add takes a registry in, once for all scopes that it is for.
func (ns *nodes) add(scope, at string, by namer) {
	u, err := npm.ParseRegistry(at)
	if err != nil {
		ns.Warn("a registry of node's packages is " + err.Error() + ", and is not asked")
		return
	}
	key := bare(u).String()
	r := ns.found[key]
	if r == nil {
		r = &npmRegistry{place: ns.placed(u, by)}
		ns.found[key], ns.order = r, append(ns.order, r)
		if l, ok := ns.rc.Login(u); ok && r.login == nil && (by == user || u.Scheme == "https") { // what only a project names gets none in the clear
			kind := map[bool]string{true: broker.AsBearer, false: broker.AsBasic}[l.Bearer]
			r.login = &login{".npmrc or .yarnrc.yml for " + u.Host, kind, func() (string, bool) { return l.Value, true }}
		}
		if r.name, err = address.ParseName(u.Hostname()); err != nil || u.Scheme != "https" || ns.offline {
			r.path = "/npm"
			if scope != "" {
				r.path = "/npm-" + strings.TrimPrefix(scope, "@")
			}
		}
	}
	if by == user {
		r.by = user
	}
	if !slices.Contains(r.scopes, scope) {
		r.scopes = append(r.scopes, scope)
	}
}

// at is where package managers inside find a registry.
func (r *npmRegistry) at() string {
	if r.path != "" {
		return broker.Endpoint + r.path
	}
	return r.base.String()
}

// tell writes the settings inside, without a login. Where a registry is not what its
// tools come with they are told, and where the door has no name of its own.
func (ns *nodes) tell(own bool, said map[string]string) {
	var lines []string
	for _, r := range ns.order {
		for _, scope := range r.scopes {
			switch {
			case scope == "" && (own || r.path != ""):
				lines = append(lines, "registry="+r.at()+"/")
				if ns.yarn[""] == "" && (said[forYarn] == "" || r.path != "") {
					ns.Set("registry", "YARN_NPM_REGISTRY_SERVER", r.at())
				}
				if r.path != "" { // it outranks a file of the project, whose registry is behind the door
					ns.Set("registry", "npm_config_registry", r.at()+"/")
					ns.Set("registry", "NPM_CONFIG_REGISTRY", r.at()+"/")
					ns.Set("registry", "npm_config_omit_lockfile_registry_resolved", "true")
				}
			case strings.HasPrefix(scope, "@") && (r.path != "" || ns.says[scope] != ""):
				lines = append(lines, scope+":registry="+r.at()+"/")
			}
		}
	}
	if slices.ContainsFunc(ns.order, func(r *npmRegistry) bool { return r.path != "" }) {
		ns.Set("registry", "npm_config_replace_registry_host", "always")
		ns.Set("registry", "YARN_UNSAFE_HTTP_WHITELIST", "127.0.0.1")
	}
	if len(lines) > 0 {
		ns.Put(filepath.Join(ns.User.Home, ".npmrc"), []byte(strings.Join(lines, "\n")+"\n"), "leads npm to the host's registries")
	}
}

// door makes the door of a registry, once there is a gate.
func (ns *nodes) door(r *npmRegistry, g launch.Gateway) *npm.Door {
	d := &npm.Door{Site: r.site(g), Store: r.store(), Room: ns.room, Brake: ns.brake, Refused: ns.refused(g, "npm"), Left: ns.left(g, "npm"), Cache: ns.cache(),
		Other: func(scope string) string { return ns.elsewhere(r, scope) }, Ready: ns.gathered}
	if r.by == project { // which may name any digest, also of what only the user may read
		d.Cache = ""
	}
	if r.path != "" {
		d.Self = r.at()
	}
	if !ns.Policy.Supply.ScriptsOn() {
		d.Skipped = func(name string) {
			g.Record(journal.Record{Kind: journal.Broker, Event: journal.Use, Via: "registry", Name: "npm:" + name, Verdict: journal.Deny, Rule: journal.RuleScripts,
				Reason: "install scripts of " + name + " are not run; a person can allow them: ringfence run --allow-package npm:" + name})
		}
	}
	return d
}

// cache is npm's own on the host.
func (ns *nodes) cache() string {
	if c := ns.NPMVariable("cache"); filepath.IsAbs(c) {
		return c
	}
	return filepath.Join(ns.User.Home, ".npm")
}

// elsewhere is the registry that has a scope, if it is another one: a package of the
// company's must not be taken from whoever took its name.
func (ns *nodes) elsewhere(r *npmRegistry, scope string) string {
	for _, o := range ns.order {
		if o != r && slices.Contains(o.scopes, scope) && !slices.Contains(r.scopes, scope) {
			return o.base.Host
		}
	}
	return ""
}

// entrance serves a registry: at the plain endpoint, or where TLS to its name ends.
func (ns *nodes) entrance(r *npmRegistry) {
	if r.path != "" {
		ns.Brokered.Sites = append(ns.Brokered.Sites, func(g launch.Gateway, _ *broker.Broker) (broker.Site, error) {
			return broker.Site{Prefix: r.path, Handler: ns.door(r, g)}, nil
		})
		return
	}
	ns.serve(r.name, r.base, r.by, func(g launch.Gateway) taker { return ns.door(r, g) })
}

// stray serves files of lock files. npm puts the endpoint in the place of the registry
// that a lock file names, and keeps the path: some versions put the endpoint's own path
// before it, others do not.
func (ns *nodes) stray() {
	ns.Brokered.Sites = append(ns.Brokered.Sites, func(g launch.Gateway, _ *broker.Broker) (broker.Site, error) {
		s := &strays{}
		for _, r := range ns.order {
			s.bases, s.doors, s.paths = append(s.bases, r.base.Path), append(s.doors, ns.door(r, g)), append(s.paths, r.path)
		}
		return broker.Site{Stray: func(r *http.Request) bool {
			return strings.HasSuffix(r.URL.Path, ".tgz") && strings.Contains(r.URL.Path, "/-/")
		}, Handler: s}, nil
	})
}

type strays struct {
	bases, paths []string
	doors        []*npm.Door
}

// ServeHTTP implements http.Handler. The endpoint's own path says which door is meant.
func (s *strays) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, doors := r.URL.Path, s.all()
	for range 4 {
		if s.try(w, r, path, doors) {
			return
		}
		var rest string
		if rest, doors = s.within(path); rest == "" {
			break
		}
		path = rest
	}
	http.NotFound(w, r)
}

func (s *strays) all() (out []int) {
	for i := range s.doors {
		out = append(out, i)
	}
	return out
}

// within is a path without the endpoint's own at its beginning, and the door of that; "" if
// it has none.
func (s *strays) within(path string) (string, []int) {
	for i, p := range s.paths {
		if rest, ok := strings.CutPrefix(path, p+"/"); ok && p != "" {
			return "/" + rest, append([]int{i}, s.all()...)
		}
	}
	return "", nil
}

// try serves a file at a path below one of the registries.
func (s *strays) try(w http.ResponseWriter, r *http.Request, path string, doors []int) bool {
	for _, i := range doors {
		d := s.doors[i]
		rest, ok := strings.CutPrefix(path, s.bases[i])
		if !ok {
			continue
		}
		q := r.WithContext(r.Context())
		u := *r.URL
		u.Path, u.RawPath = rest, ""
		q.URL = &u
		if d.Takes(q) && d.Owns(q) {
			d.ServeHTTP(w, q)
			return true
		}
	}
	return false
}
