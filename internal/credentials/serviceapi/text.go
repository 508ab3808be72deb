package serviceapi

import (
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// What somebody writes on a forge is read there by more than people: a line may be a
// command. Each reader prepares a text in its own way first (GitLab deletes carriage
// returns), so a text is taken only if all of them read the same in it: no characters
// that one drops and another does not, and no line that is a command in any of the ways
// in which it could begin.

// Unclear says why a text could be read in two ways, or "".
func Unclear(s string) string {
	for rest, r := range strings.ReplaceAll(s, "\r\n", "\n") {
		switch {
		case r == '\n' || r == '\t':
		case unicode.IsControl(r), r == '\u2028', r == '\u2029':
			return fmt.Sprintf("a text holds the control character %U, which not everybody reads in the same way: take it out", r)
		case r == unicode.ReplacementChar, unicode.Is(unicode.Noncharacter_Code_Point, r):
			return fmt.Sprintf("a text holds something at %d that is no character: take it out", rest)
		}
	}
	return ""
}

// htmlComment is what pages do not show.
var htmlComment = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?s)<!--.*?-->`) })

// pathLine is a line that begins with a slash and is no command: its first element ends in
// another slash.
var pathLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^/[A-Za-z0-9._~+-]*/`) })

// Command reports whether a line of a text could be taken for a command: the first
// thing in it that can be seen is a slash, and it is not a path of several elements.
func Command(s string) bool {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	for _, text := range []string{s, strings.ReplaceAll(s, "\r", ""), htmlComment().ReplaceAllString(s, ""), htmlComment().ReplaceAllString(s, "\n")} {
		for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune("\n\r\v\f\u0085\u2028\u2029", r) }) {
			if strings.HasPrefix(strings.TrimSpace(strings.Map(visible, line)), "/") && !pathLine().MatchString(strings.TrimSpace(line)) {
				return true
			}
		}
	}
	return false
}

// visible drops what nobody sees, and makes one space and one slash of all that look
// like them.
func visible(r rune) rune {
	switch {
	case unicode.IsSpace(r):
		return ' '
	case unicode.IsControl(r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.Variation_Selector, r),
		unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r), r == '\u2800':
		return -1
	case strings.ContainsRune("\u2044\u2215\u29f8\uff0f", r):
		return '/'
	}
	return r
}

// robots are GitHub's own, which do with the rights of the writer what a comment asks
// of them: merge, close, push.
var robots = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)@(?:dependabot|copilot)\b`) })

// htmlTag is markup, which stands between letters without parting them.
var htmlTag = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`<[^<>]*>`) })

// callsRobot reports whether a text speaks to one of them, as it is written or as it is
// shown: names are looked for in what Markdown has become.
func callsRobot(s string) bool {
	bare := htmlTag().ReplaceAllString(htmlComment().ReplaceAllString(s, ""), "")
	return slices.ContainsFunc([]string{s, html.UnescapeString(s), html.UnescapeString(bare)}, func(t string) bool { return robots().MatchString(strings.Map(visible, t)) })
}

// judgeTexts holds what a body says to what the forge will read in it, names included.
func (s *Service) judgeTexts(body any) (why string) {
	eachText(body, func(text string) {
		switch {
		case why != "":
		case Unclear(text) != "":
			why = Unclear(text)
		case s.config.Kind == GitLab && Command(text):
			why = "a line that begins with a slash and a word is a command to GitLab: put it in backticks"
		case s.config.Kind == GitHub && callsRobot(text):
			why = "a text that calls a robot of GitHub's has it act: write its name without the @"
		}
	})
	return why
}

// eachText calls f for each string in v, names of members too.
func eachText(v any, f func(string)) {
	switch v := v.(type) {
	case string:
		f(v)
	case []any:
		for _, e := range v {
			eachText(e, f)
		}
	case object:
		for name, e := range v {
			f(name)
			eachText(e, f)
		}
	}
}
