package policy

import (
	"bytes"
	"encoding/json"
)

// Schema returns the JSON Schema of a policy file, for editors that complete and
// check TOML by one. Decode is stricter: a schema cannot say everything.
func Schema() []byte {
	props := map[string]any{}
	for _, s := range sections() {
		of := map[string]any{}
		for i := range keys {
			if keys[i].section == s {
				of[keys[i].name] = keys[i].schema()
			}
		}
		props[s] = object(of)
	}
	for _, n := range allNamed {
		of := n.schema()
		if plain, ok := props[n.title()].(map[string]any); ok { // keys of the section itself
			of["properties"] = plain["properties"]
		}
		props[n.title()] = of
	}
	root := object(props)
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "ringfence policy"
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(root); err != nil {
		panic(err) // maps of strings always encode
	}
	return b.Bytes()
}

func object(props map[string]any) map[string]any {
	return map[string]any{"type": "object", "properties": props, "additionalProperties": false}
}

func (k *key) schema() map[string]any {
	value := map[string]any{"type": "string"}
	if k.pattern != "" {
		value["pattern"] = k.pattern
	}
	if known := k.known(); known != nil {
		value["enum"] = known
	}
	number := map[string]any{"type": "integer", "minimum": 1}
	if k.zero {
		number["minimum"] = 0
	}
	port := map[string]any{"type": "integer", "minimum": 1, "maximum": 65535}
	var out map[string]any
	switch k.form {
	case formList:
		out = map[string]any{"type": "array", "items": value, "uniqueItems": true}
	case formPorts:
		out = map[string]any{"type": "array", "items": port, "uniqueItems": true}
	case formPairs:
		out = map[string]any{"type": "array", "items": map[string]any{"anyOf": []any{port, value}}, "uniqueItems": true}
	case formTable:
		out = map[string]any{"type": "object", "additionalProperties": value,
			"propertyNames": map[string]any{"pattern": k.table.pattern}}
	case formArgs:
		out = map[string]any{"type": "array", "items": value}
	case formFlag:
		out = map[string]any{"type": "boolean"}
	case formWord:
		out = value
	case formCount:
		out = number
	case formSize:
		out = map[string]any{"anyOf": []any{number, map[string]any{"type": "string", "pattern": `^[0-9]+([KMGT]iB)?$`}}}
	}
	out["description"] = k.about
	return out
}
