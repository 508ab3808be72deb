package source

import (
	"bytes"
	"strings"
	"testing"
)

// fixed is a key that the corpus was made with; it opens nothing else.
const fixed = "AGE-SECRET-KEY-105942ZFU7XE0K0A6LFNUTK7A0GAA0LQH6JPDS959YFM5U6WETUHQ28V5V6"

var contents = []string{
	`{"version":1,"secrets":{}}`, `{"version":1,"secrets":{"a":"b","c":"\u003c"}}`, `{"version":1,"secrets":{"a":"b","a":"c"}}`, `{"version":1,"secrets":null}`,
	`{"version":2,"secrets":{}}`, `{"Version":1,"secrets":{}}`, `{"version":1,"secrets":{"a b":"c"}}`, `{"version":1,"secrets":{"a":"b\n"}}`, `{"version":1,"secrets":{"a":1}}`,
	`{"version":1,"secrets":{"a":"b"}} `, `{"version":1,"secrets":{"a":"b"},"more":1}`, `[]`, ``, `{"version":1e0,"secrets":{}}`,
}

// What decodes encodes to the same bytes, and every name and value in it is one that
// Set takes. An error holds nothing of the input.
func FuzzContent(f *testing.F) {
	for _, c := range contents {
		f.Add([]byte(c))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := decodeContent(data)
		if err != nil {
			known := []string{"larger than", "it has version ", "not as ringfence writes it", "that cannot be used"}
			for _, k := range known {
				if strings.Contains(err.Error(), k) && len(err.Error()) < 100 {
					return
				}
			}
			t.Fatal(err)
		}
		again, err := c.encode()
		if err != nil || !bytes.Equal(again, data) {
			t.Fatalf("%q encodes to %q (%v)", data, again, err)
		}
		for name, text := range c.Secrets {
			if v, err := New(text); err != nil || v.Reveal() != text || !validName(name) {
				t.Fatalf("%q: %q", name, text)
			}
		}
	})
}

// What opens was written with the key and is what Set writes; all else is an error
// that holds nothing of the file.
func FuzzDecrypt(f *testing.F) {
	id, err := parseIdentity([]byte(fixed + "\n"))
	if err != nil {
		f.Fatal(err)
	}
	for _, c := range contents {
		f.Add([]byte(encrypted(f, id, c)))
	}
	good := encrypted(f, id, contents[1])
	f.Add([]byte(good[:len(good)-1]))
	f.Add([]byte(good + "x"))
	f.Add([]byte(strings.Replace(good, "X25519", "scrypt", 1)))
	f.Add([]byte("age-encryption.org/v1\n-> X25519 x\n"))
	f.Add([]byte("age-encryption.org/v1\n-> scrypt AAAAAAAAAAAAAAAAAAAAAA 30\n" + strings.Repeat("A", 43) + "\n--- x\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := decrypt(data, id)
		if err != nil {
			if c != nil || len(err.Error()) > 100 {
				t.Fatalf("%v, %v", c, err)
			}
			return
		}
		if plain, err := c.encode(); err != nil || !bytes.HasPrefix(data, []byte("age-encryption.org/v1\n")) || len(plain) >= len(data) {
			t.Fatalf("%q opens to %q (%v)", data, plain, err)
		}
	})
}

// A key reads back as it is spelt, or not at all.
func FuzzIdentity(f *testing.F) {
	f.Add([]byte(fixed + "\n"))
	f.Add([]byte("# created\n" + fixed + "\n"))
	f.Add([]byte(strings.ToLower(fixed) + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		id, err := parseIdentity(data)
		if err == nil && id.String()+"\n" != string(data) {
			t.Fatalf("%q", data)
		}
		if err != nil && err.Error() != "this is not the key of a store" {
			t.Fatal(err)
		}
	})
}
