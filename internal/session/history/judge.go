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
func (s Share) ofHost(_ string, text []byte, _ int) error {
	for line := range bytes.Lines(text) {
		if dir, ok := directoryOf(lineFields(line)); ok {
			if s.within(dir) {
				return nil
			}
			return errElsewhere
		}
	}
	return errNowhere
}

// ofAgent judges what an agent may have written: every line is JSON that all read alike, is
// a record that the host's agent may find, and names no directory but of this project. What
// the host has already, up to from, is judged for the project alone.
func (s Share) ofAgent(name string, text []byte, from int) error {
	id, at, n, ours, side := strings.TrimSuffix(name, ".jsonl"), 0, 0, false, ""
	for line := range bytes.Lines(text) {
		n++
		at += len(line)
		f, err := s.line(id, line, at > from)
		if err == nil {
			side, err = latched(side, f)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		dir, ok := directoryOf(f)
		if ok && !s.within(dir) {
			return fmt.Errorf("line %d: %w", n, errElsewhere)
		}
		ours = ours || ok
	}
	if !ours {
		return errNowhere
	}
	return nil
}

func (s Share) line(id string, line []byte, fresh bool) (fields, error) {
	if line[0] != '{' {
		return nil, errors.New("it is no object")
	}
	if err := strictjson.Walk(bytes.TrimSuffix(line, []byte("\n")), nil); err != nil {
		return nil, err
	}
	f := lineFields(line)
	if !fresh {
		return f, nil
	}
	return f, s.record(id, f)
}

func lineFields(line []byte) (f fields) {
	if json.Unmarshal(line, &f) != nil {
		return nil
	}
	return f
}

// directoryOf is the directory in which a line was written.
func directoryOf(f fields) (string, bool) {
	if f["cwd"] == nil {
		return "", false
	}
	dir, ok := str(f["cwd"])
	if !ok {
		return "", true // it names something that is no place of ours
	}
	return filepath.Clean("/" + dir), true
}
