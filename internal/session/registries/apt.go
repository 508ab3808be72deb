package registries

import (
	"path/filepath"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/registry/mirrors"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/session/launch"
)

// aptSources is what apt inside reads in the place of the system's.
const aptSources = plan.Own + "/sources.list"

// apt carries the machine's sources where one of them is no public archive. An image has a
// system of its own, and sources that fit it.
func (ms *mirrored) apt() {
	if ms.Own != nil {
		return
	}
	all, broken := ms.aptSources()
	var lines []string
	own := false
	for _, s := range all {
		u, err := mirrors.ParseURL(s.URL)
		if err != nil { // cdrom:, mirror+file:
			broken = true
			continue
		}
		own = own || !public(u.Hostname())
		l, _ := mirrors.AptLogin(ms.aptAuth(), u)
		if at, ok := ms.add("apt's sources", s.URL, l); ok {
			s.URL = at
			lines = append(lines, s.String())
		}
	}
	if !own && ms.Asked.Fetch == "" {
		return
	}
	if broken {
		ms.left("apt's sources", "some are of a kind that is not known, and are not carried")
	}
	ms.Put(aptSources, []byte(strings.Join(lines, "\n")+"\n"), "leads apt to the host's mirrors")
	ms.Put(launch.AptConfigPath, []byte("Dir::Etc::SourceList \""+aptSources+"\";\nDir::Etc::SourceParts \"/dev/null\";\n"), "leads apt to the host's mirrors")
	ms.Set("registry", "APT_CONFIG", launch.AptConfigPath)
}

const aptDir = "/etc/apt"

func (ms *mirrored) aptSources() (all []mirrors.Source, broken bool) {
	parts, _ := filepath.Glob(aptDir + "/sources.list.d/*") // the pattern is ours
	slices.Sort(parts)
	for _, path := range append([]string{aptDir + "/sources.list"}, parts...) {
		data, ok := ms.ClientFile(path)
		if !ok {
			continue
		}
		read := mirrors.ReadSources
		switch filepath.Ext(path) {
		case ".sources":
			read = mirrors.ReadSources822
		case ".list":
		default:
			continue
		}
		some, err := read(data)
		all, broken = append(all, some...), broken || err != nil
	}
	return all, broken
}

// aptAuth is what of apt's logins this user can read.
func (ms *mirrored) aptAuth() (out []byte) {
	parts, _ := filepath.Glob(aptDir + "/auth.conf.d/*.conf") // the pattern is ours
	for _, path := range append([]string{aptDir + "/auth.conf"}, parts...) {
		if data, ok := ms.ClientFile(path); ok {
			out = append(append(out, data...), '\n')
		}
	}
	return out
}
