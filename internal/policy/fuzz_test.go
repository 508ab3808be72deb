package policy

import (
	"bytes"
	"net/url"
	"path"
	"reflect"
	"strings"
	"testing"
	"unicode"

	"ringfence.dev/ringfence/internal/fault"
)

// What decodes prints to what decodes to the same; what does not decode says so
// in a bounded text that holds nothing a terminal would obey.
func FuzzDecode(f *testing.F) {
	f.Add(builtin)
	f.Add([]byte(project))
	f.Add([]byte(network))
	f.Add([]byte(secrets))
	f.Add([]byte(workspace))
	for _, c := range secretErrors {
		f.Add([]byte(c.text))
	}
	for _, c := range decodeErrors {
		f.Add([]byte(c.text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Decode(bytes.NewReader(data), "fuzz.toml")
		if err == nil {
			roundTrip(t, p)
			return
		}
		if p != nil || fault.KindOf(err) != fault.Usage {
			t.Fatalf("policy %v with error %v", p, err)
		}
		text := err.Error() + fault.HintOf(err)
		if len(text) > 4*(maxText+5*excerptSide) {
			t.Fatalf("%d bytes of error", len(text))
		}
		if i := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }); i >= 0 {
			t.Fatalf("the error holds %q: %q", text[i:i+1], text)
		}
	})
}

func FuzzTrust(f *testing.F) {
	good, err := encodeTrust(trustFile{Version: trustVersion, Trusted: []trust{newTrust("/w\xff", ProjectFile, strings.Repeat("ab", 32))}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"version":1,"trusted":[]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		store, err := decodeTrust(data)
		if err != nil {
			return
		}
		if again, err := encodeTrust(*store); err != nil || !bytes.Equal(again, data) {
			t.Fatalf("%q encodes to %q (%v)", data, again, err)
		}
	})
}

// FuzzParseHome: where a credential goes has one spelling, and everybody reads its path
// in the same way.
func FuzzParseHome(f *testing.F) {
	for _, s := range []string{"reg.example.org", "reg.example.org/npm", "http://reg.test:8080/a/b/", "//reg.test/x/:_authToken", "reg.test/a/../b", "reg.test/%2e", "reg.test//a", "*.test/a", "[::1]:80/x", "reg.test/a;b", "a/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		h, err := ParseHome(text)
		if err != nil {
			return
		}
		again, err := ParseHome(h.String())
		if err != nil || !reflect.DeepEqual(again, h) {
			t.Errorf("%q is %+v, and that is %+v, %v", text, h, again, err)
		}
		u, err := url.Parse("https://host.test" + h.Base)
		if err != nil || u.EscapedPath() != h.Base || u.Path != h.Base || h.Base != "" && path.Clean(h.Base) != h.Base {
			t.Errorf("%q has the path %q, which others read as %+v, %v", text, h.Base, u, err)
		}
	})
}

// FuzzParseRepo: a repository has one spelling, and a path that nobody folds.
func FuzzParseRepo(f *testing.F) {
	for _, s := range []string{"me/mine", "git.example.org/me/mine", "git.example.org:8443/a/b/c", "a.b/c", "me/mine.git", "me/..", "-x/y", "a:1/b/c", "GitHub.com/a/b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseRepo(text)
		if err != nil {
			return
		}
		plain := plainRepo(text)
		again, err := ParseRepo(plain)
		if err != nil || again != r || plainRepo(plain) != plain {
			t.Errorf("%q is %+v, and %q is %+v, %v", text, r, plain, again, err)
		}
		if path.Clean(r.Path) != r.Path || strings.HasPrefix(r.Path, "/") || strings.ContainsAny(r.Path, "%?#\\ ") {
			t.Errorf("%q has the path %q", text, r.Path)
		}
	})
}
