package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, ok := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":"a","method":"tools/list","params":{}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{"jsonrpc":"2.0","id":0,"result":{}}`,
		`{"jsonrpc":"2.0","id":-1,"error":{"code":1,"message":"x"}}`, `{"jsonrpc":"2.0","id":null,"error":{}}`, "\t{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":null}\r\n",
	} {
		if _, err := Parse([]byte(ok)); err != nil {
			t.Errorf("%s: %v", ok, err)
		}
	}
	for _, bad := range []string{
		"", "null", "[]", "1", `"x"`, "{}", `{"jsonrpc":"2.0"}`, `{"jsonrpc":"1.0","id":1,"method":"a"}`, `{"id":1,"method":"a"}`,
		`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`,
		`{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"result":{"tools":[],"tools":[]}}`,
		`{"jsonrpc":"2.0","id":1.0,"method":"ping"}`, `{"jsonrpc":"2.0","id":1e0,"method":"ping"}`, `{"jsonrpc":"2.0","id":01,"method":"ping"}`, `{"jsonrpc":"2.0","id":-0,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":{},"method":"ping"}`, `{"jsonrpc":"2.0","id":true,"result":1}`, `{"jsonrpc":"2.0","id":1,"method":7}`, `{"jsonrpc":"2.0","id":1,"method":""}`,
		`{"jsonrpc":"2.0","id":1,"method":"a","result":1}`, `{"jsonrpc":"2.0","id":1,"result":1,"error":{}}`, `{"jsonrpc":"2.0","result":1}`,
		`{"jsonrpc":"2.0","id":1,"Result":{}}`, `{"jsonrpc":"2.0","id":1,"result":{},"extra":1}`, `{"jsonrpc":"2.0","id":1,"method":"a","params":7}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping"}{}`, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", `{"jsonrpc":"2.0","id":1,"method":"\ud800"}`,
		`{"jsonrpc":"2.0","id":1,"result":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`,
		`{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 300) + `","method":"ping"}`,
	} {
		if m, err := Parse([]byte(bad)); err == nil {
			t.Errorf("%.80s: %+v", bad, m)
		}
	}
}

func TestLines(t *testing.T) {
	l := newLines(strings.NewReader("a\n\n \r\nbb\n"+strings.Repeat("c", 100000)+"\n"+"tail"), 100001)
	for _, want := range []int{2, 3, 100001} {
		if got, err := l.next(); err != nil || len(got) != want {
			t.Errorf("%d bytes, want %d: %v", len(got), want, err)
		}
	}
	if _, err := l.next(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a line without an end: %v", err)
	}
	if _, err := newLines(strings.NewReader(strings.Repeat("c", 100001)+"\n"), 100001).next(); !errors.Is(err, errLong) {
		t.Errorf("too long: %v", err)
	}
	if _, err := newLines(endless{}, 1<<20).next(); !errors.Is(err, errLong) {
		t.Errorf("endless: %v", err)
	}
}

type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	return len(b), nil
}

// FuzzParse: what passes means the same to a reader that keeps the last of two names
// and folds none.
func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":"1","result":{"tools":[]}}`, `[]`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-1}}`, `{"jsonrpc":"2.0","method":"a","params":[1]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		m, err := Parse(line)
		if err != nil {
			return
		}
		var v map[string]any
		if err := json.Unmarshal(line, &v); err != nil || v["jsonrpc"] != "2.0" {
			t.Fatalf("%q: %v", line, err)
		}
		if got, _ := v["method"].(string); got != m.Method {
			t.Errorf("method %q and %q", got, m.Method)
		}
		if _, has := v["id"]; has != (m.ID != "") {
			t.Errorf("id %q in %q", m.ID, line)
		}
		if m.IsRequest() && m.IsResponse() || m.Method == "" && m.ID == "" {
			t.Errorf("%+v", m)
		}
		if out := failure(m.ID, codeRefused, "no"); bytes.Count(out, []byte("\n")) != 1 {
			t.Errorf("%q is more than a line", out)
		} else if _, err := Parse(out); err != nil {
			t.Errorf("our own %q: %v", out, err)
		}
	})
}
