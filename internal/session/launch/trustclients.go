package launch

import (
	"path/filepath"
	"strings"

	gitfile "ringfence.dev/ringfence/internal/file/settings"
	"ringfence.dev/ringfence/internal/registry/crates"
	"ringfence.dev/ringfence/internal/registry/npm"
	"ringfence.dev/ringfence/internal/registry/pypi"
)

// clientAuthority is what a client's own settings say of authorities: a file, or npm's
// certificates themselves.
type clientAuthority struct {
	what, path string
	inline     []byte
}

// settingsAuthorities are the authorities that settings of the user's clients name. Who
// can write such settings can be any host: what an agent can write is not read. What git
// is told for one address only stays there: inside, all clients would believe it for all.
func (b *Base) settingsAuthorities() (out []clientAuthority) {
	add := func(what, path string) {
		if strings.HasPrefix(path, "~/") {
			path = filepath.Join(b.User.Home, path[2:])
		}
		if filepath.IsAbs(path) {
			out = append(out, clientAuthority{what: what, path: path})
		}
	}
	for _, path := range b.NPMFiles() {
		if data, ok := b.ClientFile(path); ok {
			rc := npm.ParseRC(data, b.Getenv)
			add("cafile of .npmrc", rc["cafile"])
			out = append(out, clientAuthority{what: "ca of .npmrc", inline: certificates([]byte(rc.CA()))})
		}
	}
	if data, ok := b.ClientFile(filepath.Join(b.User.Home, ".yarnrc")); ok {
		add("cafile of .yarnrc", npm.ParseYarn1(data)["cafile"])
	}
	if data, ok := b.ClientFile(filepath.Join(b.User.Home, ".yarnrc.yml")); ok {
		if rc, err := npm.ParseYarn(data, b.Getenv); err == nil { // an error is told with the registries
			add("httpsCaFilePath of .yarnrc.yml", rc["cafile"])
		}
	}
	conf := pypi.Conf{}
	for _, path := range b.PipFiles() {
		if data, ok := b.ClientFile(path); ok {
			conf.Read(data)
		}
	}
	add("cert of pip.conf", conf.Cert())
	for _, name := range []string{"config", "config.toml"} {
		path := filepath.Join(b.CargoHome(), name)
		if data, ok := b.ClientFile(path); ok {
			add("http.cainfo of cargo", crates.CAInfo(data, filepath.Dir(filepath.Dir(path))))
		}
	}
	for _, path := range []string{filepath.Join(b.ConfigHome(), "git/config"), filepath.Join(b.User.Home, ".gitconfig")} {
		if data, ok := b.ClientFile(path); ok {
			add("http.sslCAInfo of git", gitCAInfo(data))
		}
	}
	return out
}

// gitCAInfo is what git's own settings say for every address.
func gitCAInfo(data []byte) (path string) {
	entries, _ := gitfile.ParseGitPart(data) // what stands before a mistake holds
	for _, e := range entries {
		if e.Key == "http.sslcainfo" {
			path = e.Value
		}
	}
	return path
}
