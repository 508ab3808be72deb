package npm

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/url"
	"regexp"
	"strings"
	"sync"
)

// RC is what an .npmrc says, by key.
type RC map[string]string

var variable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(\\*)\$\{([^${}]+)\}`) })

// ParseRC reads an .npmrc. expand gives values of variables; nil: they stay as they are,
// as they must in a file that somebody else may have written.
func ParseRC(data []byte, expand func(string) string) RC {
	rc := RC{}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == ';' || line[0] == '#' || line[0] == '[' {
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			continue
		}
		key, value = plain(key, expand), plain(value, expand)
		if key == "ca[]" && len(rc[key]) < 1<<20 {
			value = rc[key] + value + "\n" // a list of certificates
		}
		if key != "" && len(rc) < 4096 {
			rc[key] = value
		}
	}
	return rc
}

// plain is a word without its quotes, without a comment behind it, and with its variables.
func plain(word string, expand func(string) string) string {
	word = strings.TrimSpace(word)
	if n := len(word); n >= 2 && (word[0] == '"' || word[0] == '\'') && word[n-1] == word[0] {
		var s string
		if word[0] == '"' && json.Unmarshal([]byte(word), &s) == nil {
			word = s
		} else {
			word = word[1 : n-1]
		}
	} else if i := strings.IndexAny(word, ";#"); i >= 0 {
		word = strings.TrimSpace(word[:i])
	}
	if expand == nil {
		return word
	}
	return variable().ReplaceAllStringFunc(word, func(s string) string {
		m := variable().FindStringSubmatch(s)
		if len(m[1])%2 == 1 { // it is escaped
			return s
		}
		if v := expand(strings.TrimSuffix(m[2], "?")); v != "" || strings.HasSuffix(m[2], "?") {
			return m[1] + v
		}
		return s
	})
}

// CA is the certificates of authorities that stand in the file itself.
func (rc RC) CA() string { return strings.ReplaceAll(rc["ca"]+"\n"+rc["ca[]"], `\n`, "\n") }

// Registries are the registries that a file names: "" is for all packages, "@scope" for
// those of a scope.
func (rc RC) Registries() map[string]string {
	out := map[string]string{}
	for key, value := range rc {
		if key == "registry" {
			out[""] = value
		} else if s, ok := strings.CutSuffix(key, ":registry"); ok && strings.HasPrefix(s, "@") && validName(s+"/x") {
			out[s] = value
		}
	}
	return out
}

var errRegistry = errors.New("not an http:// or https:// URL without a query")

// ParseRegistry reads the address of a registry; it may hold a login.
func ParseRegistry(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, errRegistry // never with the text: it may hold a password
	}
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), ""
	return u, nil
}

// Login is how a request is signed.
type Login struct {
	Bearer bool
	Value  string // a token, or USER:PASSWORD
}

// Login finds what a file has for a registry: for its path or for one above, of the very
// host and port.
func (rc RC) Login(u *url.URL) (Login, bool) {
	for path := u.Path; ; path = path[:strings.LastIndexByte(path, '/')] {
		at := "//" + u.Host + path + "/:"
		if token := rc[at+"_authToken"]; token != "" {
			return Login{true, token}, true
		}
		if auth, err := base64.StdEncoding.DecodeString(rc[at+"_auth"]); err == nil && len(auth) > 0 {
			return Login{false, string(auth)}, true
		}
		if pass, err := base64.StdEncoding.DecodeString(rc[at+"_password"]); err == nil && len(pass) > 0 && rc[at+"username"] != "" {
			return Login{false, rc[at+"username"] + ":" + string(pass)}, true
		}
		if path == "" {
			return Login{}, false
		}
	}
}
