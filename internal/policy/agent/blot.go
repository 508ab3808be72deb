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
// with signs of a shell is no token, and neither is what can be a path. What is shown too
// much is in the repository anyway; what is hidden too much could run.
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
			if !s.secretName(name) || harmless(value) || !tokens().MatchString(value) || expanded(text, name) {
				return value
			}
			return blotted(value)
		})
	}
	var b strings.Builder
	last := 0
	for _, m := range shapes().FindAllStringIndex(text, -1) {
		b.WriteString(text[last:m[0]])
		last = m[1]
		if found := text[m[0]:m[1]]; strings.Contains(found, "(a secret") || inPath(text, m[0], m[1]) || started().MatchString(text[:m[0]]) {
			b.WriteString(found)
		} else {
			b.WriteString(blotted(found))
		}
	}
	return b.String() + text[last:]
}

// inPath holds for a part of a path, or the name of a file: ./ghp_…/../run.sh, sk-….js.
func inPath(text string, start, end int) bool {
	found := text[start:end]
	switch {
	case strings.Contains(found, "://"), strings.HasPrefix(found, "-----"):
		return false
	case strings.ContainsAny(found, "/."):
		_, value, of := strings.Cut(found, " ") // bearer ./run.sh
		return of && strings.HasPrefix(strings.TrimLeft(value, " \t"), ".") || of && strings.HasPrefix(strings.TrimLeft(value, " \t"), "/")
	}
	return start > 0 && strings.IndexByte("/\\.", text[start-1]) >= 0 || end < len(text) && strings.IndexByte("/\\.", text[end]) >= 0
}

// expanded holds for a variable that the same text puts in somewhere: that may be a
// command.
func expanded(text, name string) bool {
	return strings.Contains(text, "$"+name) || strings.Contains(text, "${"+name)
}

// started: what follows is a program, or a text for a shell.
var started = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)"(?:command|cmd|run|program|exec)"\s*:\s*\[?\s*"$|"-\w*c"\s*,\s*"$`)
})

// tokens: a text that can be nothing but one. What has a slash, or an ending, can be a path.
var tokens = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[\w~+=:@%-]+(?:\.[\w~+=-]{8,})*$`)
})

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
