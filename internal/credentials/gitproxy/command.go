package gitproxy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"ringfence.dev/ringfence/internal/git/object"
)

// command is what a push wants of one ref.
type command struct {
	ref      string
	old, new object.ID // zero: there is none
}

// push is the head of a push, before the pack.
type push struct {
	commands []command
	caps     []string // as git spells them
	options  []string
	size     int64 // where the pack begins
}

const (
	maxCommands = 1000
	maxShallow  = 10000
	maxOptions  = 100
)

// errPush is in the chain of every error that the client's bytes caused.
var errPush = errors.New("bad push")

func badPush(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{errPush}, args...)...)
}

// readPush reads the commands, the capabilities and the options. It takes only
// what git writes, in git's spelling: the server must not be able to read another
// push out of the same bytes.
func readPush(r io.Reader) (*push, error) {
	counted := &counter{r: r}
	pr, p := newPacketReader(counted), &push{}
	if err := p.readCommands(pr); err != nil {
		return nil, err
	}
	if p.can("push-options") {
		if err := p.readOptions(pr); err != nil {
			return nil, err
		}
	}
	p.size = counted.n
	return p, nil
}

// counter counts what is read through it.
type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

func (p *push) readCommands(pr *packetReader) error {
	for shallow := 0; ; {
		line, err := dataLine(pr)
		if line == nil || err != nil {
			return err
		}
		if bytes.HasPrefix(line, []byte("shallow ")) {
			if shallow++; shallow > maxShallow || len(p.commands) > 0 {
				return badPush("too many lines \"shallow\", or in the wrong place")
			}
			if _, err := object.ParseSHA1(string(line[len("shallow "):])); err != nil {
				return badPush("line \"shallow\" without an object name")
			}
			continue
		}
		text, caps, first := strings.Cut(string(line), "\x00")
		if first != (len(p.commands) == 0) {
			return badPush("capabilities that are not on the first command")
		}
		if first {
			if err := p.readCaps(caps); err != nil {
				return err
			}
		}
		if err := p.readCommand(text); err != nil {
			return err
		}
	}
}

// dataLine returns the next line without its newline; nil at a flush.
func dataLine(pr *packetReader) ([]byte, error) {
	kind, payload, err := pr.Next()
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, badPush("the list of commands has no end")
	case errors.Is(err, errPacket):
		return nil, badPush("%v", err)
	case err != nil:
		return nil, err
	case kind == packetFlush:
		return nil, nil
	case kind != packetData:
		return nil, badPush("a packet that does not belong into a list of commands")
	}
	return packetText(payload), nil
}

// readCaps takes the words that we show the server to have. "push-cert", with
// which the commands stand in a signed text, is not among them.
func (p *push) readCaps(s string) error {
	for word := range strings.FieldsSeq(strings.Trim(s, " ")) {
		key, value, has := strings.Cut(word, "=")
		if key == "session-id" || key == "agent" {
			continue
		}
		if !slices.Contains(capabilities, key) || key == "no-thin" || has != (key == "object-format") {
			return badPush("capability %q is not supported", word)
		}
		if key == "object-format" && value != "sha1" {
			return errSHA256
		}
		if p.can(key) {
			return badPush("capability %q twice", key)
		}
		p.caps = append(p.caps, key)
	}
	for _, c := range []byte(s) {
		if c < ' ' || c > '~' {
			return badPush("characters of no name among the capabilities")
		}
	}
	return nil
}

func (p *push) can(capability string) bool { return slices.Contains(p.caps, capability) }

func (p *push) readCommand(text string) error {
	if len(p.commands) >= maxCommands {
		return badPush("more than %d commands", maxCommands)
	}
	if len(text) < 83 || text[40] != ' ' || text[81] != ' ' {
		return badPush("a line that is no command")
	}
	var c command
	var err error
	if c.old, err = object.ParseSHA1(text[:40]); err != nil {
		return badPush("a command with a wrong object name")
	}
	if c.new, err = object.ParseSHA1(text[41:81]); err != nil {
		return badPush("a command with a wrong object name")
	}
	if c.ref = text[82:]; !goodRef(c.ref) {
		return badPush("%.100q is no name of a ref", c.ref)
	}
	if c.old.IsZero() && c.new.IsZero() {
		return badPush("a command that neither makes nor moves nor deletes")
	}
	if slices.ContainsFunc(p.commands, func(other command) bool { return strings.EqualFold(other.ref, c.ref) }) {
		return badPush("two commands for %s", c.ref)
	}
	p.commands = append(p.commands, c)
	return nil
}

func (p *push) readOptions(pr *packetReader) error {
	for {
		line, err := dataLine(pr)
		if line == nil || err != nil {
			return err
		}
		if len(p.options) >= maxOptions || !printable(string(line)) {
			return badPush("too many options, or one with control characters")
		}
		p.options = append(p.options, string(line))
	}
}

// needsPack reports whether a pack follows: it does unless all is deletion.
func (p *push) needsPack() bool {
	return slices.ContainsFunc(p.commands, func(c command) bool { return !c.new.IsZero() })
}

// goodRef is what git calls a well-formed name, below refs/, without characters
// that one cannot see.
func goodRef(s string) bool {
	if len(s) > 1000 || !strings.HasPrefix(s, "refs/") || !printable(s) || strings.ContainsAny(s, " ~^:?*[\\") ||
		strings.Contains(s, "..") || strings.Contains(s, "@{") || strings.HasSuffix(s, ".") {
		return false
	}
	for e := range strings.SplitSeq(s, "/") {
		if e == "" || e[0] == '.' || strings.HasSuffix(e, ".lock") {
			return false
		}
	}
	return true
}

func printable(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}
