package object

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Person is who made something, and when.
type Person struct {
	Name  string
	Email string
	Time  time.Time
	Zone  string // "+0100", as it was written
}

// parsePerson reads "Name <email> seconds +zone". The name or the address may be
// empty, as in old histories.
func parsePerson(s string) (Person, error) {
	if err := isText(s, "\t"); err != nil {
		return Person{}, err
	}
	name, rest, ok := strings.Cut(s, "<")
	email, when, ok2 := strings.Cut(rest, "> ")
	seconds, zone, ok3 := strings.Cut(when, " ")
	if !ok || !ok2 || !ok3 || !strings.HasSuffix(name, " ") || strings.ContainsAny(name+email, "<>") || len(s) > maxName {
		return Person{}, errors.New("not in the form: name <address> seconds zone")
	}
	at, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil || strconv.FormatInt(at, 10) != seconds || at < 0 || at > maxTime {
		return Person{}, errors.New("the time is not a number of seconds")
	}
	if len(zone) != 5 || zone[0] != '+' && zone[0] != '-' || strings.Trim(zone[1:], "0123456789") != "" {
		return Person{}, errors.New("the zone is not of the form +hhmm")
	}
	return Person{Name: strings.TrimSuffix(name, " "), Email: email, Time: time.Unix(at, 0), Zone: zone}, nil
}

// maxTime is the end of the year 9999.
const maxTime = 253402300799

// parseTagName holds names to git's rules for a ref.
func parseTagName(s string) (string, error) {
	bad := s == "" || len(s) > maxName || s[0] == '-' || strings.HasSuffix(s, ".") || strings.ContainsAny(s, " ~^:?*[\\") ||
		strings.Contains(s, "..") || strings.Contains(s, "@{") || s == "@"
	for part := range strings.SplitSeq(s, "/") {
		bad = bad || part == "" || part[0] == '.' || strings.HasSuffix(part, ".lock")
	}
	if bad {
		return "", errors.New("not the name of a tag")
	}
	if !utf8.ValidString(s) {
		return "", errors.New("not UTF-8")
	}
	return s, isText(s, "")
}

// isEncoding holds for names of encodings, but for those in which ASCII text
// reads as something else.
func isEncoding(s string) bool {
	for i := range len(s) {
		c := s[i] | 0x20
		if (c < 'a' || c > 'z') && (i == 0 || !isDigit(s[i]) && !strings.ContainsRune("-_.:", rune(s[i]))) {
			return false
		}
	}
	plain := strings.NewReplacer("-", "", "_", "", ".", "", ":", "").Replace(strings.ToLower(s))
	for _, other := range []string{"utf7", "utf16", "utf32", "ucs", "unicode", "ebcdic", "ibm", "hz"} {
		if strings.Contains(plain, other) {
			return false
		}
	}
	return s != "" && len(s) <= 40
}

// isText refuses control characters in a header, but for those in but. Bytes
// above ASCII are a matter of the encoding.
func isText(s, but string) error {
	for i := range len(s) {
		if (s[i] < ' ' || s[i] == 0x7f) && !strings.ContainsRune(but, rune(s[i])) {
			return fmt.Errorf("control character %#02x in a header", s[i])
		}
	}
	return nil
}

// printable returns s without what a terminal would act on, cut at limit bytes.
func printable(s string, limit int) string {
	var b strings.Builder
	for _, r := range s {
		if r == utf8.RuneError || !unicode.IsGraphic(r) || unicode.Is(unicode.Cf, r) {
			r = '?'
		}
		if b.Len()+utf8.RuneLen(r) > limit {
			break
		}
		b.WriteRune(r)
	}
	return b.String()
}

func clip(s string) string { return printable(s, 40) }
