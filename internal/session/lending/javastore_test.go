package lending

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// certificates are n of them, the last with a name long enough for every length.
func certificates(tb testing.TB, n int) (out [][]byte) {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	for i := range n {
		t := &x509.Certificate{SerialNumber: big.NewInt(int64(i) + 1), Subject: pkix.Name{CommonName: "a"}, IsCA: true, BasicConstraintsValid: true}
		if i == n-1 {
			t.DNSNames = slices.Repeat([]string{strings.Repeat("n", 60) + ".test"}, 1100)
		}
		der, err := x509.CreateCertificate(rand.Reader, t, t, &key.PublicKey, key)
		if err != nil {
			tb.Fatal(err)
		}
		out = append(out, der)
	}
	return out
}

func armour(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// A JVM reads the store: every certificate is there, what is none is not.
func TestJavaReadsTheStore(t *testing.T) {
	keytool, err := exec.LookPath("keytool")
	if err != nil {
		t.Fatal("needs Java's keytool")
	}
	certs := certificates(t, 4)
	bundle := []byte("# a comment of the bundle\n")
	for i, c := range certs {
		whole := armour("CERTIFICATE", c)
		switch i {
		case 1:
			whole = bytes.ReplaceAll(whole, []byte("\n"), []byte("\r\n"))
		case 2:
			whole = bytes.ReplaceAll(whole, []byte("\n"), []byte(" \t\n"))
		}
		bundle = append(bundle, whole...)
		bundle = append(bundle, armour("CERTIFICATE", c[:len(c)-1])...)
		bundle = append(bundle, armour("CERTIFICATE", append(bytes.Clone(c), 0))...)
		bundle = append(bundle, armour("PRIVATE KEY", c)...)
	}
	at := filepath.Join(t.TempDir(), "ca.p12")
	if err := os.WriteFile(at, javaStore(bundle), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(keytool, "-list", "-rfc", "-keystore", at, "-storetype", "PKCS12", "-storepass", "")
	cmd.Env = []string{"HOME=" + t.TempDir(), "LC_ALL=C", "PATH=" + os.Getenv("PATH")}
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	var got [][]byte
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		got = append(got, block.Bytes)
	}
	slices.SortFunc(got, func(a, b []byte) int { return len(a) - len(b) })
	slices.SortFunc(certs, func(a, b []byte) int { return len(a) - len(b) })
	if len(got) != len(certs) || strings.Count(string(text), "trustedCertEntry") != len(certs) {
		t.Fatalf("Java sees %d certificates, not %d:\n%.2000s", len(got), len(certs), text)
	}
	for _, c := range certs {
		if !slices.ContainsFunc(got, func(g []byte) bool { return bytes.Equal(g, c) }) {
			t.Errorf("one certificate of %d bytes is not what it was", len(c))
		}
	}
}

// Lengths that lie, and certificates in forms that DER does not have.
func FuzzJavaStore(f *testing.F) {
	for _, c := range certificates(f, 2) {
		f.Add(c)
		f.Add(c[:len(c)/2])
	}
	f.Add([]byte{derSequence, 0x84, 0xff, 0xff, 0xff, 0xff})
	f.Add([]byte{derSequence, 0x80, 0, 0})
	f.Add([]byte{derSequence, 0x81, 1, 0})
	f.Fuzz(func(t *testing.T, cert []byte) {
		if len(cert) > 4<<20 {
			return
		}
		if _, err := x509.ParseCertificate(cert); err == nil && !isCertificate(cert) {
			t.Error("a certificate is not taken for one")
		}
		store := javaStore(armour("CERTIFICATE", cert))
		if whole, rest, ok := derTake(derSequence, store); !ok || len(rest) > 0 || len(whole) == 0 {
			t.Error("the store is no sequence")
		}
		slow, _ := pem.Decode(armour("CERTIFICATE", cert))
		for got := range certificatesOf(armour("CERTIFICATE", cert)) {
			if !bytes.Equal(got, slow.Bytes) {
				t.Error("read otherwise than by the library")
			}
		}
		if bytes.Contains(store, cert) != isCertificate(cert) && len(cert) > 64 {
			t.Error("what the store has is not what was judged")
		}
	})
}

func BenchmarkJavaStore(b *testing.B) {
	bundle, err := os.ReadFile("/etc/ssl/certs/ca-certificates.crt")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		javaStore(bundle)
	}
}
