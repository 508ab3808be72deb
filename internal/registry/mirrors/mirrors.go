// Package mirrors reads the settings of package managers that have no door: Maven, Gradle,
// gem, bundler, composer and apt. It finds where packages come from and with which login,
// and writes settings of the same meaning without the login. Nothing of the host's text is
// carried: only values of a known shape, written anew.
//
// Every reader is given a file of bounded size. Errors name a line or a key and quote
// nothing: what stands there may be a password.
package mirrors

import (
	"errors"
	"net/url"
	"regexp"
	"strings"
	"sync"
)

// Login is what is sent to a mirror.
type Login struct {
	Bearer         bool // Password is a token
	User, Password string
}

// Value is the login as one word.
func (l Login) Value() string {
	if l.Bearer {
		return l.Password
	}
	return l.User + ":" + l.Password
}

var errURL = errors.New("not an http:// or https:// URL without a query")

// ParseURL reads the address of a mirror; it may hold a login.
func ParseURL(text string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || strings.ContainsAny(u.Path, " \"'`\\<>\x7f") {
		return nil, errURL // never with the text: it may hold a password
	}
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), ""
	return u, nil
}

// word is a name that needs no quotes in any of the formats.
var word = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._+~-]{0,127}$`) })

// most bounds how many of anything one file names.
const most = 256
