package broker

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/stage"
)

const (
	registryName  = "registry.test"
	registryAddr  = "203.0.113.205"
	registryToken = "npm_CANARYregistryUCsMehGAkWvj7FAc9QeWJK"
)

// parcel is a package as a registry keeps it.
var parcel = func() []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for name, text := range map[string]string{"package.json": `{"name":"@corp/lib","version":"1.0.0","main":"index.js"}`, "index.js": `module.exports = "the private package"`} {
		w.WriteHeader(&tar.Header{Name: "package/" + name, Mode: 0o644, Size: int64(len(text))})
		w.Write([]byte(text))
	}
	w.Close()
	z.Close()
	return b.Bytes()
}()

// registry is a private registry of npm's protocol.
func (s *scene) registry(policy string) *vendor {
	return s.registryAt("", policy)
}

// registryAt is one below a path, as managers of repositories have them: for others the
// path is another registry, and the token is good for all of them.
func (s *scene) registryAt(base, policy string) *vendor {
	s.t.Helper()
	sum := sha512.Sum512(parcel)
	token := s.write(filepath.Join(s.State, "npm-token"), registryToken+"\n", 0o600)
	s.policy("[secret.registry]\nuse = \"npm\"\nhosts = [\"" + registryName + base + "\"]\nfrom = \"file:" + token + "\"\n" + policy)
	s.Put(".npmrc", []byte("registry=https://"+registryName+base+"/\naudit=false\nfund=false\nupdate-notifier=false\n"), 0o644)
	return s.vendor(registryName, registryAddr, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+registryToken {
			http.Error(w, `{"error":"who are you?"}`, http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.Method == http.MethodPut:
			w.WriteHeader(http.StatusCreated)
			w.Write([]byte(`{"ok":true}`))
		case r.URL.Path == base+"/-/npm/v1/security/advisories/bulk":
			w.Write([]byte("{}"))
		case strings.HasSuffix(r.URL.Path, ".tgz"):
			w.Header().Set("Content-Type", "application/octet-stream")
			w.Write(parcel)
		case r.URL.Path == base+"/@corp/lib":
			json.NewEncoder(w).Encode(map[string]any{"name": "@corp/lib", "dist-tags": map[string]any{"latest": "1.0.0"}, "versions": map[string]any{"1.0.0": map[string]any{
				"name": "@corp/lib", "version": "1.0.0", "main": "index.js", "dist": map[string]any{"tarball": "https://" + registryName + base + "/@corp/lib/-/lib-1.0.0.tgz",
					"integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:])}}}})
		default:
			http.Error(w, `{"error":"not found"}`, http.StatusNotFound)
		}
	})
}

func published(v *vendor) bool {
	for _, q := range v.requests() {
		if q.Method == http.MethodPut {
			return true
		}
	}
	return false
}

// installs has npm install the package and ask about it, which is one start of npm. It
// compresses its question.
const installs = "npm install --no-save --audit @corp/lib && node -p 'require(\"@corp/lib\")'"

func installed(out string, ok bool) bool {
	return ok && strings.Contains(out, "the private package") && strings.Contains(out, "found 0 vulnerabilities")
}

// npm installs what only the token opens, and publishes where that is allowed.
func TestRegistry(t *testing.T) {
	need(t, "npm", "node")
	for i, open := range []bool{false, true} {
		if !stage.Mine(i) {
			continue
		}
		t.Run(map[bool]string{false: "by default", true: "publish"}[open], func(t *testing.T) {
			s := begin(t)
			policy := ""
			if open {
				policy = "publish = true\n"
			}
			v := s.registry(policy)
			s.Put("package.json", []byte(`{"name":"mine","version":"1.0.0","files":[]}`), 0o644)
			h := s.hold("run", "--", "sh")
			if out, ok := h.try(installs); !installed(out, ok) {
				t.Errorf("install and audit: %s", out)
			}
			out, ok := h.try("rm -rf node_modules; npm publish --ignore-scripts")
			if ok != open || published(v) != open || !open && !strings.Contains(out, "ringfence") {
				t.Errorf("publish: %v\n%s", ok, out)
			}
			v.forget()
			for _, denied := range []string{"npm unpublish -f @corp/lib@1.0.0",
				"npm publish --ignore-scripts --//" + registryName + "/:_authToken=npm_ATTACKER00000000000000000000000000000",
				"curl -sSf -X DELETE https://" + registryName + "/-/npm/v1/tokens/token/1", "curl -sSf -d '{}' https://" + registryName + "/-/npm/v1/tokens",
				"curl -sSf -X PUT -d '{}' https://" + registryName + "/@corp/lib/-rev/1", "curl -sSf https://" + registryName + "/-/npm/v1/tokens"} {
				if out, ok := h.try(denied + " </dev/null"); ok || published(v) {
					t.Errorf("%s: %s", denied, out)
				}
			}
			for _, q := range v.requests() {
				if q.Method != http.MethodGet || q.Header.Get("Authorization") != "Bearer "+registryToken {
					t.Errorf("the registry got %s %s with %q", q.Method, q.Path, q.Header.Get("Authorization"))
				}
			}
			if out := h.say("env; cat .npmrc ~/.npmrc"); strings.Contains(out, registryToken) {
				t.Errorf("the real token is inside:\n%s", out)
			}
		})
	}
	// The control: without the token nobody gets anything.
	s := begin(t)
	v := s.registry("")
	if r := s.host("npm", "view", "@corp/lib", "--cafile="+s.State+"/bundle.pem"); r.Status == 0 || len(v.requests()) == 0 {
		t.Errorf("control: %s", r.show())
	}
}

// The same below a path, which is where Artifactory, Nexus and GitLab have registries.
// What is beside the path gets nothing.
func TestRegistryBelowAPath(t *testing.T) {
	need(t, "npm", "node")
	for i, base := range []string{"/artifactory/api/npm/main", "/repository/npm-all", "/api/v4/projects/7/packages/npm"} {
		if !stage.Mine(i) {
			continue
		}
		t.Run(base, func(t *testing.T) {
			s := begin(t)
			v := s.registryAt(base, "publish = true\n")
			s.Put("package.json", []byte(`{"name":"mine","version":"1.0.0","files":[]}`), 0o644)
			h := s.hold("run", "--", "sh")
			if out, ok := h.try(installs); !installed(out, ok) {
				t.Errorf("install and audit: %s", out)
			}
			if out, ok := h.try("rm -rf node_modules; npm publish --ignore-scripts"); !ok || !published(v) {
				t.Errorf("publish: %s", out)
			}
			v.forget()
			at := "https://" + registryName
			for _, denied := range []string{"npm view @corp/lib --registry=" + at + "/other/", "curl -sSf " + at + "/@corp%2flib", "npm unpublish -f @corp/lib@1.0.0",
				"curl -sSf --path-as-is " + at + base + "/../other/x", "curl -sSf --path-as-is " + at + base + "/%2e%2e/other", "curl -sSf " + at + base + "x/lodash",
				"curl -sSf " + at + "/artifactory/api/security/apiKey", "curl -sSf " + at + base + "/-/npm/v1/tokens"} {
				if out, ok := h.try(denied + " </dev/null"); ok {
					t.Errorf("%s: %s", denied, out)
				}
			}
			for _, q := range v.requests() {
				if q.Method != http.MethodGet || !strings.HasPrefix(q.Path, base+"/") {
					t.Errorf("the registry got %s %s", q.Method, q.Path)
				}
			}
			if out := h.say("env; cat .npmrc ~/.npmrc"); strings.Contains(out, registryToken) {
				t.Errorf("the real token is inside:\n%s", out)
			}
		})
	}
}
