package serviceapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"
)

const maxJSONDepth = 64

// object is a JSON object; the values are those of encoding/json, with numbers
// as they were written.
type object map[string]any

// saysJSON reports whether a request calls its body JSON. A server takes what is
// called a form, or nothing at all, for a form: another text altogether.
func saysJSON(h http.Header) bool {
	lines := h.Values("Content-Type")
	if len(lines) != 1 {
		return false
	}
	kind, params, err := mime.ParseMediaType(lines[0])
	if err != nil || (kind != "application/json" && !(strings.HasPrefix(kind, "application/") && strings.HasSuffix(kind, "+json"))) {
		return false
	}
	charset, has := params["charset"]
	return len(params) == 0 || (len(params) == 1 && has && strings.EqualFold(charset, "utf-8"))
}

// bodyOf reads the body of a request that writes.
func bodyOf(r Request) (object, error) {
	if r.Length == 0 && len(r.Body) == 0 {
		return nil, nil
	}
	if !saysJSON(r.Header) {
		return nil, errors.New("the header Content-Type must be application/json")
	}
	o, err := readObject(r.Body)
	if err != nil {
		return nil, fmt.Errorf("the body must be JSON: %w", err)
	}
	return o, nil
}

// readObject reads one JSON object. A name that stands twice is refused: two
// readers could take two different values. So is one that differs by case alone, which
// Gitea reads as the same.
func readObject(data []byte) (object, error) {
	switch {
	case len(data) > MaxBody:
		return nil, fmt.Errorf("it is longer than %d bytes", MaxBody)
	case !utf8.Valid(data):
		return nil, errors.New("it is not UTF-8")
	case !json.Valid(data):
		return nil, errors.New("it cannot be read")
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	v, err := readValue(d, 0)
	if err != nil {
		return nil, err
	}
	o, ok := v.(object)
	if !ok {
		return nil, errors.New("it is not an object")
	}
	return o, nil
}

func readValue(d *json.Decoder, depth int) (any, error) {
	if depth > maxJSONDepth {
		return nil, fmt.Errorf("it is nested deeper than %d", maxJSONDepth)
	}
	t, err := d.Token()
	if err != nil {
		return nil, errors.New("it cannot be read")
	}
	switch t {
	case json.Delim('{'):
		return readMembers(d, depth)
	case json.Delim('['):
		list := []any{}
		for d.More() {
			v, err := readValue(d, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err = d.Token()
		return list, err
	}
	return t, nil
}

func readMembers(d *json.Decoder, depth int) (any, error) {
	o, folded := object{}, map[string]bool{}
	for d.More() {
		t, err := d.Token()
		name, ok := t.(string)
		if err != nil || !ok {
			return nil, errors.New("it cannot be read")
		}
		if folded[fold(name)] {
			return nil, fmt.Errorf("%.40q stands in it twice", name)
		}
		folded[fold(name)] = true
		if o[name], err = readValue(d, depth+1); err != nil {
			return nil, err
		}
	}
	if _, err := d.Token(); err != nil {
		return nil, errors.New("it cannot be read")
	}
	return o, nil
}

// anew writes an object that was read: without what two readers might take for two
// things. It is nil where there is none.
func (o object) anew() []byte {
	if o == nil {
		return nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(o) != nil {
		return []byte("{}") // what was read can be written
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// fold is one spelling for all that differ by case alone.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			least = min(least, other)
		}
		return least
	}, s)
}
