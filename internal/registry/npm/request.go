package npm

import (
	"net/url"
	"regexp"
	"strings"
	"sync"
)

// Names as registries gave them out at any time. None is a path, none begins with a dot.
var packageName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(@[A-Za-z0-9~_-][A-Za-z0-9._~-]*/)?[A-Za-z0-9~_-][A-Za-z0-9._~-]*$`)
})

const maxName = 214

// request is a question for a package, for one version of it, or for a file of it.
type request struct {
	name    string
	version string // or a tag; "" for the whole
	file    string // a path as it was asked; "": none
}

// parse reads the path of a request, below the registry's base.
func parse(escaped string) (request, bool) {
	path, err := url.PathUnescape(escaped)
	if err != nil || len(path) > 1024 || !strings.HasPrefix(path, "/") || strings.ContainsAny(path, "%?#\\") {
		return request{}, false
	}
	path = path[1:]
	if name, file, ok := strings.Cut(path, "/-/"); ok {
		return request{name: name, file: file}, validName(name) && validFile(file)
	}
	if validName(path) {
		return request{name: path}, true
	}
	at := strings.LastIndexByte(path, '/')
	if at < 0 {
		return request{}, false
	}
	q := request{name: path[:at], version: path[at+1:]}
	return q, validName(q.name) && q.version != "" && strings.Trim(q.version, versionBytes) == "" && strings.Trim(q.version, ".") != ""
}

const versionBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.+-_~"

func validName(name string) bool {
	return len(name) <= maxName && name != "-" && packageName().MatchString(name)
}

func validFile(file string) bool {
	for part := range strings.SplitSeq(file, "/") {
		if part == "" || strings.Trim(part, ".") == "" || strings.Trim(part, versionBytes+"@") != "" {
			return false
		}
	}
	return true
}

// filed holds for a path that may be a file of a package, though nobody knows of which.
func filed(path string) bool {
	if strings.Contains(path[1:], "/-/") {
		return true
	}
	path = strings.ToLower(path)
	return strings.HasSuffix(path, ".tgz") || strings.HasSuffix(path, ".tar") || strings.HasSuffix(path, ".tar.gz")
}

// path is the one spelling of the question for a package.
func (q request) path() string { return "/" + strings.Replace(q.name, "/", "%2f", 1) }

// scope is "@scope" of a name that has one.
func scope(name string) string {
	if s, _, ok := strings.Cut(name, "/"); ok {
		return s
	}
	return ""
}
