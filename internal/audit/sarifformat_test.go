package audit

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strings"
	"testing"
)

func TestWriteNothing(t *testing.T) {
	var b bytes.Buffer
	if err := writeSARIF(&b, sarifRun{Tool: sarifTool{sarifDriver{Name: "x", Rules: []sarifRule{}}}}); err != nil {
		t.Fatal(err)
	}
	var log map[string]any
	if err := json.Unmarshal(b.Bytes(), &log); err != nil {
		t.Fatal(err)
	}
	runs := log["runs"].([]any)
	if log["version"] != "2.1.0" || len(runs) != 1 {
		t.Errorf("%s", b.Bytes())
	}
	// An empty list says that nothing was found; no list says that nobody looked.
	if results, ok := runs[0].(map[string]any)["results"].([]any); !ok || len(results) != 0 {
		t.Errorf("results are not an empty list: %s", b.Bytes())
	}
}

func TestText(t *testing.T) {
	if got := sarifText(`{"a": [1](2)}`).Text; got != `{{"a": [1] (2)}}` {
		t.Errorf("%s", got)
	}
}

// FuzzPath: whatever bytes a path has, it is a relative reference that leads back to
// them, and no viewer takes it for an address.
func FuzzPath(f *testing.F) {
	for _, s := range []string{"", ".", "a/b.json", "a b/ü", "http://x", "c:x", "//x/y", "%2e%2e", "a?b#c", "\xff\n", "a//b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, rel string) {
		if strings.HasPrefix(rel, "/") {
			return
		}
		u, err := url.Parse(sarifPath(rel))
		if err != nil || u.IsAbs() || u.Host != "" || u.RawQuery != "" || u.Fragment != "" {
			t.Fatalf("%q became %q: %v", rel, sarifPath(rel), err)
		}
		want := rel
		if rel == "" || rel == "." {
			want = "./"
		}
		if got := u.Path; got != want && got != "./"+want {
			t.Fatalf("%q came back as %q", rel, got)
		}
	})
}
