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

	"ringfence.dev/ringfence/internal/strictjson"
)

const maxJSONDepth = 64

// object is a JSON object; the values are those of encoding/json, with numbers
// as they were written.
type object = map[string]any

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

// readObject reads one JSON object, as package strictjson does: two readers could take
// two different values for a name that stands twice. So could they for one that differs
// by case alone, which Gitea reads as the same.
func readObject(data []byte) (o object, err error) {
	if len(data) > MaxBody {
		return nil, fmt.Errorf("it is longer than %d bytes", MaxBody)
	}
	if err := strictjson.Walk(data, &alike{}); err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if d.Decode(&o) != nil || o == nil {
		return nil, errors.New("it is not an object")
	}
	return o, nil
}

// alike looks for names of one object that differ by case alone.
type alike struct {
	open []map[string]bool // of what is open; nil for an array
}

func (a *alike) Enter(name strictjson.Text, kind strictjson.Kind) (bool, error) {
	if len(a.open) > maxJSONDepth {
		return false, fmt.Errorf("it is nested deeper than %d", maxJSONDepth)
	}
	err := a.add(name)
	var names map[string]bool
	if kind == strictjson.Object {
		names = map[string]bool{}
	}
	a.open = append(a.open, names)
	return true, err
}

func (a *alike) Leave() { a.open = a.open[:len(a.open)-1] }

func (a *alike) Scalar(name strictjson.Text, _ strictjson.Scalar) error { return a.add(name) }

func (a *alike) add(name strictjson.Text) error {
	if len(a.open) == 0 || a.open[len(a.open)-1] == nil {
		return nil
	}
	names, folded := a.open[len(a.open)-1], fold(name.String())
	if names[folded] {
		return fmt.Errorf("%.40q stands in it twice", name.String())
	}
	names[folded] = true
	return nil
}

// anew writes an object that was read: without what two readers might take for two
// things. It is nil where there is none.
func anew(o object) []byte {
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
