package company

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/built"
	"ringfence.dev/ringfence/test/stage"
	"ringfence.dev/ringfence/test/world"
)

// mirror is a registry of every kind, as files on the internet behind the proxy.
type mirror struct {
	t   *testing.T
	dir string
	url string
}

// newMirror has one package of each kind, called lib.
func newMirror(t *testing.T) *mirror {
	t.Helper()
	dir, err := os.MkdirTemp(world.Web, "mirror-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	m := &mirror{t: t, dir: dir, url: "https://" + registry + "/files/" + filepath.Base(dir)}
	m.forGo()
	m.forNode()
	m.forPython()
	m.forRust()
	return m
}

func (m *mirror) put(path string, data []byte) {
	m.t.Helper()
	at := filepath.Join(m.dir, path)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(at, data, 0o644); err != nil {
		m.t.Fatal(err)
	}
}

func zipped(t *testing.T, files [][2]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range files {
		w, err := z.Create(f[0])
		if err == nil {
			_, err = w.Write([]byte(f[1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func tarred(t *testing.T, files [][2]string) []byte {
	t.Helper()
	var b bytes.Buffer
	g := gzip.NewWriter(&b)
	w := tar.NewWriter(g)
	for _, f := range files {
		err := w.WriteHeader(&tar.Header{Name: f[0], Mode: 0o644, Size: int64(len(f[1])), Format: tar.FormatPAX})
		if err == nil {
			_, err = w.Write([]byte(f[1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func (m *mirror) forGo() {
	const mod = "module mirror.example.org/lib\n"
	m.put("go/mirror.example.org/lib/@v/list", []byte("v1.0.0\n"))
	m.put("go/mirror.example.org/lib/@v/v1.0.0.info", []byte(`{"Version":"v1.0.0","Time":"2020-01-01T00:00:00Z"}`))
	m.put("go/mirror.example.org/lib/@v/v1.0.0.mod", []byte(mod))
	m.put("go/mirror.example.org/lib/@v/v1.0.0.zip", zipped(m.t, [][2]string{
		{"mirror.example.org/lib@v1.0.0/go.mod", mod}, {"mirror.example.org/lib@v1.0.0/lib.go", "package lib\n"}}))
}

func (m *mirror) forNode() {
	tgz := tarred(m.t, [][2]string{{"package/package.json", `{"name":"lib","version":"1.0.0"}`}, {"package/index.js", "module.exports = 42\n"}})
	sum := sha512.Sum512(tgz)
	m.put("npm/lib-1.0.0.tgz", tgz)
	m.put("npm/lib", fmt.Appendf(nil, `{"name":"lib","dist-tags":{"latest":"1.0.0"},"time":{"created":"2020-01-01T00:00:00.000Z","1.0.0":"2020-01-01T00:00:00.000Z"},
		"versions":{"1.0.0":{"name":"lib","version":"1.0.0","dist":{"tarball":"%s/npm/lib-1.0.0.tgz","integrity":"sha512-%s"}}}}`,
		m.url, base64.StdEncoding.EncodeToString(sum[:])))
}

func (m *mirror) forPython() {
	const info = "lib-1.0.0.dist-info/"
	wheel := zipped(m.t, [][2]string{{"lib.py", "answer = 42\n"}, {info + "METADATA", "Metadata-Version: 2.1\nName: lib\nVersion: 1.0.0\n"},
		{info + "WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}, {info + "RECORD", "lib.py,,\n" + info + "METADATA,,\n" + info + "WHEEL,,\n" + info + "RECORD,,\n"}})
	m.put("simple/lib/lib-1.0.0-py3-none-any.whl", wheel)
	m.put("simple/lib/index.html", fmt.Appendf(nil, `<!DOCTYPE html><html><body><a href="lib-1.0.0-py3-none-any.whl#sha256=%x">lib-1.0.0-py3-none-any.whl</a></body></html>`, sha256.Sum256(wheel)))
}

func (m *mirror) forRust() {
	crate := tarred(m.t, [][2]string{{"lib-1.0.0/Cargo.toml", "[package]\nname = \"lib\"\nversion = \"1.0.0\"\nedition = \"2021\"\n"}, {"lib-1.0.0/src/lib.rs", "pub fn answer() -> u32 { 42 }\n"}})
	m.put("crates/config.json", fmt.Appendf(nil, `{"dl":"%s/crates/dl/{crate}-{version}.crate"}`, m.url))
	m.put("crates/dl/lib-1.0.0.crate", crate)
	m.put("crates/3/l/lib", fmt.Appendf(nil, `{"name":"lib","vers":"1.0.0","deps":[],"cksum":"%x","features":{},"yanked":false,"pubtime":"2020-01-01T00:00:00Z"}`+"\n", sha256.Sum256(crate)))
}

// client is a program, a script that has it fetch from the mirror, and what it prints.
type client struct{ tool, script, want string }

// packagers are those of node, and where they lie.
func packagers(t *testing.T) (dir string, all []built.Packager) {
	t.Helper()
	dir, all, err := built.Packagers("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir, all
}

// adds has each of them install the package from a registry, "": from that of its settings.
func adds(all []built.Packager, registry string) (out []client) {
	for _, p := range all {
		begin := "echo '{\"name\":\"app\",\"version\":\"1.0.0\",\"license\":\"MIT\"}' > package.json; printf 'nodeLinker: node-modules\\nenableTelemetry: false\\nenableGlobalCache: false\\n' > .yarnrc.yml; : > yarn.lock; " +
			"export npm_config_cache=$PWD/cache npm_config_store_dir=$PWD/store XDG_CACHE_HOME=$PWD/cache YARN_CACHE_FOLDER=$PWD/cache YARN_GLOBAL_FOLDER=$PWD/berry BUN_INSTALL_CACHE_DIR=$PWD/cache pnpm_config_fetch_retries=0 npm_config_fetch_retries=0; "
		if registry != "" {
			begin += "export npm_config_registry=" + registry + " pnpm_config_registry=" + registry + " YARN_NPM_REGISTRY_SERVER=" + registry + "; "
		}
		out = append(out, client{p.Name, begin + "npm_config_audit=false npm_config_fund=false " + p.Command + " " + p.Add + " lib@1.0.0 && node -p 'require(\"lib\")'", "42\n"})
	}
	return out
}

func (m *mirror) clients(repo string) []client {
	_, node := packagers(m.t)
	return append(adds(node[1:], m.url+"/npm/"), []client{
		{"go", "GOFLAGS=-modcacherw GOTOOLCHAIN=local GOSUMDB=off GOPROXY=" + m.url + "/go GOMODCACHE=$PWD/mod go mod download -json mirror.example.org/lib@v1.0.0", `"Sum": "h1:`},
		{"npm", "npm_config_fetch_retries=0 npm_config_cache=$PWD/cache npm install --no-audit --no-fund --registry " + m.url + "/npm/ lib@1.0.0 && node -p 'require(\"lib\")'", "42\n"},
		{"pip", "python3 -m pip install -q --no-cache-dir --disable-pip-version-check --no-deps --target got --index-url " + m.url + "/simple/ lib && PYTHONPATH=got python3 -c 'import lib; print(lib.answer)'", "42\n"},
		{"cargo", `mkdir -p src && echo 'fn main() {}' > src/main.rs && printf '[package]\nname = "p"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\nlib = { version = "1", registry = "corp" }\n' > Cargo.toml &&
			CARGO_HOME=$PWD/cargo CARGO_REGISTRIES_CORP_INDEX=sparse+` + m.url + `/crates/ cargo fetch && ls cargo/registry/cache/*/`, "lib-1.0.0.crate"},
		{"git", "git clone -q https://" + registry + "/git/" + repo + " clone && cat clone/README", "text of the repository"},
		{"curl", "curl -sS -m20 https://" + registry + "/", "origin " + registry},
		{"node", "node -e '" + fetchNode + "' https://" + registry + "/", "origin " + registry},
	}...)
}

// TestClients: package managers and clients as they are fetch through the proxy, from a
// mirror with a certificate of the private authority. On the host they need the proxy's
// variable and cannot do without it; inside they have no setting at all.
func TestClients(t *testing.T) {
	s := begin(t, "http", login).trusting()
	s.env = append(s.env, "PIP_CERT="+s.ca, "CARGO_HTTP_CAINFO="+s.ca, "npm_config_cafile="+s.ca, "NODE_USE_ENV_PROXY=1",
		"YARN_HTTPS_CA_FILE_PATH="+s.ca,
		"PATH="+os.Getenv("PATH")+":"+built.GoBin())
	dir, _ := packagers(t)
	flags := []string{"--allow-host", registry, "--ro", dir}
	m := newMirror(t)
	for i, c := range m.clients(repository(t, s)) {
		if !stage.Mine(i) {
			continue
		}
		t.Run(c.tool, func(t *testing.T) {
			s.t = t
			clean(t, s)
			// node's own fetch heeds the variable from version 24 on.
			if r := s.bare(append(slices.Clone(s.env), "YARN_"+s.env[0]), c.script); c.tool != "node" && !strings.Contains(r.out, c.want) {
				t.Fatalf("control: the host does not get it by the proxy:\n%s\n%s", r.out, s.asked())
			}
			clean(t, s)
			if r := s.bare(s.env[1:], c.script); strings.Contains(r.out, c.want) {
				t.Fatalf("control: the host gets it without the proxy:\n%s", r.out)
			}
			clean(t, s)
			s.Forget()
			r := s.run(c.script, flags...)
			if !strings.Contains(r.out, c.want) {
				t.Errorf("not fetched:\n%s\nthe proxy was asked:\n%s", r.out, s.asked())
			}
			s.byName(proxyAddr)
			if got := s.denied(""); len(got) > 0 {
				t.Errorf("denied: %+v", got)
			}
		})
	}
}

// clean empties the workspace.
func clean(t *testing.T, s *scene) {
	t.Helper()
	entries, err := os.ReadDir(s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(s.Dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
}
