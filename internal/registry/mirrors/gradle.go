package mirrors

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// GradleURL is a property whose value is a plain URL, with the login that stands beside it
// by its name: corpMavenUrl with corpMavenUsername and corpMavenPassword.
type GradleURL struct {
	Key, URL   string
	Login      Login
	User, Word string // the names of the login's properties; "": there is none
}

var (
	propertyName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]{0,127}$`) })
	urlName      = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)[._-]?(url|uri)$`) })
)

// repository is how the property of a repository is called. The file has addresses of
// everything, with tokens beside them: of trackers, of scanners, of forges. So the address
// must have a path too: a host as a whole has other things on it.
var repository = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(maven|nexus|artifactory|repo|repository|mirror|registry)s?[._-]?(base)?[._-]?(url|uri)?$`)
})

// ReadGradle reads a gradle.properties. What stands for proxies and for the JVM is not for
// us, and a value with an escape is none that is known.
func ReadGradle(data []byte) (out []GradleURL) {
	all, order := map[string]string{}, []string(nil)
	for line := range bytes.Lines(data) {
		text := strings.TrimSpace(string(line))
		at := strings.IndexAny(text, "=:")
		if text == "" || text[0] == '#' || text[0] == '!' || at <= 0 || strings.HasPrefix(text, "systemProp.") || strings.HasPrefix(text, "org.gradle.") {
			continue
		}
		key, value := strings.TrimSpace(text[:at]), strings.ReplaceAll(strings.TrimSpace(text[at+1:]), `\:`, ":")
		if !propertyName().MatchString(key) || strings.Contains(value, `\`) || len(all) >= 4096 {
			continue
		}
		if _, had := all[key]; !had {
			order = append(order, key)
		}
		all[key] = value
	}
	for _, key := range order {
		if u, err := ParseURL(all[key]); err == nil && len(out) < most && repository().MatchString(key) && strings.Trim(u.Path, "/") != "" {
			g := GradleURL{Key: key, URL: u.String()}
			g.login(all, urlName().ReplaceAllString(key, ""))
			out = append(out, g)
		}
	}
	return out
}

// login finds what stands beside a URL.
func (g *GradleURL) login(all map[string]string, stem string) {
	find := func(names ...string) (key string) {
		at := slices.IndexFunc(names, func(n string) bool { return all[stem+n] != "" })
		if at < 0 || stem == "" {
			return ""
		}
		return stem + names[at]
	}
	g.User = find("Username", "User", ".username", ".user", "_username", "_user")
	g.Word = find("Password", "Token", ".password", ".token", "_password", "_token")
	if g.Word == "" {
		g.User = ""
		return
	}
	g.Login = Login{User: all[g.User], Password: all[g.Word]}
}

// WriteGradle is the same without logins. Builds that ask for a login find a word that is
// none: the broker puts the real one in its place.
func WriteGradle(all []GradleURL) []byte {
	var b strings.Builder
	for _, g := range all {
		b.WriteString(g.Key + "=" + g.URL + "\n")
		for _, name := range []string{g.User, g.Word} {
			if name != "" {
				b.WriteString(name + "=ringfence\n")
			}
		}
	}
	return []byte(b.String())
}
