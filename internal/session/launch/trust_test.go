package launch

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
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/state"
)

// newAuthority makes a certificate of an authority, and its key, in PEM.
func newAuthority(t *testing.T, name string) (cert, key []byte) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, k.Public(), k)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})
}

func place(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestTrust: authorities that the environment names are believed where no agent and no
// other user can have put them, and only they.
func TestTrust(t *testing.T) {
	cert, key := newAuthority(t, "company")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	file := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"etc/ca.pem", "ws/ca.pem", "ws/sub/ca.pem", "cache/ca.pem", "other/certs/ca.pem", "open/ca.pem", "etc/open.pem", "etc/store/one.pem", "ws/store/one.pem"} {
		place(t, file(name), append(bytes.Clone(key), cert...))
	}
	place(t, file("etc/empty.pem"), key)
	for link, to := range map[string]string{"ws/link.pem": file("etc/ca.pem"), "etc/tows.pem": file("ws/ca.pem"), "etc/good.pem": "ca.pem", "etc/dir": file("ws/sub"), "alias": file("ws")} {
		if err := os.Symlink(to, file(link)); err != nil {
			t.Fatal(err)
		}
	}
	for name, mode := range map[string]os.FileMode{"open": 0o777, "etc/open.pem": 0o666} {
		if err := os.Chmod(file(name), mode); err != nil {
			t.Fatal(err)
		}
	}
	system, err := systemBundle()
	if err != nil {
		t.Fatal(err)
	}
	for env, want := range map[string]string{
		"NODE_EXTRA_CA_CERTS=etc/ca.pem": "", "REQUESTS_CA_BUNDLE=etc/ca.pem": "", "GIT_SSL_CAINFO=etc/ca.pem": "", "CURL_CA_BUNDLE=etc/ca.pem": "", "PIP_CERT=etc/ca.pem": "",
		"SSL_CERT_FILE=etc/ca.pem": "", "SSL_CERT_DIR=etc/store": "", "SSL_CERT_FILE=etc/good.pem": "",
		"NODE_EXTRA_CA_CERTS=ws/ca.pem":          "an agent can write",
		"NODE_EXTRA_CA_CERTS=ws/sub/ca.pem":      "an agent can write",
		"NODE_EXTRA_CA_CERTS=ws/../etc/ca.pem":   "an agent can write",
		"NODE_EXTRA_CA_CERTS=ws/link.pem":        "an agent can write",
		"NODE_EXTRA_CA_CERTS=etc/tows.pem":       "an agent can write",
		"NODE_EXTRA_CA_CERTS=etc/dir/ca.pem":     "an agent can write",
		"NODE_EXTRA_CA_CERTS=alias/ca.pem":       "an agent can write",
		"NODE_EXTRA_CA_CERTS=cache/ca.pem":       "an agent can write",
		"NODE_EXTRA_CA_CERTS=other/certs/ca.pem": "an agent can write",
		"NODE_EXTRA_CA_CERTS=open/ca.pem":        "everybody may change",
		"REQUESTS_CA_BUNDLE=etc/open.pem":        "everybody may change",
		"NODE_EXTRA_CA_CERTS=etc/none.pem":       "there is no file",
		"NODE_EXTRA_CA_CERTS=etc/empty.pem":      "there is no certificate",
		"NODE_EXTRA_CA_CERTS=etc":                "not a regular file",
		"SSL_CERT_FILE=ws/ca.pem":                "an agent can write",
		"SSL_CERT_DIR=ws/store":                  "an agent can write",
	} {
		t.Run(env, func(t *testing.T) {
			name, path, _ := strings.Cut(env, "=")
			b := Base{Person: Person{User: plan.User{Home: dir}, Dirs: state.Dirs{State: file("state"), Config: file("config")}},
				Place: Place{Workspaces: []Workspace{{Path: file("ws"), Write: true}}}, Law: Law{Policy: &policy.Policy{}}, Reach: policy.Reach{Mode: "dev"}}
			b.Policy.Files.Write = policy.List{{Value: file("cache")}}
			if err := b.Dirs.Mark(file("other")); err != nil {
				t.Fatal(err)
			}
			b.Asked.Environ = []string{name + "=" + dir + "/" + path}
			if err := b.trust(); err != nil {
				t.Fatal(err)
			}
			said := strings.Join(append(b.Said.Warnings, b.Said.Notices...), "\n")
			all := append(bytes.Clone(b.Trust.Bundle), b.Trust.More...)
			if believed := bytes.Contains(all, cert); believed != (want == "") || want != "" && !strings.Contains(said, want) || want == "" && said != "" {
				t.Errorf("believed: %v; said %q", believed, said)
			}
			if bytes.Contains(all, []byte("PRIVATE KEY")) && !bytes.Contains(system, []byte("PRIVATE KEY")) {
				t.Error("a key is carried")
			}
			if want != "" && !bytes.Equal(b.Trust.Bundle, system) {
				t.Error("the system's authorities are not believed")
			}
			if pool := b.Trust.Pool; want == "" && pool == nil || want != "" && strings.HasPrefix(name, "SSL") && pool == nil {
				t.Error("the broker is left to the system's pool, which heeds the variable")
			}
		})
	}
}

// TestTrustSettings: authorities that the user's own settings of clients name are believed,
// and those that settings name which an agent can write are not.
func TestTrustSettings(t *testing.T) {
	cert, _ := newAuthority(t, "company")
	inline := strings.ReplaceAll(strings.TrimSpace(string(cert)), "\n", `\n`)
	for name, text := range map[string]string{
		".npmrc": "cafile=@\n", ".npmrc ca": `ca="` + inline + `"`, ".npmrc ca[]": "ca[]=\"x\"\nca[]=\"" + inline + `"`, ".yarnrc": "cafile \"@\"\n", ".yarnrc.yml": "httpsCaFilePath: \"@\"\n", ".config/pip/pip.conf": "[global]\ncert = @\n",
		".cargo/config.toml": "[http]\ncainfo = \"@\"\n", ".cargo/config.toml relative": "[http]\ncainfo = \"etc/ca.pem\"\n", ".gitconfig": "[http]\n\tsslCAInfo = @\n", ".config/git/config": "[http]\n\tsslCAInfo = ~/etc/ca.pem\n",
		".gitconfig of one address": "[http \"https://one.test\"]\n\tsslCAInfo = @\n",
	} {
		for _, written := range []bool{false, true} {
			home, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			ca, file := filepath.Join(home, "etc/ca.pem"), strings.Fields(name)[0]
			place(t, ca, cert)
			place(t, filepath.Join(home, file), []byte(strings.ReplaceAll(text, "@", ca)))
			if strings.Contains(text, inline) {
				place(t, filepath.Join(home, file), []byte(text))
			}
			b := Base{Person: Person{User: plan.User{Home: home}}, Law: Law{Policy: &policy.Policy{}}, Reach: policy.Reach{Mode: "dev"}}
			if written {
				b.Policy.Files.Write = policy.List{{Value: filepath.Join(home, file)}}
			}
			if err := b.trust(); err != nil {
				t.Fatal(err)
			}
			if want := !written && !strings.HasSuffix(name, "of one address"); bytes.Contains(b.Trust.More, cert) != want {
				t.Errorf("%s, written %v: believed %v; %q", name, written, !want, b.Said.Warnings)
			}
		}
	}
}

// TestTrustSystem: where nobody names an authority, the system's store says all.
func TestTrustSystem(t *testing.T) {
	b := Base{Law: Law{Policy: &policy.Policy{}}, Reach: policy.Reach{Mode: "dev"}}
	if err := b.trust(); err != nil || b.Trust.Pool != nil || b.Trust.More != nil {
		t.Errorf("%+v, %v", b.Trust, err)
	}
}
