package login

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
)

// FuzzRead: what is read can be sent, what is written is read back, and all else in
// the file stays as it was.
func FuzzRead(f *testing.F) {
	for _, a := range Agents() {
		f.Add([]byte(fileAt(a, future)))
	}
	f.Add([]byte(`{"claudeAiOauth":{}}`))
	f.Add([]byte(`{"OPENAI_API_KEY":"sk-1"}`))
	f.Add([]byte(`{"openai":{"type":"api","key":"k"},"a":[{"b":[1,2,{}]},"\ud800"]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := parseDocument(text)
		if err != nil {
			return
		}
		for _, a := range Agents() {
			provider := ""
			if a == Opencode {
				provider = "openai"
			}
			form, err := formatOf(a, provider)
			if err != nil {
				t.Fatal(err)
			}
			g, err := form.read(d)
			if err != nil || g.kind != OAuth {
				continue
			}
			if sendable(g.access+g.refresh+g.account+g.plan, "token") != nil && len(g.access+g.refresh) <= maxToken {
				t.Errorf("%s: read what cannot be sent", a)
			}
			rewrite(t, form, d, g)
		}
	})
}

func rewrite(t *testing.T, form format, d *document, g grant) {
	n := g.renewed(answer{access: accessOf(7), refresh: `r"\<7>`, life: time.Hour}, past)
	out, err := d.apply(form.edits(d, n, past))
	if err != nil {
		t.Fatal(err)
	}
	e, err := parseDocument(out)
	if err != nil {
		t.Fatalf("%s became %s: %v", d.text, out, err)
	}
	got, err := form.read(e)
	if err != nil || got.access != n.access || got.refresh != n.refresh {
		t.Fatalf("%s became %s: %v", d.text, out, err)
	}
	var was, is map[string]any
	load(t, d.text, &was)
	load(t, out, &is)
	for _, m := range form.edits(d, n, past) {
		for _, tree := range []map[string]any{was, is} {
			for _, name := range m.path[:len(m.path)-1] {
				tree = tree[name].(map[string]any)
			}
			delete(tree, m.path[len(m.path)-1])
		}
	}
	if !reflect.DeepEqual(was, is) {
		t.Errorf("%s became %s", d.text, out)
	}
}

// load keeps numbers as they are written.
func load(t *testing.T, text []byte, to any) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(to); err != nil {
		t.Fatal(err)
	}
}

// FuzzAnswer: an answer that is taken can be sent and ends in bounded time; a refusal
// is told in words that need no escaping, and quotes nothing.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte(`{"access_token":"a","refresh_token":"r","expires_in":28800,"scope":"x y"}`))
	f.Add([]byte(`{"error":"invalid_grant"}`))
	f.Add([]byte(`{"error":{"code":null,"type":"authentication_error","message":"m"}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if a, err := readAnswer(body); err == nil {
			g := grant{refresh: "old"}.renewed(a, past)
			left := g.expires.Sub(past)
			if g.access == "" || g.refresh == "" || sendable(g.access, "") != nil || sendable(g.refresh, "") != nil || left > 2*maxLife*time.Second {
				t.Errorf("%s: %v", body, left)
			}
		} else if strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Errorf("%q", err)
		}
		if code := readCode(body); strings.Trim(code, "abcdefghijklmnopqrstuvwxyz_0123456789") != "" {
			t.Errorf("%q", code)
		}
	})
}
