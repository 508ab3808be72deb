package hook

import "strings"

// A value is text in which some bytes stand for what is not known. None of them can
// be in an argument, or is of any use in one; read takes them out of what comes in.
const (
	unset  = '\x00' // something, or nothing at all
	many   = '\x01' // * that is not quoted
	one    = '\x02' // ? that is not quoted
	class  = '\x03' // [ that is not quoted
	some   = '\x05' // something
	remote = '\x06' // something that comes from a network
)

const marks = "\x00\x01\x02\x03\x05\x06"

// maxValue bounds a value; the rest of it is not known.
const maxValue = 64 << 10

// read takes the bytes out of a text that mean something here.
func read(s string) string {
	if !strings.ContainsAny(s, marks) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(marks, r) {
			return '\x1a'
		}
		return r
	}, s)
}

// short cuts a value that grew too long.
func short(s string) string {
	if len(s) <= maxValue {
		return s
	}
	if strings.IndexByte(s, remote) >= 0 {
		return s[:maxValue] + string(remote)
	}
	return s[:maxValue] + string(some)
}

// known holds for a value without anything unknown. Patterns are known.
func known(s string) bool { return !strings.ContainsAny(s, "\x00\x05\x06") }

func fromNetwork(s string) bool { return strings.IndexByte(s, remote) >= 0 }

// literal is the value with the patterns in it as they were written, for use where a
// pattern means nothing.
func literal(s string) string {
	return strings.NewReplacer("\x01", "*", "\x02", "?", "\x03", "[").Replace(s)
}

// hidden is what an unknown command prints when it is given this to read: something,
// from a network if that is.
func hidden(in string) string {
	if fromNetwork(in) {
		return string(remote)
	}
	return string(some)
}
