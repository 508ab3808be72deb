package gomod

import (
	"errors"
	"strings"

	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

// request is one question of the module proxy protocol. What it is made of was checked:
// the path that goes upstream is built from it, never from what was asked.
type request struct {
	module  string // unescaped
	version string // unescaped; "" for list and latest
	what    string // list, latest, info, mod, zip
}

var errRequest = errors.New("this is no question of the module proxy protocol")

// parse reads the path of a request, without its first slash and with nothing escaped
// but as modules are.
func parse(path string) (request, error) {
	if len(path) > 1024 {
		return request{}, errRequest
	}
	if escaped, ok := strings.CutSuffix(path, "/@latest"); ok {
		return checked(request{what: "latest"}, escaped, "")
	}
	escaped, file, ok := strings.Cut(path, "/@v/")
	if !ok {
		return request{}, errRequest
	}
	if file == "list" {
		return checked(request{what: "list"}, escaped, "")
	}
	for _, what := range []string{"info", "mod", "zip"} {
		if version, ok := strings.CutSuffix(file, "."+what); ok && version != "" {
			return checked(request{what: what}, escaped, version)
		}
	}
	return request{}, errRequest
}

func checked(q request, escaped, version string) (request, error) {
	var err error
	if q.module, err = module.UnescapePath(escaped); err != nil {
		return q, errRequest
	}
	if version == "" {
		return q, nil
	}
	// A version may be the name of a branch, which Go takes in more letters than a URL does.
	if q.version, err = module.UnescapeVersion(version); err != nil || strings.Trim(version, versionBytes) != "" {
		return q, errRequest
	}
	// Only a question for information may be about a branch or a commit.
	if q.what != "info" && !q.canonical() {
		return q, errRequest
	}
	return q, nil
}

const versionBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.+-_~!"

// canonical holds for a version that always means the same.
func (q request) canonical() bool {
	return module.CanonicalVersion(q.version) == q.version && semver.IsValid(q.version)
}

// path is the one spelling of the request.
func (q request) path() string {
	escaped, err := module.EscapePath(q.module)
	if err != nil {
		return "" // cannot come from parse
	}
	switch q.what {
	case "latest":
		return "/" + escaped + "/@latest"
	case "list":
		return "/" + escaped + "/@v/list"
	}
	version, err := module.EscapeVersion(q.version)
	if err != nil {
		return ""
	}
	return "/" + escaped + "/@v/" + version + "." + q.what
}

// as is another question about the same.
func (q request) as(what string) request {
	q.what = what
	return q
}
