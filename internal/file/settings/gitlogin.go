package settings

import (
	"net/url"
	"regexp"
	"strings"
)

// GitLogin is a setting of git that holds a credential.
type GitLogin struct {
	Key  string // without what is secret in it
	Line int
	// URL is where it is for, without the credential, and User and Secret are what stood
	// there; "" for a header, or a setting that is a secret by its name.
	URL          string
	User, Secret string
}

// secretName ends the keys of settings that are a secret by themselves.
var secretName = regexp.MustCompile(`(?i)(pass|password|passwd|token|secret|apikey|extraheader)$`)

// longName is a name in an address that is too long for one of a person: tokens stand there
// without a password.
const longName = 20

// WithoutGitLogins returns a configuration without its credentials, and lists them: a URL
// loses who is in it, any other setting goes as a whole. Without one the text is nil.
func WithoutGitLogins(text []byte) ([]byte, []GitLogin, error) {
	entries, err := ParseGit(text)
	if err != nil {
		return nil, nil, err
	}
	var b strings.Builder
	var found []GitLogin
	for _, e := range entries {
		sub, _ := e.Sub()
		plainSub, _ := withoutUser(sub)
		shown := e.Section() + "." + e.Name()
		if sub != "" {
			shown = e.Section() + "." + plainSub + "." + e.Name()
		}
		value, user := withoutUser(e.Value)
		for more := user; more != nil; { // one behind another
			value, more = withoutUser(value)
		}
		switch {
		case plainSub != sub, secretName.MatchString(e.Name()) && e.Value != "", bareLogin(e):
			found = append(found, GitLogin{Key: shown, Line: e.Line})
			continue
		case user != nil:
			secret, _ := user.Password()
			found = append(found, GitLogin{Key: shown, Line: e.Line, URL: value, User: user.Username(), Secret: secret})
			e.Value = value
		}
		WriteGit(&b, e)
	}
	if found == nil {
		return nil, nil, nil
	}
	return []byte(b.String()), found, nil
}

// bareLogin holds for settings that hold a credential without the look of an address: a proxy
// without a scheme, a token in the place of a name, one in the query of an address, one in the
// program that a credential is asked of.
func bareLogin(e GitEntry) bool {
	switch name := strings.ToLower(e.Name()); {
	case name == "proxy" || strings.HasSuffix(name, "proxy"):
		return !strings.Contains(e.Value, "://") && strings.Contains(e.Value, "@")
	case e.Section() == "credential" && name == "username":
		return len(e.Value) >= longName
	case e.Section() == "credential" && name == "helper":
		return strings.Contains(e.Value, "password=")
	}
	return secretQuery.MatchString(e.Value)
}

// secretQuery is a credential in the query of an address.
var secretQuery = regexp.MustCompile(`(?i)://[^ ]*[?&;][^=&;]*(pass|password|passwd|token|secret|apikey|api_key|auth)=[^&;]`)

// withoutUser takes a credential out of an address. A short name without a password is none.
// It cuts by the text: what url.Parse refuses, git may still take.
func withoutUser(s string) (string, *url.Userinfo) {
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok || strings.EqualFold(scheme, "ssh") || strings.EqualFold(scheme, "git+ssh") || strings.EqualFold(scheme, "ssh+git") {
		return s, nil
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	// A password may hold a slash: the last @ that has something of a host behind it counts.
	at := strings.LastIndexByte(rest[:end], '@')
	if far := strings.LastIndexByte(rest, '@'); at < 0 && far > 0 && strings.ContainsRune(rest[:end], ':') && !digits(rest[strings.IndexByte(rest, ':')+1:end]) {
		at = far
	}
	if at < 0 {
		return s, nil
	}
	name, password, has := strings.Cut(rest[:at], ":")
	if !has && len(name) < longName {
		return s, nil
	}
	return scheme + "://" + rest[at+1:], url.UserPassword(unescaped(name), unescaped(password))
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

func unescaped(s string) string {
	if plain, err := url.PathUnescape(s); err == nil {
		return plain
	}
	return s
}
