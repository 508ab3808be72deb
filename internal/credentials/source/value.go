// Package source reads what is kept secret from where the user keeps it, on the
// host, at the moment of use, and keeps a store of its own for who has no other
// place.
//
// What is left at risk: a Value is in the memory of this process for as long as it
// is used, in copies that Go makes and does not wipe; whoever may trace the process
// or swap it out can read it. NoCore keeps it out of core dumps. The store is as
// safe as the file of its key: it guards what is synchronised and backed up, not
// against who can read both files. A command that prints a secret has it too.
package source

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Value is a secret that does not show itself. It holds a pointer because fmt
// prints the fields of a struct around it without asking any method.
type Value struct{ text *string }

// hidden is what is shown of every Value.
const hidden = "[secret]"

// Reveal returns the text. Only what sends it to its host asks.
func (v Value) Reveal() string {
	if v.text == nil {
		return ""
	}
	return *v.text
}

// String hides the text.
func (v Value) String() string { return hidden }

// GoString hides the text.
func (v Value) GoString() string { return hidden }

// Format hides the text from every verb of fmt.
func (v Value) Format(f fmt.State, _ rune) { io.WriteString(f, hidden) }

// MarshalText hides the text.
func (v Value) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// MarshalJSON hides the text.
func (v Value) MarshalJSON() ([]byte, error) { return []byte(`"` + hidden + `"`), nil }

// prefixes begin tokens of a known make, the longer before the shorter. They are
// the same for everybody, so to show one gives nothing away.
var prefixes = []string{
	"sk-ant-api03-", "sk-ant-oat01-", "sk-ant-ort01-", "sk-ant-admin01-", "sk-ant-", "sk-svcacct-", "sk-proj-", "sk-or-v1-", "sk-",
	"github_pat_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "glpat-", "gloas-", "gldt-", "glptt-",
	"npm_", "pypi-", "AIza", "AKIA", "ASIA", "hf_", "xoxb-", "xoxp-", "eyJ",
}

// leastRest is what must follow a prefix for it to be one.
const leastRest = 8

// Shape returns what may be known of the secret: the prefix of its make, "" if that
// is unknown, and its length in bytes.
func (v Value) Shape() (prefix string, length int) {
	text := v.Reveal()
	for _, p := range prefixes {
		if strings.HasPrefix(text, p) && len(text) >= len(p)+leastRest {
			return p, len(text)
		}
	}
	return "", len(text)
}

// maxValue bounds a secret.
const maxValue = 64 << 10

// New takes a text as it was kept. One newline at its end is not part of it. The
// error never quotes the text.
func New(text string) (Value, error) {
	text = strings.TrimSuffix(text, "\n")
	text = strings.TrimSuffix(text, "\r")
	switch {
	case text == "":
		return Value{}, errors.New("it is empty")
	case len(text) > maxValue:
		return Value{}, fmt.Errorf("it is longer than %d KiB", maxValue>>10)
	case strings.ContainsAny(text, "\n\r"):
		return Value{}, errors.New("it has more than one line")
	case !utf8.ValidString(text):
		return Value{}, errors.New("it is not UTF-8")
	case strings.ContainsFunc(text, unicode.IsControl):
		return Value{}, errors.New("it holds a control character")
	case strings.TrimSpace(text) != text:
		return Value{}, errors.New("it begins or ends with a space")
	}
	return Value{&text}, nil
}

// ReadFrom takes a text from where it was piped in.
func ReadFrom(r io.Reader) (Value, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxValue+3)) // its newline, and one more
	if err != nil {
		return Value{}, err
	}
	return New(string(data))
}
