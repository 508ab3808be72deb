package scan

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"ringfence.dev/ringfence/internal/workspace/hostexec"
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
			if blank < farLines {
				out.WriteString(kept)
			}
			continue
		}
		if blank >= farLines {
			t.add(kFar, fmt.Sprintf("behind %d empty lines: %s", blank, quote(strings.TrimSpace(line))), line)
		}
		blank = 0
		out.WriteString(kept)
	}
	return out.String()
}

// farLines without a word are more than a screen.
const farLines = 80

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
		if style().MatchString(line) {
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
	farSpace = 160 // a table may be wide; nobody aligns by so much
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
			if n >= farSpace {
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

var (
	style    = pattern(`(?i)<[a-z][^>]*(?:style\s*=\s*["'](?:[^"'>]*[;\s])?(?:display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*[01](?:px|pt|em|%)?\s*[;"']|opacity\s*:\s*0(?:\.0+)?\s*[;"']|color\s*:\s*(?:white|transparent|#fff(?:fff)?)\b)|\shidden(?:\s|>|=))`)
	imported = pattern(`(?:^|\s)@((?:~|/|\.\.)[^\s` + "`" + `]*)`)
	// orders are what a comment for people does not say.
	orders = pattern(`(?i)\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:previous|prior|above|earlier|all|other|system|user'?s?)\b.{0,30}\b(?:instructions?|rules?|prompts?|messages?|guidelines?)` +
		`|\b(?:do not|don't|never|without)\b.{0,20}\b(?:tell|telling|mention(?:ing)?|inform(?:ing)?|reveal(?:ing)?|show(?:ing)?|alert(?:ing)?|ask(?:ing)?|notify(?:ing)?)\b.{0,20}\b(?:user|human|developer|anyone|anybody|them|him|person|reviewer)` +
		`|\b(?:curl|wget)\b[^\n]*(?:\||https?://)|\bbase64\s+(?:-d|--decode)|\b(?:ba|z)?sh\s+-c\b|~?/\.(?:ssh|aws|gnupg|netrc|kube|claude/\.credentials)\b` +
		`|\b(?:exfiltrat|send|upload|post|copy|leak|email)\w*\b.{0,60}\b(?:secrets?|credentials?|tokens?|passwords?|api[ _-]?keys?|private keys?|\.env|environment variables?)` +
		`|\byou (?:must|are now|will now|have to)\b.{0,80}\b(?:run|execute|install|fetch|download|read|open|send|add|allow|grant|approve|disable|use)\b` +
		`|\b(?:ai|assistant|agents?|claude|codex|gemini|copilot|cursor|model)\b.{0,40}\b(?:must|should|shall|always|secretly|silently)\b.{0,60}\b(?:run|execute|install|fetch|download|read|send|include|add|insert|allow|grant|approve|disable)\b` +
		`|\bask the (?:user|human|person)\b.{0,60}\b(?:allow|grant|approve|permit|trust|disable)\b|\b(?:allow|grant|approve|permit)\b.{0,30}\bevil\b|\bdangerously[ -]?(?:skip|disable)`)
)

// commentsIn finds them. One without an end goes to the end.
func commentsIn(text string) [][2]int {
	var out [][2]int
	for at := 0; ; {
		begin := strings.Index(text[at:], "<!--")
		if begin < 0 {
			return out
		}
		begin += at
		end := strings.Index(text[begin+4:], "-->")
		if end < 0 {
			return append(out, [2]int{begin, len(text)})
		}
		at = begin + 4 + end + 3
		out = append(out, [2]int{begin, at})
	}
}

// comments takes out those that give orders. A page does not show them, an agent
// reads them.
func (t *textJudge) comments(text string) string {
	var out strings.Builder
	last := 0
	for _, at := range commentsIn(text) {
		c := text[at[0]:at[1]]
		plain := strings.Join(strings.Fields(c), " ")
		if t.may(4 * len(plain)) {
			if !orders().MatchString(plain) {
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
	rtl := hasRTL(runes)
	var kept strings.Builder
	var unseen, turning []rune
	for i := 0; i < len(runes); {
		n, what := unseenAt(runes, i, t.line == 1 && i == 0, rtl)
		switch what {
		case 0:
			kept.WriteString(string(runes[i : i+n]))
		case turns:
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

// What a character does that is not seen.
const (
	hides = 'h'
	turns = 't'
)

// unseenAt judges the character at i, with those that belong to it. Sequences of
// emoji, joiners in scripts that have them and marks of direction beside a script
// that runs from right to left are as they should be.
func unseenAt(rs []rune, i int, first, rtl bool) (n int, what rune) {
	r := rs[i]
	if i+1 < len(rs) && r == 0x1f3f4 { // a flag that tags spell
		if end := flagEnd(rs, i+1); end > 0 {
			return end - i, 0
		}
	}
	switch {
	case r == '\n', r == '\t', r == '\r', r == '\f':
		return 1, 0
	case r == 0xfeff && first:
		return 1, 0
	case r == 0x202d, r == 0x202e:
		return 1, turns
	case 0x202a <= r && r <= 0x202c, 0x2066 <= r && r <= 0x2069, r == 0x200e, r == 0x200f, r == 0x61c:
		if rtl {
			return 1, 0
		}
		return 1, turns
	case r == 0x200c, r == 0x200d:
		if joins(rs, i) {
			return 1, 0
		}
		return 1, hides
	case 0xfe00 <= r && r <= 0xfe0f, 0xe0100 <= r && r <= 0xe01ef:
		if i > 0 && selectable(rs[i-1]) {
			return 1, 0
		}
		return 1, hides
	case r == 0xad: // where a word may be broken
		if i > 0 && i+1 < len(rs) && unicode.IsLetter(rs[i-1]) && unicode.IsLetter(rs[i+1]) {
			return 1, 0
		}
		return 1, hides
	case hostexec.Invisible(r):
		return 1, hides
	}
	return 1, 0
}

// flagEnd returns where the tags of a flag end: a few lower-case letters and digits,
// then the tag that cancels.
func flagEnd(rs []rune, i int) int {
	for n := i; n < len(rs) && n-i <= 6; n++ {
		r := rs[n]
		if r == 0xe007f && n-i >= 3 {
			return n + 1
		}
		if !(0xe0061 <= r && r <= 0xe007a || 0xe0030 <= r && r <= 0xe0039) {
			return 0
		}
	}
	return 0
}

// joins reports whether a joiner stands between what it is for: emoji, or letters of
// a script whose shapes depend on it.
func joins(rs []rune, i int) bool {
	if i == 0 || i+1 >= len(rs) {
		return false
	}
	before, after := rs[i-1], rs[i+1]
	if rs[i] == 0x200d && (symbol(before) || before == 0xfe0f || 0x1f3fb <= before && before <= 0x1f3ff) && symbol(after) {
		return true
	}
	return shaped(before) && (shaped(after) || unicode.IsSpace(after) || unicode.IsPunct(after))
}

func symbol(r rune) bool {
	return 0x1f000 <= r && r <= 0x1faff || 0x2190 <= r && r <= 0x2bff || 0x3030 <= r && r <= 0x3299
}

func shaped(r rune) bool {
	return unicode.In(r, unicode.Arabic, unicode.Syriac, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil,
		unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Mongolian, unicode.Khmer, unicode.Myanmar, unicode.Tibetan, unicode.Nko, unicode.Thaana)
}

// selectable: a variation selector behind it chooses a shape.
func selectable(r rune) bool {
	return symbol(r) || unicode.In(r, unicode.Han, unicode.Mongolian, unicode.Myanmar, unicode.Phags_Pa) || 0x2000 <= r && r < 0x2190 && !hostexec.Invisible(r) && unicode.IsGraphic(r) ||
		r == '#' || r == '*' || '0' <= r && r <= '9' || r == 0xa9 || r == 0xae || 0x2194 <= r && r <= 0x2bff || unicode.Is(unicode.So, r) || unicode.Is(unicode.Sm, r)
}

func hasRTL(rs []rune) bool {
	for _, r := range rs {
		if unicode.IsLetter(r) && unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana, unicode.Nko, unicode.Samaritan, unicode.Mandaic, unicode.Adlam) {
			return true
		}
	}
	return false
}
