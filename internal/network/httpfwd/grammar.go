package httpfwd

import "strings"

// The classes of bytes. Everything is judged by these, byte by byte.
const (
	tchar     = 1 << iota // of a token: names of fields
	visible               // printable ASCII without space
	valueByte             // of a field's value: visible, SP, HTAB, 0x80-0xff
	nameByte              // of a name or an IPv4 address
	hexByte
)

var class = func() (t [256]uint8) {
	add := func(bytes string, c uint8) {
		for i := range len(bytes) {
			t[bytes[i]] |= c
		}
	}
	const digits, letters = "0123456789", "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	add(digits+letters+"!#$%&'*+-.^_`|~", tchar)
	add(digits+letters+"-.", nameByte)
	add(digits+"abcdefABCDEF", hexByte)
	for b := 0x21; b <= 0x7e; b++ {
		t[b] |= visible | valueByte
	}
	for b := 0x80; b <= 0xff; b++ {
		t[b] |= valueByte
	}
	add(" \t", valueByte)
	return t
}()

// all reports whether s consists of bytes of class c.
func all[T string | []byte](s T, c uint8) bool {
	for i := range len(s) {
		if class[s[i]]&c == 0 {
			return false
		}
	}
	return true
}

// ValidToken reports whether s can be the name of a field.
func ValidToken[T string | []byte](s T) bool { return len(s) > 0 && all(s, tchar) }

// ValidValue reports whether s can be the value of a field: no NUL, CR, LF or other control.
func ValidValue[T string | []byte](s T) bool { return all(s, valueByte) }

// maxMethod bounds a method; the longest in use has 17 letters.
const maxMethod = 32

// ValidMethod reports whether s can be a method: upper case, digits and hyphens.
func ValidMethod(s string) bool {
	if len(s) == 0 || len(s) > maxMethod || s[0] < 'A' || s[0] > 'Z' {
		return false
	}
	for i := range len(s) {
		if b := s[i]; (b < 'A' || b > 'Z') && (b < '0' || b > '9') && b != '-' {
			return false
		}
	}
	return true
}

// ValidOrigin reports whether s is a path and query as an origin gets it. It does not
// begin with "//", which some read as the beginning of an authority. There is no
// fragment. A backslash or a broken escape in a path is read by everybody in
// another way and stands for nothing that a client needs.
func ValidOrigin(s string) bool {
	if s == "" || s[0] != '/' || strings.HasPrefix(s, "//") || !all(s, visible) || strings.IndexByte(s, '#') >= 0 {
		return false
	}
	path, _, _ := strings.Cut(s, "?")
	return strings.IndexByte(path, '\\') < 0 && escapes(path)
}

// escapes reports whether two hex digits follow each "%".
func escapes(s string) bool {
	for {
		i := strings.IndexByte(s, '%')
		if i < 0 {
			return true
		}
		if s = s[i+1:]; len(s) < 2 || !all(s[:2], hexByte) {
			return false
		}
		s = s[2:]
	}
}

// maxAuthority is a name of 253 bytes, its last dot, a colon and a port.
const maxAuthority = 253 + 1 + 1 + 5

// ValidAuthority reports whether s is host or host:port by its bytes: letters, digits,
// dots and hyphens, or hex digits, dots and colons in brackets. There is no
// userinfo, no zone, no escape. Whether the host is a good name is not judged.
func ValidAuthority(s string) bool {
	_, ok := portOf(s)
	return ok
}

// portOf returns the port of an authority, or "" where it has none.
func portOf(s string) (port string, ok bool) {
	if len(s) > maxAuthority {
		return "", false
	}
	host, rest := s, ""
	if strings.HasPrefix(s, "[") {
		end := strings.IndexByte(s, ']')
		if end < 0 {
			return "", false
		}
		if host, rest = s[1:end], s[end+1:]; !literal(host) {
			return "", false
		}
	} else {
		if i := strings.IndexByte(s, ':'); i >= 0 {
			host, rest = s[:i], s[i:]
		}
		if host == "" || !all(host, nameByte) {
			return "", false
		}
	}
	if rest == "" {
		return "", true
	}
	port = rest[1:]
	return port, rest[0] == ':' && goodPort(port)
}

// literal reports whether s has the bytes of an IPv6 address.
func literal(s string) bool {
	for i := range len(s) {
		if class[s[i]]&hexByte == 0 && s[i] != ':' && s[i] != '.' {
			return false
		}
	}
	return strings.IndexByte(s, ':') >= 0
}

// goodPort reports whether s is 1 to 65535 in the one way to write it.
func goodPort(s string) bool {
	if len(s) == 0 || len(s) > 5 || s[0] == '0' {
		return false
	}
	n := 0
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
		n = n*10 + int(s[i]-'0')
	}
	return n <= 65535
}
