package broker

import (
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The mirror of a company, which the user's own .npmrc names with a token: npm inside asks
// it by its name, TLS ends at the registry door, and the lock file is as it would be
// outside. A young version is not there, for whoever asks.
func TestNpmMirror(t *testing.T) {
	need(t, "npm", "node")
	const mirror, base, token = "npm.corp.test", "/api/npm/main", "npm_CANARYmirror0000000000000000000000000"
	s := begin(t)
	sum := sha512.Sum512(parcel)
	release := func(version string) map[string]any {
		return map[string]any{"name": "@corp/lib", "version": version, "main": "index.js", "dist": map[string]any{"integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:]),
			"tarball": "https://" + mirror + base + "/@corp/lib/-/lib-" + version + ".tgz"}}
	}
	v := s.vendor(mirror, "203.0.113.207", func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") != "Bearer "+token:
			http.Error(w, `{"error":"who are you?"}`, http.StatusUnauthorized)
		case strings.HasSuffix(r.URL.Path, ".tgz"):
			w.Write(parcel)
		case r.URL.Path == base+"/@corp/lib":
			json.NewEncoder(w).Encode(map[string]any{"name": "@corp/lib", "dist-tags": map[string]any{"latest": "1.1.0"}, "versions": map[string]any{"1.0.0": release("1.0.0"), "1.1.0": release("1.1.0")},
				"time": map[string]string{"1.0.0": "2020-01-01T00:00:00Z", "1.1.0": time.Now().UTC().Format(time.RFC3339)}})
		default:
			http.NotFound(w, r)
		}
	})
	s.home(".npmrc", "registry=https://"+mirror+base+"/\n//"+mirror+base+"/:_authToken="+token+"\n", 0o600)
	s.Put("package.json", []byte(`{"name":"mine","version":"1.0.0"}`), 0o644)
	h := s.hold("run", "--", "sh")
	if out, ok := h.try("npm install --no-audit --no-fund @corp/lib && node -p 'require(\"@corp/lib\")'"); !ok || !strings.Contains(out, "the private package") {
		t.Fatalf("install: %s", out)
	}
	lock, err := os.ReadFile(filepath.Join(s.Dir, "package-lock.json"))
	if err != nil || !strings.Contains(string(lock), "https://"+mirror+base+"/@corp/lib/-/lib-1.0.0.tgz") || strings.Contains(string(lock), "809") {
		t.Errorf("the lock file: %v\n%s", err, lock)
	}
	if out, ok := h.try("npm install --no-audit @corp/lib@1.1.0"); ok || !strings.Contains(out, "is held back") {
		t.Errorf("young: %s", out)
	}
	at := "https://" + mirror + base
	if out, ok := h.try("curl -sS " + at + "/@corp/lib/-/lib-1.1.0.tgz"); !ok || !strings.Contains(out, "is held back") {
		t.Errorf("young, by its file: %s", out)
	}
	if out := h.say("env; cat ~/.npmrc"); strings.Contains(out, token) {
		t.Errorf("the token is inside: %s", out)
	}
	v.forget()
	for _, tricky := range []string{at + "/-/npm/v1/tokens", "https://" + mirror + "/other/secret", "--path-as-is " + at + "/../../other", at + "/%2e%2e/other", "-X PUT -d {} " + at + "/@corp/lib", at + "/@corp/lib?write=true"} {
		if out, _ := h.try("curl -sS " + tricky); len(v.requests()) > 0 {
			t.Errorf("%s: the mirror got %+v\n%s", tricky, v.requests(), out)
		}
	}
}
