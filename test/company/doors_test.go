package company

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/built"
	"ringfence.dev/ringfence/test/stage"
)

// TestDoors: a company has all its registries at one name, which no rule allows. The
// user's own settings name them, and inside every package manager gets its packages
// there without a setting of its own, by TLS to that very name.
func TestDoors(t *testing.T) {
	s := begin(t, "http", login).trusting()
	m := newMirror(t)
	s.env = append(s.env, "GOPROXY="+m.url+"/go", "GOSUMDB=off", "CARGO_REGISTRIES_OTHER_INDEX=sparse+"+m.url+"/crates/", "npm_config_registry="+m.url+"/npm/", "PIP_INDEX_URL="+m.url+"/simple/", "PATH="+os.Getenv("PATH")+":"+built.GoBin())
	dir, node := packagers(t)
	flags := []string{"--min-release-age", "0", "--ro", dir} // an index in HTML has no dates
	path := filepath.Join(stage.Home, ".cargo/config.toml")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("[source.crates-io]\nreplace-with = \"corp\"\n[registries.corp]\nindex = \"sparse+"+m.url+"/crates/\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(path) })
	const pip = "python3 -m pip install -q --no-cache-dir --disable-pip-version-check --no-deps --target got "
	for i, c := range append(adds(node[1:], ""), []client{
		{"go", "GOFLAGS=-modcacherw GOTOOLCHAIN=local go mod download -json mirror.example.org/lib@v1.0.0", `"Sum": "h1:`},
		{"npm", "npm_config_fetch_retries=0 npm install --no-audit --no-fund lib@1.0.0 && node -p 'require(\"lib\")'; grep resolved package-lock.json", `"resolved": "` + m.url + `/npm/lib-1.0.0.tgz"`},
		{"pip", pip + "lib && PYTHONPATH=got python3 -c 'import lib; print(lib.answer)'; env | grep PIP_INDEX", "42\nPIP_INDEX_URL=" + m.url + "/simple/"},
		{"cargo", `mkdir -p src && touch src/lib.rs && printf '[package]\nname = "p"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\nlib = "1"\n' > Cargo.toml && cargo fetch && ls ~/.cargo/registry/cache/*/`, "lib-1.0.0.crate"},
		{"cargo", `mkdir -p src && touch src/lib.rs && printf '[package]\nname = "p"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\nlib = { version = "1", registry = "corp" }\nother = { package = "lib", version = "1", registry = "other" }\n' > Cargo.toml && cargo fetch && cat Cargo.lock`, `source = "sparse+` + m.url + `/crates/"`},
	}...) {
		if !stage.Mine(i) {
			continue
		}
		t.Run(c.tool, func(t *testing.T) {
			s.t = t
			clean(t, s)
			s.Forget()
			if r := s.run(c.script, flags...); !strings.Contains(r.out, c.want) {
				t.Errorf("not fetched:\n%s\nthe proxy was asked:\n%s", r.out, s.asked())
			}
			s.byName(proxyAddr)
		})
	}
	s.t = t
	clean(t, s)
	if r := s.run("curl -sS -m20 https://" + registry + "/; " + pip + "lib==1.0.0"); strings.Contains(r.out, "origin "+registry) || !strings.Contains(r.out, "lib 1.0.0 is held back: its date is not known") {
		t.Errorf("control: the host is open, or an age is not asked for:\n%s", r.out)
	}
}
