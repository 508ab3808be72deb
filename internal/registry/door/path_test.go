package door

import (
	"net/http/httptest"
	"strings"
	"testing"
)

func TestPaths(t *testing.T) {
	for _, c := range []struct {
		path, base, rest string
		odd              bool
	}{
		{"/lib", "", "/lib", false}, {"/lib/", "", "/lib", false}, {"/@corp%2flib", "", "/@corp/lib", false}, {"/npm/lib", "/npm", "/lib", false}, {"/npm/lib", "//npm/", "/lib", false},
		{"/npm//lib", "/npm", "/lib", true}, {"/x/..//npm/./lib", "/npm", "/lib", true}, {"/%6epm/lib", "/npm", "/lib", false}, {"/npm/%252e%252e/npm/lib", "/npm", "/lib", true}, {"/npm%5clib", "/npm", "/lib", true},
		{"/lib?x=1", "", "/lib", true}, {"/lib?", "", "/lib", true}, {"/npmx/lib", "/npm", "", false}, {"/npm", "/npm", "", false}, {"/npm/../lib", "/npm", "", true},
	} {
		r := httptest.NewRequest("GET", "https://h.test"+c.path, nil)
		rest, ok := Below(r, c.base)
		if ok != (c.rest != "") || ok && rest != c.rest || (Odd(r) != "") != c.odd {
			t.Errorf("%s below %q: %q, %v, odd: %q", c.path, c.base, rest, ok, Odd(r))
		}
	}
	if Odd(httptest.NewRequest("POST", "https://h.test/lib", nil)) == "" {
		t.Error("a write is answered")
	}
}

// FuzzBelow: what is below has one spelling, whatever stands before it.
func FuzzBelow(f *testing.F) {
	for _, s := range []string{"/npm/lib", "//npm/../npm/lib", "/npm/%2e%2e/x", `/npm\..\x`, "/%25%32%65"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		r := httptest.NewRequest("GET", "https://h.test/", nil)
		r.URL.Path = path
		rest, ok := Below(r, "/npm")
		if ok && (rest[0] != '/' || strings.Contains(rest+"/", "/../") || strings.Contains(rest, "//") || strings.Contains(rest, `\`)) {
			t.Errorf("%q is %q", path, rest)
		}
	})
}
