package leakscan

import "strings"

// FindName looks through the name of a host, where a secret has dots in between and
// may have lost its case on the way.
func (s *Set) FindName(host string) (name, form string, found bool) {
	s.names().each([]byte(fold(host)), func(m match) bool {
		name, form, found = m.name, m.form, true
		return false
	})
	return name, form, found
}

func fold(text string) string { return strings.ReplaceAll(strings.ToLower(text), ".", "") }

// folded is the spellings that a name can hold, as it would hold them.
func folded(all []spelling) (kept []spelling) {
	known := map[string]bool{}
	for _, s := range all {
		s.text = fold(s.text)
		if len(s.text) < s.need || known[s.text] || strings.Trim(s.text, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			continue
		}
		known[s.text] = true
		kept = append(kept, s)
	}
	return kept
}
