// Package address is the grammar of where a connection may go: host names in one
// canonical spelling, the rules that match them, addresses with ports, and the
// table of ranges that are nobody's business from inside a sandbox.
//
// Every name that comes from a sandbox passes ParseName before anything else looks
// at it, and everything after that compares the result, never the bytes that came.
package address

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// Name is a host name in its canonical spelling: lower-case ASCII letters, digits,
// hyphens and dots, no dot at the end, and nothing that could be read as an IP
// address.
type Name string

const (
	maxName  = 253
	maxLabel = 63
)

// ParseName reads a name as it comes over a wire. One dot at its end is taken off.
// What is not ASCII is refused: mapping it is the business of who writes a rule,
// and two programs that map differently are a way around one.
func ParseName(s string) (Name, error) {
	s = strings.TrimSuffix(s, ".")
	switch {
	case s == "":
		return "", errors.New("the name is empty")
	case len(s) > maxName:
		return "", fmt.Errorf("the name has more than %d bytes", maxName)
	}
	puny := false
	for label := range strings.SplitSeq(s, ".") {
		if err := checkLabel(label); err != nil {
			return "", err
		}
		puny = puny || len(label) >= 4 && strings.EqualFold(label[:4], "xn--")
	}
	s = lower(s)
	if numeric(s[strings.LastIndexByte(s, '.')+1:]) {
		return "", fmt.Errorf("%q is a number, not a name", s)
	}
	if puny {
		if back, err := idna.Lookup.ToASCII(s); err != nil || back != s {
			return "", fmt.Errorf("%q has a label that is not valid punycode", s)
		}
	}
	return Name(s), nil
}

// FromText reads a name as a person writes it: letters of any script become ASCII
// as IDNA says.
func FromText(s string) (Name, error) {
	if strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Cf, r) }) {
		return "", fmt.Errorf("%q holds a character that cannot be seen", s)
	}
	if !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return ParseName(s)
	}
	ascii, err := idna.Lookup.ToASCII(s)
	if err != nil {
		return "", fmt.Errorf("%q is not a host name: %w", s, err)
	}
	return ParseName(ascii)
}

func checkLabel(label string) error {
	if label == "" {
		return errors.New("the name has an empty label")
	}
	if len(label) > maxLabel {
		return fmt.Errorf("the name has a label of more than %d bytes", maxLabel)
	}
	for i := range len(label) {
		c := label[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-') {
			return fmt.Errorf("the name has the byte %q", c)
		}
	}
	if label[0] == '-' || label[len(label)-1] == '-' {
		return errors.New("the name has a label that begins or ends with a hyphen")
	}
	return nil
}

// lower is strings.ToLower for ASCII, without a copy where nothing changes.
func lower(s string) string {
	for i := range len(s) {
		if c := s[i]; 'A' <= c && c <= 'Z' {
			return strings.ToLower(s)
		}
	}
	return s
}

// numeric holds for a last label by which some program would read the whole as an
// IPv4 address: 1, 127.1, 0x7f.1, 1.0x7f000001.
func numeric(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}

// Single holds for a name without a dot: a neighbour of the host's, found by its
// search list or its hosts file.
func (n Name) Single() bool { return !strings.Contains(string(n), ".") }

// Under holds for a name below a suffix, not for the suffix itself.
func (n Name) Under(suffix Name) bool {
	return len(n) > len(suffix)+1 && n[len(n)-len(suffix)-1] == '.' && n[len(n)-len(suffix):] == suffix
}

// special are the names that never belong to the public network (RFC 6761, 6762,
// 7686, 8375, 9476 and what home routers and offices use in practice).
var special = []Name{"local", "localhost", "internal", "intranet", "private", "corp", "home", "lan", "localdomain", "test", "invalid", "example", "onion", "alt", "arpa"}

// Special returns the reserved domain that a name lies in, if it does.
func (n Name) Special() (Name, bool) {
	last := n[strings.LastIndexByte(string(n), '.')+1:]
	for _, s := range special {
		if last == s {
			return s, true
		}
	}
	return "", false
}

// never are names of what no rule may open, wherever it stands: Never says the same of
// its addresses. Who asks another machine to connect asks by these.
var never = map[Name]string{
	"localhost": loopback, "localhost.localdomain": loopback, "localhost4": loopback, "localhost6": loopback, "ip6-localhost": loopback, "ip6-loopback": loopback, "loopback": loopback, "broadcasthost": "broadcast",
	"metadata": "cloud metadata", "metadata.google.internal": "cloud metadata", "metadata.goog": "cloud metadata", "instance-data": "cloud metadata", "instance-data.ec2.internal": "cloud metadata",
	"metadata.azure.internal": "cloud metadata", "metadata.azure.com": "cloud metadata", "metadata.tencentyun.com": "cloud metadata", "metadata.platformequinix.com": "cloud metadata", "metadata.packet.net": "cloud metadata",
}

// Never says what a name stands for, if no rule may open that.
func (n Name) Never() (what string, is bool) {
	if what, is = never[n]; is {
		return what, true
	}
	return loopback, n.Under("localhost")
}
