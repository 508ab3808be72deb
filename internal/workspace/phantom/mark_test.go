package phantom

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"strings"
	"testing"
)

// TestPhantomsAreKnown: of each make, alone and within others.
func TestPhantomsAreKnown(t *testing.T) {
	seed := bytes.Repeat([]byte("s"), 32)
	files := map[string]string{
		".env":             "TOKEN=short-secret\n",
		"a.env":            "API_KEY=0123456789abcdef0123456789abcdef\n",
		"b.env":            "K=sk-ant-api03-abcdEFGH1234ijklMNOP5678\n",
		"c.env":            "K=AKIAIOSFODNN7EXAMPLE\n",
		"d.env":            "SECRET=6f1c7b1e-5a7d-4c1b-9b57-0d5fca7a9f10\n",
		"e.env":            "SECRET=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\n",
		"f.env":            "J=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U\n",
		"g.env":            "DATABASE_URL=postgres://user:hunter2hunter2@db.test:5432/app\n",
		".docker/x.json":   "{}",
		"credentials.json": `{"client_secret":"abcDEF123456ghiJKL7890"}`,
		"secrets.yml":      "password: correct-horse-battery\n",
		"id_ed25519":       realKeys()["openssh"],
	}
	for name, data := range realKeys() {
		if name != "public" {
			files[name+".pem"] = data
		}
	}
	for name, data := range files {
		out, kind, err := Phantom(name, []byte(data), seed)
		if err != nil {
			t.Fatal(err)
		}
		if kind == None || kind == Empty {
			continue
		}
		if !IsPhantom(out) {
			t.Errorf("%s (%s) is not known as a phantom:\n%s", name, kind, out)
		}
		if IsPhantom([]byte(data)) {
			t.Errorf("%s: the real one is taken for a phantom", name)
		}
		if !IsPhantom([]byte("x: [\"" + strings.TrimSpace(string(out)) + "\"]\nmore text\n")) {
			t.Errorf("%s: not known within other text", name)
		}
	}
}

// TestNothingElseIsAPhantom: neither what programs draw nor text.
func TestNothingElseIsAPhantom(t *testing.T) {
	raw := make([]byte, 48)
	for range 5000 {
		rand.Read(raw)
		for _, s := range []string{hex.EncodeToString(raw), base64.StdEncoding.EncodeToString(raw), base64.RawURLEncoding.EncodeToString(raw[:16])} {
			if IsPhantom([]byte("K=" + s + "\n")) {
				t.Fatal(s)
			}
		}
	}
	for range 20 {
		_, k, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		der, err := x509.MarshalPKCS8PrivateKey(k)
		if err != nil || IsPhantom(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})) {
			t.Fatal("a real key", err)
		}
	}
}

func FuzzIsPhantom(f *testing.F) {
	f.Add([]byte("K=abcdefghijklmnop"))
	f.Add([]byte("6f1c7b1e-5a7d-4c1b-9b57-0d5fca7a9f10"))
	f.Add([]byte("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"))
	f.Fuzz(func(t *testing.T, b []byte) { IsPhantom(b) })
}
