package plan_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ringfence.dev/ringfence/internal/plan"
)

func TestDecodeIsEncode(t *testing.T) {
	in := input()
	in.Process.Dir = "/home/dev/not-utf8-\xff\xfe\n"
	in.Process.Argv = []plan.Raw{"sh", "\xc3\x28"}
	p := make1(t, in)
	b, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	got, err := plan.Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(p, got); d != "" {
		t.Errorf("decode of encode differs (-want +got):\n%s", d)
	}
}

func TestDecodeIsStrict(t *testing.T) {
	b, err := json.Marshal(make1(t, input()))
	if err != nil {
		t.Fatal(err)
	}
	good := string(b)
	for name, bad := range map[string]string{
		"unknown field":   strings.Replace(good, `{"version":1`, `{"extra":1,"version":1`, 1),
		"other version":   strings.Replace(good, `"version":1`, `"version":2`, 1),
		"trailing bytes":  good + "{}",
		"unknown op":      strings.Replace(good, `"do":"bind"`, `"do":"exec"`, 1),
		"relative target": strings.Replace(good, `"dst":"/usr"`, `"dst":"usr"`, 1),
		"climbing target": strings.Replace(good, `"dst":"/usr"`, `"dst":"/usr/../etc"`, 1),
		"empty":           "",
		"not an object":   "[]",
	} {
		if bad == good {
			t.Fatalf("%s: the fixture has changed", name)
		}
		if _, err := plan.Decode([]byte(bad)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func FuzzDecode(f *testing.F) {
	p, err := plan.Make(input())
	if err != nil {
		f.Fatal(err)
	}
	b, err := json.Marshal(p)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(`{"version":1,"process":{"argv":["x"],"env":[],"dir":{"base64":"/w=="},"tty":0,"umask":18}}`))
	f.Add([]byte(`{"version":1,"ops":[{"do":"bind","dst":"/a","src":"/b"}],"process":{"argv":["x"]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := plan.Decode(data)
		if err != nil {
			return
		}
		again, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		q, err := plan.Decode(again)
		if err != nil {
			t.Fatalf("what was decoded does not decode again: %v", err)
		}
		if d := cmp.Diff(p, q); d != "" {
			t.Fatal(d)
		}
		for _, op := range p.Ops {
			if !strings.HasPrefix(string(op.Dst), "/") || strings.Contains(string(op.Dst)+"/", "/../") {
				t.Fatalf("accepted destination %q", op.Dst)
			}
		}
	})
}
