package npm

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	"ringfence.dev/ringfence/internal/registry/brake"
)

func TestRequests(t *testing.T) {
	for path, want := range map[string]request{
		"/lib": {name: "lib"}, "/JSONStream": {name: "JSONStream"}, "/@corp/lib": {name: "@corp/lib"}, "/@corp%2flib": {name: "@corp/lib"}, "/@corp%2Flib": {name: "@corp/lib"},
		"/lib/1.0.0": {name: "lib", version: "1.0.0"}, "/lib/latest": {name: "lib", version: "latest"}, "/@corp/lib/1.0.0": {name: "@corp/lib", version: "1.0.0"},
		"/lib/-/lib-1.0.0.tgz": {name: "lib", file: "lib-1.0.0.tgz"}, "/@corp/lib/-/lib-1.0.0.tgz": {name: "@corp/lib", file: "lib-1.0.0.tgz"}, "/@corp%2flib/-/@corp/lib-1.0.0.tgz": {name: "@corp/lib", file: "@corp/lib-1.0.0.tgz"},
		"": {}, "/": {}, "lib": {}, "/.hidden": {}, "/..": {}, "/../x": {}, "/%2e%2e/x": {}, "/lib/..": {}, "/lib/../x": {}, "/lib/-/../x.tgz": {}, "/lib/-/%2e%2e/x.tgz": {}, "/lib/-/a%2f..%2fx.tgz": {},
		"/@corp%2f..": {}, "/@corp/../lib": {}, "/@/lib": {}, "/-/npm/v1/tokens": {}, "/-": {}, "/lib%00": {}, "/lib%252f": {}, "/lib?x": {}, "/a/b/c": {}, "/lib/-/": {}, "/lib/-/.": {}, "/lib\\x": {}, "/" + strings.Repeat("a", 300): {},
	} {
		got, ok := parse(path)
		if ok != (want != request{}) || ok && got != want {
			t.Errorf("%q: %+v, %v", path, got, ok)
		}
	}
}

// FuzzRequest: what goes upstream is a package's own place, and nothing above it.
func FuzzRequest(f *testing.F) {
	for _, s := range []string{"/lib", "/@corp%2flib", "/lib/-/lib-1.0.0.tgz", "/lib/1.0.0", "/%2e%2e/x", "/@a/b/-/c/d.tgz"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		q, ok := parse(path)
		if !ok {
			return
		}
		if again, ok := parse(q.path()); !ok || again.name != q.name {
			t.Errorf("%q is %+v, which is %+v", path, q, again)
		}
		for part := range strings.SplitSeq(q.name+"/"+q.version+"/"+q.file, "/") {
			if part != "" && strings.Trim(part, ".") == "" {
				t.Errorf("%q is %+v", path, q)
			}
		}
	})
}

const doc = `{"name":"lib","dist-tags":{"latest":"1.2.0","next":"2.0.0-rc.1","old":"1.0.0"},"readme":"text","versions":{
"1.0.0":{"name":"lib","version":"1.0.0","dist":{"tarball":"https://r.test/npm/lib/-/lib-1.0.0.tgz","integrity":"sha512-AAAA"}},
"1.1.0":{"name":"lib","version":"1.1.0","dist":{"tarball":"https://r.test/npm/lib/-/lib-1.1.0.tgz","shasum":"da39a3ee5e6b4b0d3255bfef95601890afd80709"}},
"1.2.0":{"name":"lib","version":"1.2.0","dist":{"tarball":"https://r.test/npm/lib/-/lib-1.2.0.tgz"}},
"2.0.0-rc.1":{"name":"lib","version":"2.0.0-rc.1","dist":{"tarball":"https://cdn.test/lib/-/lib-2.0.0-rc.1.tgz"}}},
"time":{"created":"2020-01-01T00:00:00Z","1.0.0":"2020-01-01T00:00:00.000Z","1.1.0":"2020-02-01T00:00:00Z","1.2.0":"2026-01-09T00:00:00Z","2.0.0-rc.1":"2026-01-09T12:00:00Z","unpublished":{"name":"x"}}}`

func rules() brake.Rules {
	return brake.Rules{Age: 72 * time.Hour, Exempt: func(tool, name string) bool { return name == "exempt" }, Now: func() time.Time { return time.Date(2026, 1, 10, 0, 0, 0, 0, time.UTC) }}
}

func TestHold(t *testing.T) {
	d := &Door{Brake: rules()}
	p, err := readPackument("lib", []byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	young := d.young(request{name: "lib"}, p)
	if strings.Join(young, " ") != "1.2.0 2.0.0-rc.1" {
		t.Fatalf("young: %q", young)
	}
	p.hold(young, "why")
	text, _ := json.Marshal(p.rest)
	var got struct {
		Tags     map[string]string          `json:"dist-tags"`
		Versions map[string]json.RawMessage `json:"versions"`
		Time     map[string]string          `json:"time"`
		Readme   string                     `json:"readme"`
		Policy   struct {
			Message  string
			Versions map[string]json.RawMessage
		} `json:"policyRestrictions"`
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Versions) != 2 || got.Tags["latest"] != "1.1.0" || got.Tags["old"] != "1.0.0" || got.Tags["next"] != "" || got.Readme != "text" || got.Time["1.2.0"] != "" || len(got.Policy.Versions) != 2 || got.Policy.Message != "why" {
		t.Errorf("%+v", got)
	}
	base, _ := url.Parse("https://r.test/npm")
	p.lead(base, "http://door/npm")
	if one, _ := p.dist("1.0.0"); one.Tarball != "http://door/npm/lib/-/lib-1.0.0.tgz" {
		t.Errorf("led to %q", one.Tarball)
	}
}

// What a registry says is read in one way, or not at all.
func TestHostilePackuments(t *testing.T) {
	for _, text := range []string{"", "[]", "null", `{"name":"other"}`, `{"name":"lib","name":"lib"}`, `{"name":"lib","versions":[]}`, `{"name":"lib","versions":{"1.0.0":{}},"versions":{}}`,
		`{"name":"lib","dist-tags":{"latest":1}}`, `{"name":"lib","time":[]}`, doc + "x", strings.Replace(doc, `"1.0.0":"2020`, `"1.2.0":"2020`, 1)} {
		if _, err := readPackument("lib", []byte(text)); err == nil {
			t.Errorf("%.60q was read", text)
		}
	}
	p, err := readPackument("lib", []byte(`{"name":"lib","versions":{"1.0.0":{"dist":{"tarball":7}},"1.1.0":{"dist":[]},"1.2.0":null}}`))
	if err != nil {
		t.Fatal(err)
	}
	for v := range p.versions {
		if d, ok := p.dist(v); ok {
			t.Errorf("%s: %+v", v, d)
		}
	}
	// Without dates everything is as young as can be, unless nothing changed for long.
	d := &Door{Brake: rules()}
	if got := d.young(request{name: "lib"}, p); len(got) != 3 {
		t.Errorf("undated: %q", got)
	}
	p.modified = "2020-01-01T00:00:00Z"
	if got := d.young(request{name: "lib"}, p); len(got) != 0 {
		t.Errorf("long ago: %q", got)
	}
	if got := d.young(request{name: "exempt"}, p); len(got) != 0 {
		t.Errorf("exempt: %q", got)
	}
}

// FuzzPackument: whatever comes, what was held back is not in what is served.
func FuzzPackument(f *testing.F) {
	f.Add([]byte(doc))
	f.Add([]byte(`{"name":"lib","versions":{"1.0.0":{}},"modified":"2026-01-09T00:00:00Z"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		p, err := readPackument("lib", body)
		if err != nil {
			return
		}
		d := &Door{Brake: rules()}
		young := d.young(request{name: "lib"}, p)
		p.hold(young, "why")
		text, err := json.Marshal(p.rest)
		if err != nil {
			t.Fatal(err)
		}
		again, err := readPackument("lib", text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for _, v := range young {
			if again.versions[v] != nil {
				t.Errorf("%s has %s", text, v)
			}
		}
		for tag, v := range again.tags {
			for _, y := range young {
				if v == y {
					t.Errorf("%s is %s", tag, v)
				}
			}
		}
	})
}

func TestRC(t *testing.T) {
	env := func(name string) string { return map[string]string{"TOKEN": "npm_secret"}[name] }
	rc := ParseRC([]byte("; comment\n# another\nregistry = \"https://r.test/npm/\"\n@corp:registry=https://c.test\n//c.test/:_authToken=${TOKEN}\n//r.test/npm/:_auth = bWU6cGFzcw==\n//u.test:8443/:username=you\n//u.test:8443/:_password=d29yZA==\n[section]\nbad\nkey=a;b\nesc=\\${TOKEN}\nnone=${NONE}\n"), env)
	if got := rc.Registries(); len(got) != 2 || got[""] != "https://r.test/npm/" || got["@corp"] != "https://c.test" {
		t.Errorf("%q", got)
	}
	if rc["key"] != "a" || rc["none"] != "${NONE}" || strings.Contains(rc["esc"], "secret") {
		t.Errorf("%q", rc)
	}
	for at, want := range map[string]string{"https://c.test": "npm_secret", "https://c.test/deep/er": "npm_secret", "https://r.test/npm": "me:pass", "https://r.test/npm/x": "me:pass", "https://r.test/other": "", "https://r.test": "",
		"https://u.test:8443": "you:word", "https://u.test": "", "https://xc.test": "", "https://c.test.evil.test": "", "https://c.test:8443": ""} {
		u, err := ParseRegistry(at)
		if err != nil {
			t.Fatal(err)
		}
		if l, ok := rc.Login(u); l.Value != want || ok != (want != "") {
			t.Errorf("%s: %q, %v", at, l.Value, ok)
		}
	}
	if rc := ParseRC([]byte("//evil.test/:_authToken=${TOKEN}"), nil); strings.Contains(rc["//evil.test/:_authToken"], "secret") {
		t.Error("a file of the project got a variable of the host's")
	}
	for _, at := range []string{"", "r.test", "ftp://r.test", "https://r.test?x", "https://", "https://%zz"} {
		if _, err := ParseRegistry(at); err == nil {
			t.Errorf("%q is a registry", at)
		}
	}
}

// FuzzRC: a file without the host's variables never shows one.
func FuzzRC(f *testing.F) {
	f.Add([]byte("registry=https://r.test\n//r.test/:_authToken=${TOKEN}\n"))
	f.Add([]byte("a=\"b\nkey='${X?}'"))
	f.Fuzz(func(t *testing.T, data []byte) {
		u, _ := url.Parse("https://r.test/a/b")
		rc := ParseRC(data, nil)
		rc.Login(u)
		for scope, at := range rc.Registries() {
			if scope != "" && !strings.HasPrefix(scope, "@") {
				t.Errorf("%q: %q", scope, at)
			}
			ParseRegistry(at)
		}
	})
}

// What yarn's own files say is said in npm's words; what cannot be read is an error that
// quotes nothing.
func TestYarnFiles(t *testing.T) {
	rc, err := ParseYarn([]byte(`npmRegistryServer: "https://npm.corp.test/all/"
npmAuthToken: "${TOKEN}"
npmScopes:
  corp:
    npmRegistryServer: https://npm.corp.test:8443/own
    npmAuthIdent: "${NOBODY:-me}:word"
  "../x":
    npmRegistryServer: https://evil.test
npmRegistries:
  //other.test/path:
    npmAuthIdent: bWU6d29yZA==
httpsCaFilePath: /etc/corp.pem
`), func(name string) string { return map[string]string{"TOKEN": "t0ken"}[name] })
	if err != nil {
		t.Fatal(err)
	}
	if got := rc.Registries(); len(got) != 2 || got[""] != "https://npm.corp.test/all/" || got["@corp"] != "https://npm.corp.test:8443/own" || rc["cafile"] != "/etc/corp.pem" {
		t.Errorf("%q", rc)
	}
	for at, want := range map[string]Login{"https://npm.corp.test/all": {true, "t0ken"}, "https://npm.corp.test:8443/own": {false, "me:word"}, "https://other.test/path/deep": {false, "me:word"}, "https://npm.corp.test/else": {}, "https://other.test": {}} {
		u, err := ParseRegistry(at)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := rc.Login(u); got != want {
			t.Errorf("%s: %+v", at, got)
		}
	}
	for _, text := range []string{"npmRegistryServer: [s3cret]\n", "npmAuthToken: |\n  s3cret\nnpmRegistryServer: https://a.test\n", "npmScopes:\n  a: &s3cret\n    npmRegistryServer: &x https://s3cret.test\n"} {
		if rc, err := ParseYarn([]byte(text), nil); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: %q, %v", text, rc, err)
		}
	}
	one := ParseYarn1([]byte("# c\nregistry \"https://npm.corp.test\"\n\"@corp:registry\" \"https://npm.corp.test/own\"\n--install.check-files true\nlastUpdateCheck 1\ncafile /etc/corp.pem\n\"\" x\n"))
	if got := one.Registries(); len(got) != 2 || got[""] != "https://npm.corp.test" || got["@corp"] != "https://npm.corp.test/own" || one["cafile"] != "/etc/corp.pem" {
		t.Errorf("%q", one)
	}
}

func FuzzYarn(f *testing.F) {
	for _, s := range []string{"registry \"https://a.test\"\n", "npmRegistryServer: https://a.test\nnpmAuthToken: x\n", "npmScopes:\n  a:\n    npmRegistryServer: \"//\"\n", "npmRegistries:\n  a:\n    npmAuthIdent: b:c\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		rc, err := ParseYarn(data, nil)
		if (rc == nil) != (err != nil) {
			t.Fatalf("%q, %v", rc, err)
		}
		for _, one := range []RC{rc, ParseYarn1(data)} {
			for scope := range one.Registries() {
				if scope != "" && !validName(scope+"/x") {
					t.Fatalf("%q", scope)
				}
			}
		}
	})
}
