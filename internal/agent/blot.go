package agent

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// Blot returns a value for people, without what would give a secret away: all of it
// under a name that secrets have, else the words that have a secret's shape. Of these
// the beginning stays. Nothing that a shell would run is hidden: a value with blanks or
// with signs of a shell is no token.
func Blot(name, value string, secret func(name string) bool) string {
	s := scrubber{judge: Judge{Secret: secret}}
	if s.secretName(name) && !harmless(value) && tokens().MatchString(value) {
		return blotted(value)
	}
	return s.blot(value)
}

// blot is for text of any kind, JSON too.
func (s *scrubber) blot(text string) string {
	for _, pairs := range []*regexp.Regexp{members(), assignments()} {
		text = replaceSecond(pairs, text, func(name, value string) string {
			if !s.secretName(name) || harmless(value) || !tokens().MatchString(value) {
				return value
			}
			return blotted(value)
		})
	}
	return shapes().ReplaceAllStringFunc(text, func(found string) string {
		if strings.Contains(found, "(a secret") {
			return found
		}
		return blotted(found)
	})
}

// tokens: a text that can be nothing but one.
var tokens = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\w.~+/=:@%-]+$`) })

// members finds "NAME": "VALUE" in JSON.
var members = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`"([\w.-]+)"\s*:\s*"((?:[^"\\]|\\.)*)"`)
})

func blotted(value string) string {
	const begin = 4
	return fmt.Sprintf("%s…(a secret, %d characters)", value[:min(begin, len(value)/4)], len(value))
}

// replaceSecond replaces the second group of each match.
func replaceSecond(re *regexp.Regexp, text string, by func(first, second string) string) string {
	var b strings.Builder
	last := 0
	for _, m := range re.FindAllStringSubmatchIndex(text, -1) {
		b.WriteString(text[last:m[4]])
		b.WriteString(by(text[m[2]:m[3]], text[m[4]:m[5]]))
		last = m[5]
	}
	return b.String() + text[last:]
}
