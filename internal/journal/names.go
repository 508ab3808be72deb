package journal

import (
	"encoding/json"
	"errors"
	"strings"
)

// Names is a list in a record: paths, or names of variables, or rules. It is one
// comparable value; in the file it is an array.
type Names struct{ joined string } // each ends in a NUL

// maxNames bounds what one record lists, in bytes; one path always fits.
const (
	maxName  = 4096
	maxNames = maxName + 256
)

// MakeNames lists what fits into one record and returns how many of them did. One
// that is longer than a path can be is cut, which its end shows.
func MakeNames(names []string) (out Names, n int) {
	var b strings.Builder
	for _, name := range names {
		name = bound(strings.ReplaceAll(name, "\x00", "\ufffd"), maxName)
		if b.Len()+len(name)+1 > maxNames {
			break
		}
		b.WriteString(name)
		b.WriteByte(0)
		n++
	}
	return Names{b.String()}, n
}

// All returns the list.
func (n Names) All() []string {
	if n.joined == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(n.joined, "\x00"), "\x00")
}

// UnmarshalJSON reads an array that one record can hold.
func (n *Names) UnmarshalJSON(b []byte) error {
	var list []string
	if err := json.Unmarshal(b, &list); err != nil {
		return err
	}
	out, fit := MakeNames(list)
	if fit != len(list) || len(list) == 0 {
		return errors.New("not a list of names")
	}
	*n = out
	return nil
}

// MarshalJSON is for those who print a record otherwise.
func (n Names) MarshalJSON() ([]byte, error) { return json.Marshal(n.All()) }

// Split makes as many records of r as it takes to list all names, and at least one.
func Split(r Record, names []string) []Record {
	var out []Record
	for {
		var n int
		r.List, n = MakeNames(names)
		out = append(out, r)
		if names = names[n:]; len(names) == 0 {
			return out
		}
	}
}

func appendNames(b []byte, key string, n Names) []byte {
	if n.joined == "" {
		return b
	}
	b = append(append(b, key...), '[')
	for i, name := range n.All() {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, name, maxName)
	}
	return append(b, ']')
}
