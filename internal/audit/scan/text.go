package scan

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"ringfence.dev/ringfence/internal/injection"
)

// instructions judges a text that an agent reads and returns it without what nobody
// sees. What goes may bring together what did not stand together before, so it is
// looked at again until nothing goes; of a text without such an end nothing is left.
func instructions(data []byte, secret func(path string) string) judged {
	const rounds = 6
	var hits []hit
	text := string(data)
	for range rounds {
		t := &textJudge{secret: secret}
		next := t.comments(t.lines(text))
		for _, h := range t.hits {
			if !slices.ContainsFunc(hits, func(o hit) bool { return o.kind == h.kind && o.what == h.what && o.line == h.line }) {
				hits = append(hits, h)
			}
		}
		if next == text {
			if len(hits) == 0 {
				return judged{}
			}
			return judged{hits: hits[:min(len(hits), maxTextHits)], neutral: []byte(text), mended: true}
		}
		text = next
	}
	return judged{hits: hits[:min(len(hits), maxTextHits)], neutral: []byte{}, mended: true}
}

// lines judges a text line by line.
func (t *textJudge) lines(text string) string {
	var out strings.Builder
	blank := 0
	for line := range strings.Lines(text) {
		t.line++
		kept := t.look(line)
		if strings.TrimSpace(kept) == "" {
			blank++
			if blank < injection.FarLines {
				out.WriteString(kept)
			}
			continue
		}
		if blank >= injection.FarLines {
			t.add(kFar, fmt.Sprintf("behind %d empty lines: %s", blank, quote(strings.TrimSpace(line))), line)
		}
		blank = 0
		out.WriteString(kept)
	}
	return out.String()
}

type textJudge struct {
	line   int
	hits   []hit
	secret func(path string) string
	work   int
	spent  bool
}

// maxTextHits bounds what is said of one text.
const maxTextHits = 40

func (t *textJudge) add(k kind, what, seed string) {
	if len(t.hits) < maxTextHits {
		t.hits = append(t.hits, hit{kind: k, line: t.line, what: what, seed: seed, full: seed})
	}
}

// look judges one line and returns what is left of it.
func (t *textJudge) look(line string) string {
	line = t.characters(line)
	if strings.IndexByte(line, '<') >= 0 {
		if !t.may(len(line)) {
			return "\n"
		}
		if concealed(line) {
			t.add(kStyle, quote(strings.TrimSpace(line)), line)
			return "\n"
		}
	}
	if at := farRight(line); at >= 0 {
		t.add(kFar, "behind many spaces: "+quote(strings.TrimSpace(line[at:])), line)
		line = strings.TrimRight(line[:at], " \t") + "\n"
	}
	if n := longest(line); n >= blobSize && !strings.Contains(line, "data:image/") {
		t.add(kBlob, fmt.Sprintf("a block of %d characters", n), line)
	}
	if strings.IndexByte(line, '@') < 0 {
		return line
	}
	if !t.may(len(line)) {
		return "\n"
	}
	for _, m := range imported().FindAllStringSubmatch(line, maxTextHits) {
		if what := t.secret(m[1]); what != "" {
			t.add(kImport, quote("@"+m[1])+" is "+what, line)
			line = strings.ReplaceAll(line, "@"+m[1], m[1])
		}
	}
	return line
}

// concealed holds for a line with a tag whose content nobody sees.
func concealed(line string) bool {
	for rest := line; ; {
		i := strings.IndexByte(rest, '<')
		if i < 0 {
			return false
		}
		rest = rest[i:]
		end := strings.IndexByte(rest, '>') + 1
		if end == 0 {
			end = len(rest)
		}
		if injection.Concealed(rest[:end]) {
			return true
		}
		rest = rest[1:]
	}
}

// may spends the time that a text gets: patterns are slow, and a text can be made for
// that. What is left over is said, and goes.
func (t *textJudge) may(n int) bool {
	if t.work += n; t.work > maxWork && !t.spent {
		t.spent = true
		t.add(kUnclear, "more of it than is looked into", "")
	}
	return !t.spent
}

const (
	maxWork  = 96 << 10
	blobSize = 600
)

// farRight returns where text goes on behind many spaces, -1 if it does not.
func farRight(line string) int {
	n := 0
	for i := range len(line) {
		switch line[i] {
		case ' ', '\t':
			n++
		case '\r', '\n':
		default:
			if n >= injection.FarSpace {
				return i
			}
			n = 0
		}
	}
	return -1
}

// longest is the length of the longest run of characters that encoded bytes have.
func longest(line string) int {
	most, n := 0, 0
	for i := range len(line) {
		c := line[i]
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '+' || c == '/' || c == '=' || c == '_' || c == '-' {
			n++
			most = max(most, n)
		} else {
			n = 0
		}
	}
	return most
}

var imported = pattern(`(?:^|\s)@((?:~|/|\.\.)[^\s` + "`" + `]*)`)

// comments takes out those that give orders. A page does not show them, an agent
// reads them.
func (t *textJudge) comments(text string) string {
	var out strings.Builder
	last := 0
	for _, at := range injection.Comments(text) {
		c := text[at[0]:at[1]]
		plain := strings.Join(strings.Fields(c), " ")
		if t.may(4 * len(plain)) {
			if !injection.Orders(plain) {
				continue
			}
			t.line = 1 + strings.Count(text[:at[0]], "\n")
			t.add(kComment, quote(plain), c)
		}
		out.WriteString(text[last:at[0]] + " ")
		last = at[1]
	}
	out.WriteString(text[last:])
	return out.String()
}

// characters judges what cannot be seen, and takes it out.
func (t *textJudge) characters(line string) string {
	if plainText(line) {
		return line
	}
	runes := []rune(line)
	rtl := injection.RightToLeft(runes)
	var kept strings.Builder
	var unseen, turning []rune
	for i := 0; i < len(runes); {
		n, what := injection.Unseen(runes, i, t.line == 1 && i == 0, rtl)
		switch what {
		case 0:
			kept.WriteString(string(runes[i : i+n]))
		case injection.Turns:
			turning = append(turning, runes[i:i+n]...)
		default:
			unseen = append(unseen, runes[i:i+n]...)
		}
		i += n
	}
	if len(unseen) > 0 {
		t.add(kHidden, spelt(unseen), line)
	}
	if len(turning) > 0 {
		t.add(kBidi, spelt(turning), line)
	}
	return kept.String()
}

func plainText(line string) bool {
	for i := range len(line) {
		if c := line[i]; c >= utf8.RuneSelf || c < ' ' && c != '\t' && c != '\n' && c != '\r' || c == 0x7f {
			return false
		}
	}
	return true
}

// spelt tells hidden characters apart, and what tags spell.
func spelt(rs []rune) string {
	var tags strings.Builder
	for _, r := range rs {
		if 0xe0020 <= r && r <= 0xe007e {
			tags.WriteRune(r - 0xe0000)
		}
	}
	out := fmt.Sprintf("%d hidden characters, the first is %U", len(rs), rs[0])
	if len(rs) == 1 {
		out = fmt.Sprintf("a hidden character, %U", rs[0])
	}
	if tags.Len() > 0 {
		out += ", which spell " + quote(tags.String())
	}
	return out
}
