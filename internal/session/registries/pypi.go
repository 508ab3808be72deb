package registries

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/credentials/broker"
	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/registry/pypi"
	"ringfence.dev/ringfence/internal/session/launch"
)

// pyIndex is one that pip or uv installs from.
type pyIndex struct {
	*place
	name address.Name
	path string // of the plain endpoint; "": TLS to its own name ends at the door
}

// pythons are the indexes of Python's package managers.
type pythons struct {
	*doors
	order []*pyIndex
}

// projects leads pip and uv to their door. Each has its own settings, and does not read the
// other's.
func (ds *doors) projects() {
	ps := &pythons{doors: ds}
	pip, uv := ps.pip(), ps.uv()
	builtin, files := builtinPython()
	ps.tellPip(ps.all(pip, builtin))
	ps.tellUV(uv, ps.all(uv, builtin))
	if !ds.offline {
		for _, i := range ps.projectUV() { // they are asked by their own names, if at all
			if u, err := pypi.ParseURL(i.URL); err == nil && u.Scheme == "https" && u.User == nil {
				ps.add(u, project)
			}
		}
	}
	for _, i := range ps.order {
		ps.entrance(i, builtin, files)
	}
}

// builtinPython is the index that pip and uv come with, and the host of its files: names
// of the group of their hosts.
func builtinPython() (index, files *url.URL) {
	hosts := policy.GroupHosts("python")
	return &url.URL{Scheme: "https", Host: hosts[0], Path: "/simple"}, &url.URL{Scheme: "https", Host: hosts[1]}
}

// all takes in what the settings of a tool name. The last one is what stands for the
// public index, or that.
func (ps *pythons) all(said []pypi.Index, builtin *url.URL) (out []*pyIndex) {
	var main *pyIndex
	for _, i := range said {
		u, err := pypi.ParseURL(i.URL)
		if err != nil {
			ps.Warn("an index of Python packages is " + err.Error() + ", and is not asked")
			out = append(out, nil)
			continue
		}
		x := ps.add(u, user)
		ps.login(x, i)
		out = append(out, x)
		if i.Default && main == nil {
			main = x
		}
	}
	public := ps.add(builtin, tools) // whoever names another one: it can be asked all the same
	return append(out, cmp.Or(main, public))
}

// add takes an index in, once.
func (ps *pythons) add(u *url.URL, by namer) *pyIndex {
	at := bare(u).String()
	for _, i := range ps.order {
		if i.base.String() == at {
			if by == user && i.by != user { // the ceiling stands above what the user names
				i.place = ps.place(u, user)
			}
			return i
		}
	}
	i := &pyIndex{place: ps.place(u, by)}
	var err error
	if i.name, err = address.ParseName(u.Hostname()); err != nil || u.Scheme != "https" || ps.offline {
		i.path = "/pypi"
		if n := len(ps.order); n > 0 {
			i.path = fmt.Sprintf("/pypi-%d", n)
		}
	}
	ps.order = append(ps.order, i)
	return i
}

// login is what uv finds in the environment for an index by its name, where the user gave
// it the name: a project could give it to any host.
func (ps *pythons) login(x *pyIndex, i pypi.Index) {
	name := "UV_INDEX_" + strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(i.Name))
	who, pass := ps.Getenv(name+"_USERNAME"), ps.Getenv(name+"_PASSWORD")
	if i.Name != "" && who+pass != "" {
		x.place.login = &login{name, broker.AsBasic, func() (string, bool) { return who + ":" + pass, true }}
	}
}

// at is where package managers inside find an index.
func (i *pyIndex) at() string {
	if i.path != "" {
		return broker.Endpoint + i.path + "/simple"
	}
	return i.base.String()
}

// tellPip says where the indexes are, where pip would not find them by itself.
func (ps *pythons) tellPip(all []*pyIndex) {
	main, extra := all[len(all)-1], []string{}
	for _, i := range all[:len(all)-1] {
		if i != nil && i != main && !slices.Contains(extra, i.at()+"/") {
			extra = append(extra, i.at()+"/")
		}
	}
	if main.by == user || main.path != "" {
		ps.Set("registry", "PIP_INDEX_URL", main.at()+"/")
	}
	if len(extra) > 0 {
		ps.Set("registry", "PIP_EXTRA_INDEX_URL", strings.Join(extra, " "))
	}
}

// tellUV writes uv's own settings, without a login. Where the door has no name of its own a
// variable outranks what a project says.
func (ps *pythons) tellUV(said []pypi.Index, all []*pyIndex) {
	var b strings.Builder
	for n, i := range said {
		if all[n] == nil {
			continue
		}
		b.WriteString("[[index]]\n")
		if i.Name != "" {
			fmt.Fprintf(&b, "name = %q\n", i.Name)
		}
		fmt.Fprintf(&b, "url = %q\ndefault = %v\nexplicit = %v\n", all[n].at(), i.Default, i.Explicit)
	}
	if b.Len() > 0 {
		ps.Put(filepath.Join(ps.User.Home, ".config/uv/uv.toml"), []byte(b.String()), "leads uv to the host's indexes")
	}
	if main := all[len(all)-1]; main.path != "" {
		ps.Set("registry", "UV_DEFAULT_INDEX", main.at())
	}
}

// entrance serves an index: at the plain endpoint, or where TLS to its name ends.
func (ps *pythons) entrance(i *pyIndex, builtin, files *url.URL) {
	if i.path != "" {
		ps.Brokered.Sites = append(ps.Brokered.Sites, func(g launch.Gateway, _ *broker.Broker) (broker.Site, error) {
			return broker.Site{Prefix: i.path, Handler: ps.door(i, g)}, nil
		})
		return
	}
	var made *pypi.Door // one for both hosts: it knows which file is of which project
	door := func(g launch.Gateway) *pypi.Door {
		if made == nil {
			made = ps.door(i, g)
			if i.base.String() == builtin.String() {
				made.FilesAt = files.Host
			}
		}
		return made
	}
	ps.serve(i.name, i.base, i.by, func(g launch.Gateway) taker { return door(g) })
	if i.base.String() != builtin.String() {
		return
	}
	if name, err := address.ParseName(files.Host); err == nil {
		ps.serve(name, files, tools, func(g launch.Gateway) taker { return pyFiles{door(g).Files()} })
	}
}

// pyFiles is the host of the public index's files.
type pyFiles struct{ http.Handler }

func (pyFiles) Takes(r *http.Request) bool { return pypi.IsFile(r) }

func (ps *pythons) door(i *pyIndex, g launch.Gateway) *pypi.Door {
	d := &pypi.Door{Site: i.site(g), Store: i.store(), Room: ps.room, Brake: ps.brake, Refused: ps.refused(g, "pypi")}
	if i.path != "" {
		d.Self = broker.Endpoint + i.path
	}
	return d
}

// pip reads what pip on the host would: variables before files. What the agent can write
// opens nothing.
func (ps *pythons) pip() (out []pypi.Index) {
	conf := pypi.Conf{}
	for _, path := range ps.PipFiles() {
		if data, ok := ps.ClientFile(path); ok {
			conf.Read(data)
		}
	}
	for name, key := range map[string]string{"PIP_INDEX_URL": "index-url", "PIP_EXTRA_INDEX_URL": "extra-index-url"} {
		if v := ps.Getenv(name); v != "" {
			conf["install."+key] = v
		}
	}
	out = conf.Indexes()
	if v := ps.Getenv("PIP_KEYRING_PROVIDER"); conf.Keyring() || v == "import" || v == "subprocess" {
		ps.askedKeyring(out)
	}
	return out
}

// askedKeyring names the indexes whose login pip or uv would ask a keyring for.
func (ps *pythons) askedKeyring(all []pypi.Index) {
	for _, i := range all {
		if u, err := pypi.ParseURL(i.URL); err == nil {
			if _, has := u.User.Password(); !has {
				ps.keyring("pypi", u.Host)
			}
		}
	}
}

// uv reads what uv on the host would for every project.
func (ps *pythons) uv() (out []pypi.Index) {
	if v := cmp.Or(ps.Getenv("UV_DEFAULT_INDEX"), ps.Getenv("UV_INDEX_URL")); v != "" {
		out = append(out, pypi.Index{URL: v, Default: true})
	}
	for v := range strings.FieldsSeq(ps.Getenv("UV_INDEX") + " " + ps.Getenv("UV_EXTRA_INDEX_URL")) {
		out = append(out, pypi.ParseNamed(v))
	}
	asks := ps.Getenv("UV_KEYRING_PROVIDER") == "subprocess"
	paths := []string{filepath.Join(ps.ConfigHome(), "uv/uv.toml"), "/etc/xdg/uv/uv.toml", "/etc/uv/uv.toml"}
	if only := ps.Getenv("UV_CONFIG_FILE"); filepath.IsAbs(only) {
		paths = []string{only}
	}
	for _, path := range paths {
		if data, ok := ps.ClientFile(path); ok {
			out = append(out, ps.parseUV(path, data)...)
			asks = asks || pypi.UVKeyring(data)
		}
	}
	if asks {
		ps.askedKeyring(out)
	}
	return out
}

func (ps *pythons) parseUV(path string, data []byte, at ...string) []pypi.Index {
	all, err := pypi.ParseUV(data, at...)
	if err != nil {
		ps.Warn(path + ": " + err.Error() + ": its indexes are not asked")
	}
	return all
}

// projectUV is what files of the project name.
func (ps *pythons) projectUV() (out []pypi.Index) {
	dirs := []string{ps.Dir}
	for _, ws := range ps.Workspaces {
		dirs = append(dirs, ws.Path)
	}
	for _, dir := range slices.Compact(dirs) {
		for _, f := range []struct {
			name string
			at   []string
		}{{"uv.toml", nil}, {"pyproject.toml", []string{"tool", "uv"}}} {
			data, err := file.Read(filepath.Join(dir, f.name), maxRC, unix.O_NOFOLLOW)
			if err != nil {
				continue
			}
			if all, err := pypi.ParseUV(data, f.at...); err == nil {
				out = append(out, all...)
			}
		}
	}
	return out
}
