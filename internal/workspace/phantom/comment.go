package phantom

import "strings"

// hidden stands for a word of a comment that is not shown.
const hidden = "***"

// comment shows of a comment what is prose. After "password:" and the like nothing is.
func (m *masker) comment(s string) string {
	out, shown := m.words(s)
	if shown {
		return s
	}
	return out
}

// prose reports whether a text can be shown as a whole.
func (m *masker) prose(s string) bool {
	for line := range strings.Lines(s) {
		if _, shown := m.words(line); !shown {
			return false
		}
	}
	return true
}

func (m *masker) words(s string) (out string, shown bool) {
	shown = true
	var b strings.Builder
	told, last := false, false // a secret follows; the word before was one for a secret
	for rest := s; rest != ""; {
		n := len(rest) - len(strings.TrimLeft(rest, " \t\r\n"))
		b.WriteString(rest[:n])
		rest = rest[n:]
		end := strings.IndexAny(rest, " \t\r\n")
		if end < 0 {
			end = len(rest)
		}
		word := rest[:end]
		rest = rest[end:]
		if word == "" {
			continue
		}
		core := strings.Trim(word, `"'()[]<>,.;:!?`+"`")
		told = told || last && (core == "is" || core == "was" || core == "" || core == "=" || core == "->")
		if told && core != "" || !m.speakable(word, core) {
			word, shown = hidden, false
		}
		b.WriteString(word)
		strong, weak := secretPart(split(core))
		last = strong || weak
		told = told || last && strings.ContainsAny(word[len(word)-1:], ":=")
	}
	return b.String(), shown
}

// speakable reports whether a word of prose can be shown.
func (m *masker) speakable(word, core string) bool {
	if core == "" {
		return len(word) <= 8
	}
	if rule := strings.TrimLeft(core, core[:1]); rule == "" && strings.Contains("-=#*_~.+|", core[:1]) {
		return true
	}
	good := wordy(core) || plain(core) || len(core) < 40 && compound(core, "-_/'", wordy) || allIn(core, "-+&|")
	return good && few(core) && (m.keep(core) || strings.ToLower(core) == core && wordy(core) && len(core) < 8)
}
