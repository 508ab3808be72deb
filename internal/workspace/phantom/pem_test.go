package phantom

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// parsePEM reads the one key of a text.
func parsePEM(t *testing.T, text string) any {
	t.Helper()
	block, rest := pem.Decode([]byte(text))
	if block == nil || len(bytes.TrimSpace(rest)) > 0 {
		t.Fatalf("not PEM: %q", text)
	}
	var k any
	var err error
	switch block.Type {
	case "RSA PRIVATE KEY":
		k, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	case "EC PRIVATE KEY":
		k, err = x509.ParseECPrivateKey(block.Bytes)
	default:
		k, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	}
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// numbers is what is secret in a key.
func numbers(t *testing.T, k any) []byte {
	switch k := k.(type) {
	case *rsa.PrivateKey:
		return bytes.Join([][]byte{k.D.Bytes(), k.Primes[0].Bytes(), k.Primes[1].Bytes()}, nil)
	case *ecdsa.PrivateKey:
		b, err := k.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		return b
	case ed25519.PrivateKey:
		return k.Seed()
	}
	t.Fatalf("%T", k)
	return nil
}

func TestKeys(t *testing.T) {
	keys := realKeys()
	for _, name := range []string{"rsa", "rsa-pkcs8", "ec", "ec-pkcs8", "ed-pkcs8"} {
		out, kind := mustPhantom(t, "server.key", "Bag Attributes: x1y2z3secret\n"+keys[name])
		was, now := parsePEM(t, keys[name]), parsePEM(t, out)
		if kind != Key || strings.Contains(out, "Bag") || out[:30] != keys[name][:30] {
			t.Errorf("%s is %s:\n%s", name, kind, out)
		}
		block, _ := pem.Decode([]byte(out))
		if run := leaks(string(numbers(t, was)), string(block.Bytes)); run != "" {
			t.Errorf("%s: %x of the key is in the phantom", name, run)
		}
		if e, ok := was.(*ecdsa.PrivateKey); ok && e.Curve != now.(*ecdsa.PrivateKey).Curve {
			t.Errorf("%s is of another curve", name)
		}
		other, _, _ := Phantom("server.key", []byte(keys[name]), []byte("a seed of another session"))
		if string(other) == out {
			t.Errorf("%s: two sessions have one key", name)
		}
	}
	for _, broken := range []string{"-----BEGIN RSA PRIVATE KEY-----\nMIIabc", "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n",
		"-----BEGIN DSA PRIVATE KEY-----\n???\n-----END DSA PRIVATE KEY-----", "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\nAAAA\n-----END RSA PRIVATE KEY-----\n"} {
		out, kind := mustPhantom(t, "a.pem", broken)
		if _, ok := parsePEM(t, out).(*rsa.PrivateKey); !ok || kind != Key {
			t.Errorf("%q is %s: %q", broken, kind, out)
		}
	}
}

// TestOpenSSH: what ssh-keygen writes, it reads as a phantom.
func TestOpenSSH(t *testing.T) {
	keygen, err := exec.LookPath("ssh-keygen")
	if err != nil {
		t.Fatal("this test needs ssh-keygen")
	}
	for _, kind := range []string{"ed25519", "ecdsa", "rsa"} {
		file := filepath.Join(t.TempDir(), "id_"+kind)
		if out, err := exec.Command(keygen, "-q", "-t", kind, "-N", "", "-C", "jane.private.comment", "-f", file).CombinedOutput(); err != nil {
			t.Fatalf("ssh-keygen: %v: %s", err, out)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		out, k := mustPhantom(t, ".ssh/id_"+kind, string(data))
		if err := os.WriteFile(file, []byte(out), 0o600); err != nil {
			t.Fatal(err)
		}
		public, err := exec.Command(keygen, "-y", "-f", file).CombinedOutput()
		if err != nil || k != Key || !strings.HasPrefix(string(public), "ssh-ed25519 ") || strings.Contains(string(public), "jane") {
			t.Errorf("%s: %s, %v: %s", kind, k, err, public)
		}
		was, err := os.ReadFile(file + ".pub")
		if err != nil || strings.Contains(string(was), strings.Fields(string(public))[1]) {
			t.Errorf("%s: the phantom is the key (%v)", kind, err)
		}
	}
}

// TestKeysWithinValues: service accounts, YAML blocks and base64.
func TestKeysWithinValues(t *testing.T) {
	keys := realKeys()
	account, err := json.Marshal(map[string]string{"type": "service_account", "private_key": keys["rsa-pkcs8"]})
	if err != nil {
		t.Fatal(err)
	}
	out, _ := mustPhantom(t, "service-account.json", string(account))
	var back map[string]string
	if err := json.Unmarshal([]byte(out), &back); err != nil {
		t.Fatal(err)
	}
	if _, ok := parsePEM(t, back["private_key"]).(*rsa.PrivateKey); !ok || back["private_key"] == keys["rsa-pkcs8"] {
		t.Errorf("%s", out)
	}
	out, _ = mustPhantom(t, ".kube/config", "users:\n- name: me\n  user:\n    client-key-data: "+keys["kube"]+"\n    ca: "+base64.StdEncoding.EncodeToString([]byte(keys["cert"]))+"\n")
	raw, err := base64.StdEncoding.DecodeString(strings.Trim(strings.Fields(out)[6], `"`))
	if err != nil || strings.Contains(out, keys["kube"]) {
		t.Fatalf("%v in %s", err, out)
	}
	parsePEM(t, string(raw))
	if !strings.Contains(out, base64.StdEncoding.EncodeToString([]byte(keys["cert"]))) {
		t.Errorf("the certificate did not stay: %s", out)
	}
	out, _ = mustPhantom(t, "secrets.yml", "tls:\n  key: |\n    "+strings.ReplaceAll(strings.TrimSpace(keys["ec"]), "\n", "\n    ")+"\n  port: 1\n")
	_, block, _ := strings.Cut(out, "|\n")
	block, _, found := strings.Cut(block, "  port")
	if parsePEM(t, strings.ReplaceAll(block, "    ", "")); !found || strings.Contains(out, keys["ec"][60:100]) {
		t.Errorf("%s", out)
	}
}
