package injection

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// word is one that means something to us.
type word struct {
	is       meaning
	n        int32 // how many words were before
	at, end  int32
	sentence int32
	lead     bool   // an order may begin with it
	colon    bool   // a colon follows
	negated  bool   // the word before says no
	soft     bool   // a file that every project has, an address of a person
	command  int32  // how many lines of commands were before
	part     string // of a name that is made of words; empty: all of it
}

// reader takes a text apart. It keeps the words that mean something, and forgets the
// others.
type reader struct {
	text     string
	known    map[string]meaning
	out      []word
	n        int32
	sentence int32
	last     meaning // of the word before
	lastIn   int32   // its sentence
	lead     bool
	newlines int
	line     bool // nothing but blanks since the line began
	command  int32
	commands bool // this line is one
	to       bool // the word before is "to"
	buf      []byte
}

func read(text string) []word {
	r := &reader{text: text, known: words(), lead: true, line: true}
	for at := 0; at < len(text); {
		at = r.step(at)
	}
	return r.out
}

// step reads what is at a place, and says where the next begins.
func (r *reader) step(at int) int {
	switch c := r.text[at]; {
	case c == '\n':
		if r.newlines++; r.newlines > 1 {
			r.sentence++
		}
		if r.commands && (at == 0 || r.text[at-1] != '\\') {
			r.command++
			r.commands = false
		}
		r.lead, r.line = true, true
		return at + 1
	case c == ' ', c == '\t', c == '\r':
		return at + 1
	case c == '\\' && at+1 < len(r.text) && strings.IndexByte("nrt", r.text[at+1]) >= 0:
		r.lead = true
		return at + 2
	case c == '\x1b':
		return at + max(1, sequence(r.text[at:]))
	case c == '|':
		r.put(word{is: mPipe}, at, at+1)
		return at + 1
	case c == '<' || c == '[':
		if n, is := marker(r.text[at:]); n > 0 {
			r.put(word{is: is}, at, at+n)
			r.lead = true
			return at + n
		}
		r.lead = true
		return at + 1
	case c < utf8.RuneSelf && !wordBytes[c]:
		if strings.IndexByte(`>]"'(;:!?*#-.`+"`", c) >= 0 {
			r.lead = true
		}
		if c == '{' || c == '}' || (c == '!' || c == '?') && (at+1 == len(r.text) || !wordBytes[r.text[at+1]]) {
			r.sentence++
		}
		return at + 1
	}
	return r.chunk(at)
}

// sequence is the length of one for a terminal, 0 if none begins a text.
func sequence(text string) int {
	const most = 64
	text = text[:min(len(text), most)]
	if !strings.HasPrefix(text, "\x1b[") {
		return 0
	}
	end := strings.IndexFunc(text[2:], func(c rune) bool { return (c < '0' || c > '9') && c != ';' && c != ':' && c != '?' })
	if end < 0 || !letter(text[2+end]) {
		return 0
	}
	return 2 + end + 1
}

// wordBytes are what words, names of files and addresses are made of.
var wordBytes = func() (out [256]bool) {
	for c := range out {
		c := byte(c)
		out[c] = 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("_-./~@:'&#%$=+", c) >= 0 || c >= utf8.RuneSelf
	}
	return out
}()

// chunk reads a word, a path or an address.
func (r *reader) chunk(at int) int {
	first, size := utf8.DecodeRuneInString(r.text[at:])
	if unspaced(first) {
		return r.unspaced(at)
	}
	if first >= utf8.RuneSelf && !unicode.IsLetter(first) && !Invisible(first) && first != 0x200c && first != 0x200d {
		r.lead = true
		if first == '。' || first == '！' || first == '？' {
			r.sentence++
		}
		return at + size
	}
	end, odd := r.extent(at)
	if end == at {
		return at + size // nothing that a word is made of
	}
	raw := r.text[at:end]
	stop := strings.HasSuffix(raw, ".")
	body := strings.TrimRight(raw, ".:'-_=#&")
	if entityLen(raw) == 0 {
		body = strings.TrimLeft(body, ".:;'-_=#&")
	}
	if body == "" {
		if r.lead = true; raw == "." {
			r.sentence++
		}
		return end
	}
	from := at + strings.Index(raw, body)
	if from > at && (raw[0] == '.' || raw[0] == '~') {
		from, body = at, r.text[at:from+len(body)] // a hidden file
	}
	r.name(body, from, odd, strings.HasSuffix(raw, ":"))
	if stop {
		r.sentence++
		r.lead = true
	}
	if strings.HasSuffix(raw, ":") {
		r.lead = !changes[body]
	}
	return end
}

// changes are how the heads of commits begin: what follows tells what was done.
var changes = set("fix feat chore refactor docs perf revert style build test ci")

// tools are what lines of commands begin with. What one command reads is not what the next
// one sends.
var tools = set("curl wget cp mv docker docker-compose npm npx pnpm yarn git aws kubectl helm ssh scp rsync ssh-keygen chmod export cd mkdir sudo make pip pip3 go cargo cat echo source tar unzip brew apt apt-get gh gcloud az terraform rm ln touch vim nano systemctl run")

func set(list string) map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		out[w] = true
	}
	return out
}

// extent is where a chunk ends, and whether it holds what has to be folded.
func (r *reader) extent(at int) (end int, odd bool) {
	const most = 512
	for end = at; end < len(r.text) && end-at < most; {
		c := r.text[end]
		if c < utf8.RuneSelf {
			if !wordBytes[c] {
				return end, odd
			}
			odd = odd || c == '&' || c >= 'A' && c <= 'Z'
			if c == '&' {
				if n := entityLen(r.text[end:]); n > 0 {
					end += n
					continue
				}
			}
			end++
			continue
		}
		ru, size := utf8.DecodeRuneInString(r.text[end:])
		if unspaced(ru) || !unicode.IsLetter(ru) && !unicode.Is(unicode.Mn, ru) && !unseenInWord(ru) {
			return end, odd
		}
		odd = true
		end += size
	}
	return end, odd
}

// unseenInWord holds for what may stand in a word and is not seen.
func unseenInWord(r rune) bool {
	return Invisible(r) && r >= 0xad || r == 0xad || r == 0x200c || r == 0x200d || r == 0x200e || r == 0x200f || isSelector(r)
}

// name finds out what a chunk means.
func (r *reader) name(body string, at int, odd, colon bool) {
	plain := body
	if odd {
		plain = r.fold(body)
	}
	if plain == "" {
		return // hidden characters alone
	}
	if r.line && tools[plain] && !r.commands {
		r.command++
		r.commands = true
	}
	if api[plain] {
		r.forgive()
	}
	w := word{colon: colon}
	switch m := r.known[plain]; {
	case m&mFetch != 0:
		if w.is = m; sends(r.text[at+len(body):]) {
			w.is |= mSend
		}
	case m != 0:
		w.is = m
	case strings.Contains(plain, "://"):
		w.is = addressMeaning(plain)
	case strings.ContainsAny(plain, "/~") || plain[0] == '.' || strings.HasPrefix(plain, "id_"):
		w.is, w.soft = pathMeaning(plain)
	case strings.Contains(plain, "@") && strings.Contains(plain[strings.Index(plain, "@"):], "."):
		w.is, w.soft = mTo, true
	case numeric(plain) || r.to && hostLike(plain):
		w.is = addressMeaning(plain)
	case strings.ContainsAny(plain, "_-.=&:@$"):
		r.parts(plain, at, at+len(body), colon)
		return
	}
	r.turn(&w, at)
	r.put(w, at, at+len(body))
	r.to = plain == "to"
}

// api are words of those who explain how a request is made.
var api = set("header headers authorization bearer authentication")

// forgive makes keys of a sentence harmless: "send your key in the header".
func (r *reader) forgive() {
	for i := len(r.out) - 1; i >= 0 && i >= len(r.out)-16 && r.out[i].sentence == r.sentence; i-- {
		r.out[i].is &^= mSecret
	}
}

// sends holds for the rest of a command line that takes something along.
func sends(rest string) bool {
	const most = 300
	rest = rest[:min(len(rest), most)]
	for at := 0; ; at++ {
		i := strings.IndexByte(rest[at:], '\n')
		if i < 0 {
			break
		}
		if at += i; at == 0 || rest[at-1] != '\\' {
			rest = rest[:at]
			break
		}
	}
	for _, s := range []string{" -d", " -F", " -T", " --data", " --form", " --upload", " --post", " --body", "@", " -X POST", " -XPOST", "$(", "`"} {
		if strings.Contains(rest, s) {
			return true
		}
	}
	return false
}

// turn marks a role that begins a line, as in a log of a conversation.
func (r *reader) turn(w *word, at int) {
	if w.colon && r.line && (w.is&mAgent != 0 || w.is&mPerson != 0) && (at == 0 || r.text[at-1] == '\n') {
		w.is |= mTurn
	}
}

// parts reads a name that is made of words: api_key=x, send-token.
func (r *reader) parts(plain string, at, end int, colon bool) {
	for i, p := range strings.FieldsFunc(plain, func(c rune) bool { return strings.ContainsRune("_-.=&:@$'", c) }) {
		if i >= 8 {
			return
		}
		r.put(word{is: r.known[p], colon: colon, part: p}, at, end)
	}
}

// put counts a word, and keeps it if it means something.
func (r *reader) put(w word, at, end int) {
	r.n++
	if w.is != 0 {
		w.n, w.at, w.end, w.sentence, w.command = r.n, int32(at), int32(end), r.sentence, r.command
		w.lead = r.lead || r.last&(mLead|mAgent) != 0
		w.negated = r.last&mNeg != 0 && r.lastIn == r.sentence
		r.out = append(r.out, w)
	}
	r.last, r.lastIn, r.lead, r.newlines, r.line, r.to = w.is, r.sentence, false, 0, false, false
}

// inQuotes reports whether a place of a text lies in a quotation that began on its line.
func inQuotes(text string, at int32) bool {
	const most = 240
	line := text[max(0, int(at)-most):at]
	line = line[strings.LastIndexByte(line, '\n')+1:]
	if strings.Count(line, `"`)%2 == 1 || strings.Count(line, "`")%2 == 1 {
		return true
	}
	for _, pair := range []string{"“”", "«»", "„“", "「」", "『』"} {
		open, size := utf8.DecodeRuneInString(pair)
		if i := strings.LastIndex(line, string(open)); i >= 0 && !strings.Contains(line[i:], pair[size:]) {
			return true
		}
	}
	return false
}

// unspaced holds for scripts that have no spaces between words, or endings upon them.
func unspaced(r rune) bool {
	return r >= 0x1100 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) || r == 'ー'
}

// unspaced reads the longest known word at a place. Three characters that are none count
// as a word.
func (r *reader) unspaced(at int) int {
	var ends [longestUnspaced]int
	n, end := 0, at
	for n < longestUnspaced && end < len(r.text) {
		c, size := utf8.DecodeRuneInString(r.text[end:])
		if !unspaced(c) {
			break
		}
		end += size
		ends[n] = end
		n++
	}
	for ; n > 0; n-- {
		if m := r.known[r.text[at:ends[n-1]]]; m != 0 {
			r.put(word{is: m}, at, ends[n-1])
			return ends[n-1]
		}
	}
	if at%3 == 0 { // they have three bytes each
		r.n++
	}
	r.last = 0
	return ends[0]
}
