package phantom

import (
	"encoding/json"
	"strings"
)

// json replaces values in a JSON text and leaves its layout. It wants a whole and
// valid text.
func (m *masker) json(k key, s string) (string, bool) {
	if !json.Valid([]byte(s)) {
		return "", false
	}
	j := &jsonMask{m: m, in: s}
	j.value(k)
	j.space()
	return j.out.String(), true
}

// jsonMask walks over a text that is known to be valid.
type jsonMask struct {
	m     *masker
	in    string
	at    int
	out   strings.Builder
	state bool   // it is the state of terraform
	last  string // then: the name of the value
	under int    // and how many names above it are of attributes
}

func (j *jsonMask) space() {
	for j.at < len(j.in) && strings.IndexByte(" \t\r\n", j.in[j.at]) >= 0 {
		j.copy(1)
	}
}

func (j *jsonMask) copy(n int) {
	j.out.WriteString(j.in[j.at : j.at+n])
	j.at += n
}

func (j *jsonMask) value(k key) {
	j.space()
	switch c := j.in[j.at]; {
	case c == '{' || c == '[':
		j.nested(k, c == '{')
	case c == '"':
		raw, s := j.text()
		if out := j.scalar(k, s); out != s || strings.Contains(raw, `\`) {
			raw = quoteJSON(out)
		}
		j.out.WriteString(raw)
	case c == '-' || isDigit(c):
		n := j.at
		for n < len(j.in) && strings.IndexByte("+-.eE0123456789", j.in[n]) >= 0 {
			n++
		}
		j.out.WriteString(j.m.number(k, j.in[j.at:n]))
		j.at = n
	default: // true, false, null
		n := j.at
		for n < len(j.in) && isLower(j.in[n]) {
			n++
		}
		j.copy(n - j.at)
	}
}

// nested writes an object or an array. What an array holds goes by its name.
func (j *jsonMask) nested(k key, object bool) {
	j.copy(1)
	for {
		j.space()
		switch c := j.in[j.at]; {
		case c == '}' || c == ']':
			j.copy(1)
			return
		case c == ',':
			j.copy(1)
		case object:
			_, name := j.text()
			j.out.WriteString(quoteJSON(j.m.name(k, name)))
			j.space()
			j.copy(1)
			j.named(k.child(name))
		default:
			j.value(k)
		}
	}
}

// named is the value of a name.
func (j *jsonMask) named(k key) {
	hidden := 0
	if stateHidden[k.name] {
		hidden = 1
	}
	was := j.last
	j.last = k.name
	j.under += hidden
	j.value(k)
	j.under -= hidden
	j.last = was
}

// text reads a string, as it is and what it says.
func (j *jsonMask) text() (raw, s string) {
	n := j.at + 1
	for j.in[n] != '"' {
		if j.in[n] == '\\' {
			n++
		}
		n++
	}
	raw = j.in[j.at : n+1]
	j.at = n + 1
	_ = json.Unmarshal([]byte(raw), &s) // it is valid
	return raw, s
}

func (j *jsonMask) scalar(k key, s string) string {
	if j.state && j.under == 0 && stateKeys[j.last] && allIn(s, alnums+`_.-/[]"`) && !random(s) && j.m.keep(s) {
		return s
	}
	return j.m.value(k, s)
}

// name is what a key is shown as.
func (m *masker) name(k key, name string) string {
	if name == "" || proper(name) {
		return name
	}
	return m.opaque(k, name)
}

// Terraform needs some strings to read its state. Below the attributes of a resource
// and in outputs there are none.
var (
	stateKeys   = set("mode type name provider terraform_version each module dependencies status kind")
	stateHidden = set("attributes attributes_flat value values private")
)

// jsonFile is for all JSON but the state of terraform.
func (m *masker) jsonFile(s string) (string, Kind) {
	if out, ok := m.json(key{}, s); ok {
		return out, Values
	}
	return "", Empty
}

// stateFile replaces every string but those of the structure.
func (m *masker) stateFile(s string) (string, Kind) {
	if !json.Valid([]byte(s)) {
		return "", Empty
	}
	j := &jsonMask{m: m, in: s, state: true}
	j.value(key{strict: true})
	j.space()
	return j.out.String(), Values
}
