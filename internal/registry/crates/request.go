package crates

import (
	"regexp"
	"strings"
	"sync"
)

// Names as cargo takes them. None is a path.
var crateName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`) })

// Versions, as semantic versions have them.
var crateVersion = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+([-+][0-9A-Za-z.+-]{1,100})?$`)
})

// request is a question for the settings of the index, for a crate, or for a file of it.
type request struct {
	config  bool
	name    string
	version string // "": the whole crate
}

// parse reads the path of a request, below the index.
func parse(path string) (request, bool) {
	if path == "/config.json" {
		return request{config: true}, true
	}
	if rest, ok := strings.CutPrefix(path, "/dl/"); ok && strings.HasSuffix(rest, "/download") {
		name, version, _ := strings.Cut(strings.TrimSuffix(rest, "/download"), "/")
		return request{name: name, version: version}, crateName().MatchString(name) && crateVersion().MatchString(version)
	}
	name := path[strings.LastIndexByte(path, '/')+1:]
	return request{name: name}, crateName().MatchString(name) && path == "/"+prefix(name)+"/"+name
}

// prefix is the directory of a crate in an index.
func prefix(name string) string {
	switch len(name) {
	case 1, 2:
		return string(rune('0' + len(name)))
	case 3:
		return "3/" + name[:1]
	}
	return name[:2] + "/" + name[2:4]
}
