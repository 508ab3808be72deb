package source

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ringfence.dev/ringfence/internal/policy"
)

const text = "sk-ant-api03-canary0123456789"

func value(t testing.TB, s string) Value {
	t.Helper()
	v, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestValueHides(t *testing.T) {
	v := value(t, text)
	type inner struct{ v Value }
	type outer struct {
		V   Value
		P   *Value
		in  inner
		all []Value
		by  map[string]Value
	}
	o := outer{v, &v, inner{v}, []Value{v}, map[string]Value{"k": v}}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "v", v, "o", o)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "v", v, "o", o)
	shown := log.String()
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T", "%10.3s", "%p"} {
		shown += fmt.Sprintf(verb, v) + fmt.Sprintf(verb, &v) + fmt.Sprintf(verb, o) + fmt.Sprintf(verb, &o)
	}
	for _, x := range []any{v, &v, o, map[string]any{"a": v}} {
		j, err := json.Marshal(x)
		if err != nil {
			t.Fatal(err)
		}
		shown += string(j)
	}
	x, _ := xml.Marshal(v)
	shown += string(x) + fmt.Errorf("wrapped: %w, %v", errors.New("e"), v).Error() + fmt.Sprint(v, o)
	func() {
		defer func() { shown += fmt.Sprint(recover()) }()
		panic(o)
	}()
	if strings.Contains(shown, "canary") || strings.Contains(shown, fmt.Sprintf("%x", "canary")) {
		t.Errorf("the value shows: %s", shown)
	}
	if v.Reveal() != text || (Value{}).Reveal() != "" || v.String() != "[secret]" {
		t.Error("not revealed")
	}
}

func TestNew(t *testing.T) {
	for in, want := range map[string]string{
		"a": "a", "a\n": "a", "a\r\n": "a", "a b": "a b", "ü": "ü", strings.Repeat("x", maxValue) + "\n": strings.Repeat("x", maxValue),
		"": "", "\n": "", "\n\n": "", "a\n\n": "", "a\nb": "", "a\rb": "", " a": "", "a ": "", "a\tb": "", "a\x00": "", "a\x1b[m": "", "a\u0085b": "", "\xff": "",
		strings.Repeat("x", maxValue+1): "",
	} {
		v, err := New(in)
		if v.Reveal() != want || (err == nil) != (want != "") {
			t.Errorf("%.20q: %.20q, %v", in, v.Reveal(), err)
		}
		if err != nil && in != "" && strings.TrimSpace(in) != "" && len(in) > 3 && strings.Contains(err.Error(), in) {
			t.Errorf("the error quotes the text: %v", err)
		}
	}
}

func TestShape(t *testing.T) {
	for in, want := range map[string]string{
		text: "sk-ant-api03-", "sk-ant-xxxxxxxxxxxx": "sk-ant-", "sk-proj-abcdefghij": "sk-proj-", "sk-abcdefghij": "sk-", "ghp_0123456789": "ghp_",
		"github_pat_0123456789": "github_pat_", "hunter2-hunter2": "", "ghp_012": "", "AKIA0123456789ABCDEF": "AKIA",
	} {
		if prefix, n := value(t, in).Shape(); prefix != want || n != len(in) {
			t.Errorf("%q: %q %d", in, prefix, n)
		}
	}
	for i, p := range prefixes {
		for _, q := range prefixes[:i] {
			if strings.HasPrefix(p, q) {
				t.Errorf("%q is never found behind %q", p, q)
			}
		}
	}
}

// Both packages stand on one level and spell the rule for names themselves.
func TestNamesAreThoseOfPolicy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringMatching(`[a-zA-Z0-9_.ä-]{0,3}[a-z]{0,33}`).Draw(t, "name")
		if validName(s) != (policy.CheckSecretName(s) == nil) {
			t.Fatalf("%q: %v here", s, validName(s))
		}
	})
}
