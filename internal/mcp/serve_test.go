package mcp

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func testTools(called *[]map[string]string) []Tool {
	return []Tool{
		{Name: "plain", About: "says hello", Call: func(map[string]string) (string, error) { return "hello", nil }},
		{Name: "asks", About: "asks", Args: []Arg{{Name: "kind", Words: []string{"a", "b"}, Most: 8}, {Name: "text", Most: 16, Optional: true}},
			Call: func(args map[string]string) (string, error) {
				*called = append(*called, args)
				if args["text"] == "fail" {
					return "", errors.New("as you wish")
				}
				return "done", nil
			}},
	}
}

func TestServe(t *testing.T) {
	call := func(name, args string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, name, args)
	}
	for ask, want := range map[string]string{
		`{"jsonrpc":"2.0","id":"x","method":"initialize","params":{"protocolVersion":"2025-03-26"}}`: `"protocolVersion":"2025-03-26"`,
		`{"jsonrpc":"2.0","id":"x","method":"initialize","params":{"protocolVersion":"1999-01-01"}}`: `"protocolVersion":"` + versions[0],
		`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`:                                             `"required":["kind"]`,
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`:                                                   `"result":{}`,
		`{"jsonrpc":"2.0","id":1,"method":"resources/list"}`:                                         `"code":-32601`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`:                                     "",
		`{"jsonrpc":"2.0","id":9,"result":{}}`:                                                       "",
		`[]`:                                                                                         `"code":-32700`,
		call("plain", `{}`):                                                                          `"text":"hello"`,
		call("plain", `{"x":"y"}`):                                                                   `"code":-32602`,
		call("asks", `{}`):                                                                           `asks needs kind`,
		call("asks", `{"kind":"c"}`):                                                                 `kind is one of a, b`,
		call("asks", `{"kind":7}`):                                                                   `arguments are strings`,
		call("asks", `null`):                                                                         `arguments are strings`,
		call("asks", `{"kind":"a","text":"0123456789abcdefg"}`):                                      `longer than 16`,
		call("asks", `{"kind":"a","text":"\u202e"}`):                                                 `cannot be seen`,
		call("asks", `{"kind":"a","text":"\u001b[2J"}`):                                              `cannot be seen`,
		call("asks", `{"kind":"a","text":"fail"}`):                                                   `"isError":true`,
		call("none", `{}`):                                                                           `no such tool`,
	} {
		var out bytes.Buffer
		var called []map[string]string
		if err := Serve(strings.NewReader(ask+"\n"), &out, testTools(&called)); err != nil {
			t.Errorf("%s: %v", ask, err)
		}
		if got := out.String(); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%s: %s", ask, got)
		}
	}
	if err := Serve(endless{}, new(bytes.Buffer), nil); !errors.Is(err, errLong) {
		t.Errorf("endless: %v", err)
	}
	if err := Serve(strings.NewReader(strings.Repeat("x\n", maxBad+1)), new(bytes.Buffer), nil); !errors.Is(err, errBad) {
		t.Errorf("noise: %v", err)
	}
}

// FuzzServe: whatever an agent says, the answers are messages, and a tool is called with
// what its list says or not at all.
func FuzzServe(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"asks","arguments":{"kind":"a","text":"x"}}}` + "\n"))
	f.Add([]byte(`{"jsonrpc":"2.0","id":"\u2028","method":"tools/list"}` + "\n" + `{"jsonrpc":"2.0","id":1,"method":"initialize"}` + "\n"))
	f.Fuzz(func(t *testing.T, said []byte) {
		var out bytes.Buffer
		var called []map[string]string
		_ = Serve(bytes.NewReader(said), &out, testTools(&called))
		for line := range bytes.Lines(out.Bytes()) {
			if m, err := Parse(line); err != nil || !m.IsResponse() {
				t.Errorf("%q: %v", line, err)
			}
		}
		for _, args := range called {
			if args["kind"] != "a" && args["kind"] != "b" || len(args["text"]) > 16 || len(args) > 2 {
				t.Errorf("called with %q", args)
			}
		}
	})
}
