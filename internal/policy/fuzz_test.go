package policy

import (
	"bytes"
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
