package registries

import (
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/credentials/broker"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/registry/door"
	"ringfence.dev/ringfence/internal/registry/mirrors"
	"ringfence.dev/ringfence/internal/session/launch"
)

// mirrored are the mirrors of package managers that have no door: what is below the
// address of one is read as it is, with the host's login.
type mirrored struct {
	*doors
	order []*mirror
}

type mirror struct {
	*place
	name address.Name
	path string // of the plain endpoint; "": TLS to its own name ends at the broker
}

// mirrors leads Maven, Gradle, gem, bundler, composer and apt to where the host's own
// settings say.
func (ds *doors) mirrors() {
	if ds.offline {
		return // nothing of it is kept
	}
	ms := &mirrored{doors: ds}
	ms.maven()
	ms.gradle()
	ms.gems()
	ms.bundle()
	ms.composer()
	ms.apt()
	for _, m := range ms.order {
		ms.entrance(m)
	}
}

// read reads the first of some files of the host that is there.
func (ms *mirrored) read(paths ...string) (data []byte, path string) {
	for _, path := range paths {
		if data, ok := ms.ClientFile(path); ok {
			return data, path
		}
	}
	return nil, ""
}

// left says once what of a client's settings is not carried. It stops nobody at the start:
// most projects do not use the client.
func (ms *mirrored) left(what, why string) { ms.Notice(what + ": " + why) }

// unlent names a login that is not lent, with what lends it.
func (ms *mirrored) unlent(what, why, host string) {
	if !ms.lent(host) {
		ms.left(what, fmt.Sprintf("%s: lend it by `ringfence secret set NAME --use basic --host %s/PATH`", why, host))
	}
}

// add takes a mirror in, once, and says where clients inside find it. A public host is the
// rules' to open, and gets no login by such settings: far more than packages lies there.
func (ms *mirrored) add(what, at string, l mirrors.Login) (inside string, ok bool) {
	u, err := mirrors.ParseURL(at)
	if err != nil {
		ms.left(what, "an address is "+err.Error()+", and is not carried")
		return "", false
	}
	if public(u.Hostname()) {
		if u.User != nil || l.Password != "" {
			ms.unlent(what, "the login of "+u.Host+" is not lent, since that host has more than packages", u.Host)
		}
		return bare(u).String(), true
	}
	at = bare(u).String()
	for _, m := range ms.order {
		if m.base.String() == at {
			return m.at(), true
		}
	}
	m := &mirror{place: ms.placed(u, user)} // none of these clients reads netrc
	if l.Password != "" {
		kind := map[bool]string{true: broker.AsBearer, false: broker.AsBasic}[l.Bearer]
		m.login = &login{what + " for " + u.Host, kind, func() (string, bool) { return l.Value(), true }}
	}
	if m.name, err = address.ParseName(u.Hostname()); err != nil || u.Scheme != "https" {
		m.path = fmt.Sprintf("/mirror-%d", len(ms.order))
	}
	ms.order = append(ms.order, m)
	with := ""
	if m.login != nil {
		with = ", with the login that stands there"
	}
	ms.Notice(fmt.Sprintf("%s: what is below %s is read%s", what, at, with))
	return m.at(), true
}

// public holds for a host of a group: of a registry, a forge or an archive that everybody
// uses.
func public(host string) bool {
	name, err := address.ParseName(host)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(policy.Groups(), func(g policy.Group) bool {
		return slices.ContainsFunc(g.Hosts, func(h string) bool {
			h, _, _ = strings.Cut(h, ":")
			suffix, star := strings.CutPrefix(h, "*")
			return h == string(name) || star && strings.HasSuffix(string(name), suffix)
		})
	})
}

func (m *mirror) at() string {
	if m.path != "" {
		return broker.Endpoint + m.path
	}
	return m.base.String()
}

// entrance serves a mirror: at the plain endpoint, or where TLS to its name ends.
func (ms *mirrored) entrance(m *mirror) {
	if m.path == "" {
		ms.hosts = append(ms.hosts, servedHost{m.name, m.base, user, func(g launch.Gateway) taker { return m.reader(g) }, true})
		return
	}
	ms.Brokered.Sites = append(ms.Brokered.Sites, func(g launch.Gateway, _ *broker.Broker) (broker.Site, error) {
		return broker.Site{Prefix: m.path, Handler: m.reader(g)}, nil
	})
}

// reader passes on what is read below a mirror's address, and nothing else.
type reader struct {
	below string
	pass  http.Handler
}

func (m *mirror) reader(g launch.Gateway) *reader {
	next := m.site(g).Trip
	if m.path == "" {
		return &reader{m.base.Path, broker.Reading(&url.URL{Scheme: m.base.Scheme, Host: m.base.Host}, next)}
	}
	return &reader{"", broker.Reading(m.base, trip(func(r *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(r)
		if err == nil {
			m.turn(resp.Header, r.URL)
		}
		return resp, err
	}))}
}

// turn leads to the endpoint what leads to the mirror itself.
func (m *mirror) turn(h http.Header, from *url.URL) {
	u, err := from.Parse(h.Get("Location"))
	if h.Get("Location") == "" || err != nil {
		return
	}
	if rest, ok := strings.CutPrefix(bare(u).String(), m.base.String()); ok && (rest == "" || rest[0] == '/') {
		h.Set("Location", m.at()+rest)
	}
}

// Takes holds for what is read below the address.
func (d *reader) Takes(r *http.Request) bool {
	_, ok := d.rest(r)
	return ok && !door.Writes(r)
}

// rest is what is below the address. Some servers cut what follows a semicolon off a part of
// a path before they read it: "..;x" is another spelling of "..".
func (d *reader) rest(r *http.Request) (string, bool) {
	rest, ok := door.Below(r, d.below)
	return rest, ok && !strings.Contains(rest, ";")
}

// ServeHTTP implements http.Handler. What is sent on is the path in its one spelling, by
// which it was judged: apt asks for "./Packages".
func (d *reader) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rest, ok := d.rest(r)
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		door.Text(w, http.StatusForbidden, "the mirror is only read")
		return
	case !ok:
		door.Text(w, http.StatusForbidden, "packages are asked for below the address of the mirror here")
		return
	}
	q, u := r.WithContext(r.Context()), *r.URL
	u.Path, u.RawPath = d.below+rest, ""
	if strings.HasSuffix(r.URL.Path, "/") && rest != "/" {
		u.Path += "/"
	}
	q.URL = &u
	d.pass.ServeHTTP(w, q)
}

// maven carries mirrors and the repositories of profiles that are always on.
func (ms *mirrored) maven() {
	data, path := ms.read(filepath.Join(ms.User.Home, ".m2/settings.xml"))
	if path == "" {
		return
	}
	m, err := mirrors.ReadMaven(data, ms.Getenv)
	if err != nil {
		ms.left("~/.m2/settings.xml", err.Error()+": nothing of it is carried")
		return
	}
	const what = "Maven's settings.xml"
	var out mirrors.Maven
	carry := func(id, at string) (string, bool) {
		if u, err := mirrors.ParseURL(at); err == nil && slices.Contains(m.Encrypted, id) {
			ms.unlent(what, "the password of "+id+" is encrypted, and only Maven can read it", u.Host)
		}
		return ms.add(what, at, m.Logins[id])
	}
	for _, x := range m.Mirrors {
		if at, ok := carry(x.ID, x.URL); ok {
			out.Mirrors = append(out.Mirrors, mirrors.MavenMirror{ID: x.ID, Of: x.Of, URL: at})
		}
	}
	for _, r := range m.Repositories {
		if at, ok := carry(r.ID, r.URL); ok {
			r.URL = at
			out.Repositories = append(out.Repositories, r)
		}
	}
	if len(out.Mirrors)+len(out.Repositories) > 0 {
		ms.Put(filepath.Join(ms.User.Home, ".m2/settings.xml"), out.Write(), "leads Maven to the host's mirrors")
	}
}

// gradle carries properties that are addresses. A script of Gradle's is a program.
func (ms *mirrored) gradle() {
	home := filepath.Join(ms.User.Home, ".gradle")
	if h := ms.Getenv("GRADLE_USER_HOME"); filepath.IsAbs(h) {
		home = h
	}
	scripts, _ := filepath.Glob(filepath.Join(home, "init.d/*.gradle*")) // the pattern is ours
	for _, name := range []string{"init.gradle", "init.gradle.kts"} {
		if _, ok := ms.ClientFile(filepath.Join(home, name)); ok {
			scripts = append(scripts, filepath.Join(home, name))
		}
	}
	if len(scripts) > 0 {
		ms.left("Gradle's "+filepath.Base(scripts[0]), "it is a program and is not carried: name its mirror in ~/.gradle/gradle.properties (corpMavenUrl=https://…), or in the project")
	}
	data, _ := ms.read(filepath.Join(home, "gradle.properties"))
	var out []mirrors.GradleURL
	for _, g := range mirrors.ReadGradle(data) {
		if at, ok := ms.add("gradle.properties", g.URL, g.Login); ok {
			g.URL = at
			out = append(out, g)
		}
	}
	if len(out) > 0 {
		ms.Put(filepath.Join(ms.User.Home, ".gradle/gradle.properties"), mirrors.WriteGradle(out), "leads Gradle to the host's mirrors")
	}
}

// gems carries the sources of gem.
func (ms *mirrored) gems() {
	data, path := ms.read(ms.Getenv("GEMRC"), filepath.Join(ms.User.Home, ".gemrc"), filepath.Join(ms.ConfigHome(), "gem/gemrc"))
	sources, err := mirrors.ReadGemrc(data)
	if err != nil {
		ms.left(path, err.Error()+": its sources are not carried")
		return
	}
	var out []string
	for _, s := range sources {
		if at, ok := ms.add(".gemrc", s, mirrors.Login{}); ok {
			out = append(out, at+"/")
		}
	}
	if len(out) > 0 {
		ms.Put(filepath.Join(ms.User.Home, ".gemrc"), mirrors.WriteGemrc(out), "leads gem to the host's sources")
	}
}

// bundle carries bundler's mirrors. A login there is for a host: it goes to mirrors of that
// host, and to nothing that only a project names.
func (ms *mirrored) bundle() {
	var b mirrors.Bundle
	path := filepath.Join(ms.User.Home, ".bundle/config")
	if p := ms.Getenv("BUNDLE_USER_CONFIG"); filepath.IsAbs(p) {
		path = p
	}
	if data, path := ms.read(path); path != "" {
		if err := b.ReadBundle(data); err != nil {
			ms.left(path, err.Error()+": its mirrors are not carried")
			return
		}
	}
	for _, e := range ms.Asked.Environ {
		if name, value, ok := strings.Cut(e, "="); ok && strings.HasPrefix(name, "BUNDLE_") {
			b.Set(name, value)
		}
	}
	var names, urls []string
	for _, name := range launch.SortedKeys(b.Mirrors) {
		host := hostOf(b.Mirrors[name])
		if at, ok := ms.add("bundler's settings", b.Mirrors[name], b.Logins[host]); ok {
			names, urls = append(names, name), append(urls, at)
		}
		delete(b.Logins, host)
	}
	ms.hostLogins("bundler's settings", b.Logins)
	if len(names) > 0 {
		ms.Put(filepath.Join(ms.User.Home, ".bundle/config"), mirrors.WriteBundle(names, urls), "leads bundler to the host's mirrors")
	}
}

// hostLogins names logins that are for whatever a project asks of a host.
func (ms *mirrored) hostLogins(what string, all map[string]mirrors.Login) {
	for host := range all {
		if _, err := address.ParseName(host); err == nil && !public(host) {
			ms.unlent(what, "the login of "+host+" is for no mirror that is named there, and is not lent", host)
		}
	}
}

// composer carries repositories of composer's own kind.
func (ms *mirrored) composer() {
	homes := []string{filepath.Join(ms.ConfigHome(), "composer"), filepath.Join(ms.User.Home, ".composer")}
	if h := ms.Getenv("COMPOSER_HOME"); filepath.IsAbs(h) {
		homes = []string{h}
	}
	logins := map[string]mirrors.Login{}
	data, path := ms.read(filepath.Join(homes[0], "auth.json"), filepath.Join(homes[len(homes)-1], "auth.json"))
	if env := ms.Getenv("COMPOSER_AUTH"); env != "" {
		data, path = []byte(env), "COMPOSER_AUTH"
	}
	if path != "" {
		var err error
		if logins, err = mirrors.ReadComposerAuth(data); err != nil {
			ms.left("composer's "+filepath.Base(path), err.Error()+": no login is lent from it")
		}
	}
	if data, path = ms.read(filepath.Join(homes[0], "config.json"), filepath.Join(homes[len(homes)-1], "config.json")); path == "" {
		ms.hostLogins("composer's auth.json", logins)
		return
	}
	c, err := mirrors.ReadComposer(data)
	if err != nil {
		ms.left("composer's config.json", err.Error()+": nothing of it is carried")
		return
	}
	out := mirrors.Composer{NoPackagist: c.NoPackagist}
	for _, r := range c.Repositories {
		host := hostOf(r.URL)
		if at, ok := ms.add("composer's settings", r.URL, logins[host]); ok {
			out.Repositories = append(out.Repositories, mirrors.ComposerRepository{Name: r.Name, URL: at})
		}
		delete(logins, host)
	}
	ms.hostLogins("composer's auth.json", logins)
	if c.Left > 0 {
		ms.left("composer's config.json", "repositories that are not of type composer are not carried: name them in composer.json")
	}
	if len(out.Repositories) > 0 || out.NoPackagist {
		ms.Put(filepath.Join(ms.User.Home, ".config/composer/config.json"), out.Write(), "leads composer to the host's repositories")
	}
}
