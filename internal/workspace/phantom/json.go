package phantom

import (
	"encoding/json"
	"strings"

	"ringfence.dev/ringfence/internal/file/settings"
)

// wholeJSON is JSON without comments. What has more values is not shown.
var wholeJSON = settings.Rules{Depth: 1000, Nodes: 10 * maxLooked}

// jsonEdit replaces values in a JSON text and leaves its layout.
type jsonEdit struct {
	edit
	state bool // it is the state of terraform
}

// json wants a whole and valid text.
func (m *masker) json(k key, s string) (string, bool) { return m.jsonText(k, s, false) }

func (m *masker) jsonText(k key, s string, state bool) (string, bool) {
	root, err := wholeJSON.JSON([]byte(s))
	if err != nil {
		return "", false
	}
	j := &jsonEdit{edit{masker: m, in: s}, state}
	j.node(root, k, !state)
	j.copy(len(s))
	return string(j.out), true
}

// node shows a value. What a list holds goes by its name. hidden: no string of it is one
// that terraform needs to read its state.
func (j *jsonEdit) node(n *settings.Node, k key, hidden bool) {
	for _, kid := range n.Kids {
		if n.Kind == settings.Array {
			j.node(kid, k, hidden)
			continue
		}
		name := kid.Name
		if name != "" && !proper(name) {
			name = j.opaque(k, name)
		}
		j.put(kid.At, kid.NameEnd, quoteJSON(name))
		j.node(kid, k.child(kid.Name), hidden || stateHidden[kid.Name])
	}
	switch raw := j.in[n.Start:n.End]; {
	case n.Kind == settings.String:
		out := n.Text
		if hidden || !j.structure(k, out) {
			out = j.value(k, out)
		}
		if out != n.Text || strings.Contains(raw, `\`) {
			j.put(n.Start, n.End, quoteJSON(out))
		}
	case n.Kind == settings.Word && (raw[0] == '-' || isDigit(raw[0])):
		j.put(n.Start, n.End, j.number(k, raw))
	}
}

// structure: Terraform needs some strings to read its state. Below the attributes of a
// resource and in outputs there are none.
func (j *jsonEdit) structure(k key, s string) bool {
	return stateKeys[k.name] && allIn(s, alnums+`_.-/[]"`) && !random(s) && j.keep(s)
}

var (
	stateKeys   = set("mode type name provider terraform_version each module dependencies status kind")
	stateHidden = set("attributes attributes_flat value values private")
)

// jsonFile is for all JSON but the state of terraform.
func (m *masker) jsonFile(s string) (string, Kind) { return shownJSON(m.json(key{}, s)) }

// stateFile replaces every string but those of the structure.
func (m *masker) stateFile(s string) (string, Kind) {
	return shownJSON(m.jsonText(key{strict: true}, s, true))
}

func shownJSON(out string, ok bool) (string, Kind) {
	if !ok {
		return "", Empty
	}
	return out, Values
}

// quoteJSON writes a string as JSON.
func quoteJSON(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always encodes
	return strings.TrimSuffix(b.String(), "\n")
}
