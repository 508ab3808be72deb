package phantom

import (
	"strings"
)

// netrcFile: words in any layout, each login of a machine.
func (m *masker) netrcFile(s string) (string, Kind) {
	last := ""
	return m.eachLine(s, func(line string) string {
		words := strings.Fields(line)
		for i, word := range words {
			words[i] = m.netrcWord(last, word)
			if last = word; words[i] != word || word == "default" {
				last = ""
			}
		}
		return strings.Join(words, " ")
	}), Values
}

var netrcWords = set("machine default login user password account port")

// netrcWord is a word after another. A word of the language is one only where none of
// them waits for its value.
func (m *masker) netrcWord(last, word string) string {
	if !netrcWords[last] && netrcWords[word] {
		return word
	}
	switch k := (key{}).child(last); {
	case last == "machine" && (isHost(word) || wordy(word)) && m.keep(word),
		(last == "login" || last == "user") && wordy(word) && m.keep(word):
		return word
	default:
		return m.opaque(k, word)
	}
}

// pgpassFile: host:port:database:user:password.
func (m *masker) pgpassFile(s string) (string, Kind) {
	return m.eachLine(s, func(line string) string {
		parts := splitEscaped(line)
		if len(parts) != 5 {
			return "#"
		}
		for i, name := range []string{"host", "port", "database", "user", "password"} {
			if parts[i] != "*" {
				parts[i] = m.value(key{}.child(name), parts[i])
			}
			if strings.Contains(parts[i], ":") {
				parts[i] = m.opaque(key{name: name}, parts[i])
			}
		}
		return strings.Join(parts, ":")
	}), Values
}

// splitEscaped parts a line at each colon without a backslash before it.
func splitEscaped(line string) []string {
	var parts []string
	from := 0
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case ':':
			parts = append(parts, line[from:i])
			from = i + 1
		}
	}
	return append(parts, line[from:])
}

// htpasswdFile: user:hash.
func (m *masker) htpasswdFile(s string) (string, Kind) {
	return m.eachLine(s, func(line string) string {
		user, hash, ok := strings.Cut(line, ":")
		if !ok || hash == "" {
			return "#"
		}
		if !wordy(user) || !m.keep(user) {
			user = m.opaque(key{name: "user"}, user)
		}
		return user + ":" + m.opaque(key{name: "hash"}, hash)
	}), Values
}

// urlsFile: one URL a line, as git's store of credentials has them.
func (m *masker) urlsFile(s string) (string, Kind) {
	return m.eachLine(s, func(line string) string { return m.value(key{name: "url"}, line) }), Values
}

// eachLine replaces each line that is neither empty nor a comment.
func (m *masker) eachLine(s string, mask func(string) string) string {
	e := edit{masker: m, in: s}
	for e.at < len(s) && !m.spent() {
		line := e.line(e.at)
		bare := strings.TrimSpace(line)
		if strings.HasPrefix(bare, "#") {
			bare = "#" + m.comment(bare[1:])
		} else if bare != "" {
			bare = mask(bare)
		}
		e.put(e.at, e.at+len(line), bare)
		e.endLine()
	}
	return string(e.out)
}
