package phantom

import (
	"math/rand/v2"
	"strconv"
	"strings"
)

var schemeForm = lazily(`^((?:jdbc:)?[A-Za-z][A-Za-z0-9+.-]{0,30})://`)

// url keeps the scheme, the host and the words of the path. The password, the query
// and the parts of a path that look drawn are replaced.
func (m *maker) url(k key, v string) (string, bool) {
	f := schemeForm().FindStringSubmatch(v)
	if f == nil || !compound(f[1], ":+.-", wordy) || !m.keep(f[1]) || strings.ContainsAny(v, " \t\r\n\"'`\\") {
		return "", false
	}
	user, rest := userinfo(v[len(f[0]):])
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	hosts := strings.Split(rest[:end], ",")
	for i, h := range hosts {
		hosts[i] = m.host(k, h)
	}
	return f[0] + m.user(k, user) + strings.Join(hosts, ",") + m.tail(k, rest[end:]), true
}

// userinfo cuts at the last @: a password may hold a slash or another @. Without a
// colon before it a slash begins the path.
func userinfo(s string) (user, rest string) {
	at := strings.LastIndexByte(s, '@')
	if at < 0 {
		return "", s
	}
	slash := strings.IndexAny(s, "/?#")
	if slash >= 0 && slash < at && !strings.Contains(s[:at], ":") {
		return "", s
	}
	return s[:at+1], s[at+1:]
}

func (m *maker) user(k key, user string) string {
	if user == "" {
		return ""
	}
	name, password, both := strings.Cut(strings.TrimSuffix(user, "@"), ":")
	if !both || name != "" && !(wordy(name) && m.keep(name)) {
		if name != "" && !reference().MatchString(name) {
			name = m.word(k.child("user"), name)
		}
	}
	if !both {
		return name + "@"
	}
	if password != "" && !reference().MatchString(password) {
		password = m.word(k.child("password"), password)
	}
	return name + ":" + password + "@"
}

// host replaces the labels that look drawn.
func (m *maker) host(k key, v string) string {
	if v == "" || reference().MatchString(v) {
		return v
	}
	if isAddress(strings.Trim(v, "[]")) || isAddress(v) {
		return v
	}
	name, port, found := strings.Cut(v, ":")
	labels := strings.Split(name, ".")
	for i, l := range labels {
		if l != "" && !(label(l) && m.keep(l)) {
			labels[i] = m.draw(k, "label"+strconv.Itoa(len(l)), l, func(r *rand.Rand) string { return text(r, min(len(l), 40), lowers) })
		}
	}
	if !found {
		return strings.Join(labels, ".")
	}
	if n, err := strconv.ParseUint(port, 10, 16); port != "" && !reference().MatchString(port) && (err != nil || strconv.FormatUint(n, 10) != port) {
		port = "1"
	}
	return strings.Join(labels, ".") + ":" + port
}

// tail is the path, the query and the fragment.
func (m *maker) tail(k key, v string) string {
	v, fragment, hasFragment := strings.Cut(v, "#")
	path, query, hasQuery := strings.Cut(v, "?")
	parts := strings.Split(path, "/")
	for i, p := range parts {
		if p != "" && !reference().MatchString(p) && !(segment(p) && m.keep(p)) {
			parts[i] = m.word(k, p)
		}
	}
	out := strings.Join(parts, "/")
	if hasQuery {
		out += "?" + m.query(k, query)
	}
	if hasFragment {
		out += "#"
		if fragment != "" {
			out += m.word(k, fragment)
		}
	}
	return out
}

func (m *maker) query(k key, query string) string {
	pairs := strings.Split(query, "&")
	for i, p := range pairs {
		name, v, found := strings.Cut(p, "=")
		switch {
		case p == "":
		case !found || !proper(name) || !m.keep(name):
			pairs[i] = m.word(k, p)
		case v != "":
			c := key{strict: k.strict}.child(name)
			small := numberForm().MatchString(v) && len(v) < 6 || wordy(v) && m.keep(v)
			if !switches().MatchString(v) && (c.secret || !small) {
				pairs[i] = name + "=" + m.word(c, v)
			}
		}
	}
	return strings.Join(pairs, "&")
}
