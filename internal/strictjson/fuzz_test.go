package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
)

// builder makes of what it is told what encoding/json makes of the same text.
type builder struct {
	root  any
	stack []any // map[string]any or *[]any
	keys  []string
}

func (b *builder) put(name Text, v any) {
	if len(b.stack) == 0 {
		b.root = v
		return
	}
	switch top := b.stack[len(b.stack)-1].(type) {
	case map[string]any:
		top[name.String()] = v
	case *[]any:
		*top = append(*top, v)
	}
}

func (b *builder) Enter(name Text, kind Kind) (bool, error) {
	if kind == Object {
		m := map[string]any{}
		b.put(name, m)
		b.stack = append(b.stack, m)
	} else {
		b.stack = append(b.stack, &[]any{})
	}
	b.keys = append(b.keys, name.String())
	return true, nil
}

// Leave puts an array into its parent now that it is complete.
func (b *builder) Leave() {
	top := b.stack[len(b.stack)-1]
	name := b.keys[len(b.keys)-1]
	b.stack, b.keys = b.stack[:len(b.stack)-1], b.keys[:len(b.keys)-1]
	if list, ok := top.(*[]any); ok {
		b.put(Text{raw: []byte(name)}, *list)
	}
}

func (b *builder) Scalar(name Text, s Scalar) error {
	switch s.Kind {
	case Null:
		b.put(name, nil)
	case True, False:
		b.put(name, s.Kind == True)
	case Number:
		b.put(name, json.Number(s.Text.String()))
	case String:
		b.put(name, s.Text.String())
	}
	return nil
}

// FuzzWalk holds the walk against encoding/json: what passes here is valid there
// and means the same, and what is valid there fails here for our own reasons only.
func FuzzWalk(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,-2.5e3,true,null,"x\u00fc\ud83d\ude00"],"b":{}}`, `{"a":1,"a":2}`, `"\ud800"`, "\"\xff\"", `[[[[]]]]`, `{"a\n":1}`,
		`"` + strings.Repeat("abcdefgh", 9) + `\"é` + strings.Repeat("i", 17) + `"`, `01`, `{} x`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v := &builder{}
		err := Walk(data, v)
		if err != nil {
			var bad *Error
			if !errors.As(err, &bad) || bad.Offset < 0 || bad.Offset > len(data) {
				t.Fatalf("error %v", err)
			}
			if json.Valid(data) && !ours(bad.Reason) {
				t.Fatalf("%q is valid, and refused: %v", data, err)
			}
			return
		}
		if !json.Valid(data) {
			t.Fatalf("%q is not valid, and passed", data)
		}
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.UseNumber()
		var want any
		if err := dec.Decode(&want); err != nil {
			t.Fatal(err)
		}
		if _, err := dec.Token(); err != io.EOF {
			t.Fatalf("%q has more than one value", data)
		}
		if !reflect.DeepEqual(v.root, want) {
			t.Fatalf("%q: told %#v, is %#v", data, v.root, want)
		}
	})
}

// ours are the reasons that encoding/json does not know.
func ours(reason string) bool {
	for _, own := range []string{"not UTF-8", "surrogate", "control character in a name", "there before", "too deeply", "too many"} {
		if strings.Contains(reason, own) {
			return true
		}
	}
	return false
}
