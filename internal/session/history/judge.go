package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf16"

	"ringfence.dev/ringfence/internal/strictjson"
)

// slugMost is how long a name may be; agents shorten what is longer in ways of their own.
const slugMost = 200

// Slug is how an agent names the directory of a directory's conversations: everything but
// letters and digits is a dash. Two directories may have one name, which is why the content
// is asked whose it is. It is "" for a path that is too long.
func Slug(dir string) string {
	var b strings.Builder
	for _, r := range dir {
		if r < 0x80 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9') {
			b.WriteRune(r)
			continue
		}
		b.WriteString(strings.Repeat("-", max(utf16.RuneLen(r), 1))) // agents count as JavaScript does
	}
	if b.Len() > slugMost {
		return ""
	}
	return b.String()
}

// transcript holds for the name of a conversation: an id and nothing else.
func transcript(name string) bool {
	id, ok := strings.CutSuffix(name, ".jsonl")
	if !ok || len(id) != 36 {
		return false
	}
	for i := range len(id) {
		c := id[i]
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if c != '-' {
				return false
			}
		} else if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

var (
	errElsewhere = errors.New("it is of another project")
	errNowhere   = errors.New("it does not say of which project it is")
)

// ofHost judges what the user's own agent wrote: whether it is of this project.
func (s Share) ofHost(text []byte) error {
	for line := range bytes.Lines(text) {
		if dir, ok := directoryOf(line); ok {
			if s.within(dir) {
				return nil
			}
			return errElsewhere
		}
	}
	return errNowhere
}

// ofAgent judges what an agent may have written: every line is JSON that all read alike,
// and each that names a directory names one of this project.
func (s Share) ofAgent(text []byte) error {
	named, n := false, 0
	for line := range bytes.Lines(text) {
		n++
		if line[0] != '{' {
			return fmt.Errorf("line %d is no object", n)
		}
		if err := strictjson.Walk(bytes.TrimSuffix(line, []byte("\n")), nil); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		dir, ok := directoryOf(line)
		if ok && !s.within(dir) {
			return fmt.Errorf("line %d: %w", n, errElsewhere)
		}
		named = named || ok
	}
	if !named {
		return errNowhere
	}
	return nil
}

// directoryOf is the directory in which a line was written.
func directoryOf(line []byte) (string, bool) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(line, &fields) != nil || fields["cwd"] == nil {
		return "", false
	}
	var dir string
	if json.Unmarshal(fields["cwd"], &dir) != nil {
		return "", true // it names something that is no place of ours
	}
	return filepath.Clean("/" + dir), true
}
