// Package netrc finds a login in a netrc file, where go, pip, curl and others look for
// one. Macros are skipped, as those programs do.
package netrc

import "strings"

// Login is what the file has for a host.
type Login struct{ User, Password string }

// Find is the first entry for a host by its very name. The default entry is for any
// host and therefore for none: a login goes to the host that it was written for.
func Find(data []byte, host string) (Login, bool) {
	var l Login
	ours := false
	words := words(string(data))
	for i := 0; i < len(words); i++ {
		word := func() string {
			if i++; i < len(words) {
				return words[i]
			}
			return ""
		}
		switch words[i] {
		case "machine":
			if ours && l.Password != "" {
				return l, true
			}
			l, ours = Login{}, strings.EqualFold(word(), host)
		case "default":
			if ours && l.Password != "" {
				return l, true
			}
			l, ours = Login{}, false
		case "login":
			l.User = word()
		case "password":
			l.Password = word()
		case "account":
			word()
		}
	}
	return l, ours && l.Password != ""
}

// words splits a file, without comments and without macros, which end at an empty line.
func words(text string) (out []string) {
	macro := false
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if macro {
			macro = len(f) > 0
			continue
		}
		for _, w := range f {
			if w[0] == '#' && len(out) > 0 && out[len(out)-1] != "password" || w[0] == '#' && len(out) == 0 {
				break
			}
			if w == "macdef" {
				macro = true
				break
			}
			out = append(out, w)
		}
	}
	return out
}
