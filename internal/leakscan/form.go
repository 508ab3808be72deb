package leakscan

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// How much of a secret must be seen to count.
const (
	leastBytes = 10 // of the secret
	leastText  = 16 // of its writing
)

// spelling is one writing of one secret.
type spelling struct {
	name, form string
	text       string
	need       int // a run of so many bytes of text counts
}

// forms are the ways to write a secret, the likely ones first: if two come to the
// same text, the first gives it its name.
var forms = []struct {
	name  string
	echo  bool // a server that reflects a secret may write it so
	write func(string) []string
}{
	{"plain", true, func(s string) []string { return []string{s} }},
	{"json", true, jsonText},
	{"html", true, func(s string) []string { return []string{html.EscapeString(s)} }},
	{"percent", true, percent},
	{"hex", true, func(s string) []string { return cases(hex.EncodeToString([]byte(s))) }},
	{"base64", true, base64Text},
	{"base64 twice", false, func(s string) []string { return again(base64Text(s)) }},
	{"base32", false, base32Text},
	{"reversed", false, func(s string) []string { return []string{reversed(s)} }},
	{"rot13", false, func(s string) []string { return []string{strings.Map(rot13, s)} }},
	{"percent, all of it", false, func(s string) []string { return cases(bytewise(s, "%%%02x", "")) }},
	{"escapes", false, func(s string) []string { return []string{bytewise(s, `\x%02x`, "")} }},
	{"hex dump", false, dumps},
	{"numbers", false, func(s string) []string { return []string{bytewise(s, "%d", ","), bytewise(s, "%d", ", ")} }},
}

// spellings writes every secret in every form, or in those that an echo may have.
func spellings(secrets []Named, echo bool) (all []spelling) {
	for _, n := range secrets {
		known := map[string]bool{}
		for _, f := range forms {
			if echo && !f.echo {
				continue
			}
			for _, text := range f.write(n.Secret) {
				if known[text] || len(text) < Shortest {
					continue
				}
				known[text] = true
				need := max(leastText, (leastBytes*len(text)+len(n.Secret)-1)/len(n.Secret))
				all = append(all, spelling{name: n.Name, form: f.name, text: text, need: min(need, len(text))})
			}
		}
	}
	return all
}

func jsonText(s string) []string {
	b, err := json.Marshal(s)
	if err != nil || !utf8.ValidString(s) { // JSON cannot hold it
		return nil
	}
	text := string(b[1 : len(b)-1])
	return []string{text, strings.ReplaceAll(text, "/", `\/`)}
}

var escape = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`%[0-9A-F]{2}`) })

func percent(s string) (all []string) {
	for _, upper := range []string{url.QueryEscape(s), url.PathEscape(s)} {
		all = append(all, upper, escape().ReplaceAllStringFunc(upper, strings.ToLower))
	}
	return all
}

func cases(lower string) []string { return []string{lower, strings.ToUpper(lower)} }

// base64Text is what of a secret's base64 is the same whatever stands before and
// after, for each of the three ways in which it may lie.
func base64Text(s string) (all []string) {
	for before := range 3 {
		text := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("\x00", before) + s))
		text = inner(text, before, len(s), 6)
		all = append(all, text, strings.NewReplacer("+", "-", "/", "_").Replace(text))
	}
	return all
}

// again is base64 of what was base64 before.
func again(texts []string) (all []string) {
	for _, t := range texts {
		all = append(all, base64Text(t)...)
	}
	return all
}

func base32Text(s string) (all []string) {
	for before := range 5 {
		text := base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString([]byte(strings.Repeat("\x00", before) + s))
		all = append(all, inner(text, before, len(s), 5))
	}
	return all
}

// inner cuts off the characters that hold a bit of the bytes before, or of those
// that may follow.
func inner(text string, before, length, bits int) string {
	return text[(before*8+bits-1)/bits : (before+length)*8/bits]
}

func reversed(s string) string {
	b := []byte(s)
	slices.Reverse(b)
	return string(b)
}

func rot13(r rune) rune {
	switch {
	case 'a' <= r && r <= 'z':
		return 'a' + (r-'a'+13)%26
	case 'A' <= r && r <= 'Z':
		return 'A' + (r-'A'+13)%26
	}
	return r
}

func bytewise(s, verb, between string) string {
	each := make([]string, len(s))
	for i := range len(s) {
		each[i] = fmt.Sprintf(verb, s[i])
	}
	return strings.Join(each, between)
}

// dumps are bytes one by one, and two by two as xxd has them. What else stands in a
// line of a dump, the bytes as they are, is plain.
func dumps(s string) []string {
	all := cases(bytewise(s, "%02x", " "))
	for first := range 2 {
		var b strings.Builder
		for i := range len(s) {
			if i > 0 && i%2 == first {
				b.WriteByte(' ')
			}
			fmt.Fprintf(&b, "%02x", s[i])
		}
		all = append(all, b.String())
	}
	return all
}
