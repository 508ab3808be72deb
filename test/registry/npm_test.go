package registry

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ringfence.dev/ringfence/test/built"
	"ringfence.dev/ringfence/test/stage"
)

// npmRegistry is a registry of npm's protocol.
type npmRegistry struct {
	*server
	mu    sync.Mutex
	have  map[string][]npmRelease
	lie   bool   // files are not what their integrity says
	token string // "": none is wanted
}

type npmRelease struct {
	version string
	out     time.Time
	script  string
}

func (s *scene) npmRegistry(addr string) *npmRegistry {
	n := &npmRegistry{have: map[string][]npmRelease{}}
	n.server = s.serve(addr, n.answer)
	return n
}

func (n *npmRegistry) add(name, version string, age time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.have[name] = append(n.have[name], npmRelease{version: version, out: time.Now().Add(-age)})
}

func (n *npmRegistry) answer(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.token != "" && r.Header.Get("Authorization") != "Bearer "+n.token {
		http.Error(w, `{"error":"who are you?"}`, http.StatusUnauthorized)
		return
	}
	name, file, isFile := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/-/")
	rels := n.have[name]
	if rels == nil {
		http.Error(w, `{"error":"not found"}`, http.StatusNotFound)
		return
	}
	if isFile {
		for _, rel := range rels {
			if file == path.Base(name)+"-"+rel.version+".tgz" {
				body := ball(name, rel)
				if n.lie {
					body = ball(name, npmRelease{version: rel.version, script: "touch ~/poisoned"})
				}
				w.Write(body)
			}
		}
		return
	}
	versions, times := map[string]any{}, map[string]string{}
	for _, rel := range rels {
		sum := sha512.Sum512(ball(name, rel))
		m := manifest(name, rel)
		m["dist"] = map[string]string{"tarball": n.URL + "/" + name + "/-/" + path.Base(name) + "-" + rel.version + ".tgz", "integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:])}
		if rel.script != "" {
			m["hasInstallScript"] = true
		}
		versions[rel.version], times[rel.version] = m, rel.out.UTC().Format(time.RFC3339)
	}
	last := rels[len(rels)-1]
	doc := map[string]any{"name": name, "dist-tags": map[string]string{"latest": last.version}, "versions": versions}
	if strings.Contains(r.Header.Get("Accept"), "vnd.npm.install-v1") { // as the public one: without dates
		doc["modified"] = last.out.UTC().Format(time.RFC3339)
	} else {
		doc["time"] = times
	}
	body, _ := json.Marshal(doc)
	sum := sha256.Sum256(body)
	w.Header().Set("ETag", fmt.Sprintf(`"%x"`, sum[:8]))
	w.Write(body)
}

func manifest(name string, rel npmRelease) map[string]any {
	m := map[string]any{"name": name, "version": rel.version, "license": "MIT", "main": "index.js"}
	if name == tool {
		m["bin"] = map[string]string{name: "cli.js"}
	}
	if rel.script != "" {
		m["scripts"] = map[string]string{"postinstall": rel.script}
	}
	return m
}

func ball(name string, rel npmRelease) []byte {
	data, _ := json.Marshal(manifest(name, rel))
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, f := range [][2]string{{"package.json", string(data)}, {"index.js", "module.exports = " + string(data)}, {"cli.js", "#!/usr/bin/env node\nconsole.log('frob " + rel.version + "')\n"}} {
		w.WriteHeader(&tar.Header{Name: "package/" + f[0], Mode: 0o644, Size: int64(len(f[1]))})
		w.Write([]byte(f[1]))
	}
	w.Close()
	z.Close()
	return b.Bytes()
}

// packagers are those of node, and where they lie.
func packagers(t testing.TB) (dir string, all []built.Packager) {
	t.Helper()
	dir, all, err := built.Packagers("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir, all
}

func (s *scene) node(more ...string) string {
	return s.project(append([]string{"package.json", `{"name":"app","version":"1.0.0","license":"MIT"}`, "yarn.lock", "", ".yarnrc.yml", "nodeLinker: node-modules\nenableTelemetry: false\n"}, more...)...)
}

const quiet = "export npm_config_fetch_retries=0 npm_config_audit=false npm_config_fund=false npm_config_update_notifier=false; "

// installed tells which version of a package lies in node_modules.
const installed = "; node -p 'require(\"lib/package.json\").version'"

// Every package manager: a young version is not chosen, by its number it is refused, what
// is exempt comes, and what one project fetched another has from the store.
func TestNodeAge(t *testing.T) {
	dir, all := packagers(t)
	for i, p := range all {
		if !stage.Mine(i) {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			s := begin(t)
			n := s.npmRegistry("127.0.0.1")
			n.add("lib", "1.0.0", aged)
			n.add("lib", "1.1.0", time.Hour)
			s.env = append(s.env, "npm_config_registry="+n.URL)
			run := func(args string, flags ...string) (string, bool) {
				return s.run(s.node(), quiet+p.Command+" "+args+installed, append(flags, "--ro", dir)...)
			}
			if out, ok := run(p.Add + " lib"); !ok || !strings.HasSuffix(out, "1.0.0\n") {
				t.Fatalf("the latest: %s", out)
			}
			if got := n.asked(); !has(got, ".tgz") {
				t.Errorf("control: %q", got)
			}
			if out, ok := run(p.Add + " lib@^1.0.0"); !ok || !strings.HasSuffix(out, "1.0.0\n") {
				t.Errorf("a range: %s", out)
			}
			if got := n.asked(); has(got, ".tgz") {
				t.Errorf("fetched again: %q", got)
			}
			out, ok := run(p.Add + " lib@1.1.0")
			if ok || has(n.asked(), "1.1.0.tgz") {
				t.Errorf("by its number: %s", out)
			}
			if !strings.HasPrefix(p.Name, "npm") { // of which nobody shows it
				out = s.why()
			}
			if !strings.Contains(out, "lib 1.1.0 is held back") || !strings.Contains(out, "--allow-package npm:lib") {
				t.Errorf("no reason: %s", out)
			}
			if out, ok := run(p.Add+" lib", "--allow-package", "npm:lib"); !ok || !strings.HasSuffix(out, "1.1.0\n") {
				t.Errorf("exempt: %s", out)
			}
		})
	}
}

// A lock file is installed without a network from what was fetched before, and a young
// version in it is refused with the reason.
func TestNodeOffline(t *testing.T) {
	s := begin(t)
	n := s.npmRegistry("127.0.0.1")
	n.add("lib", "1.0.0", aged)
	n.add("@corp/lib", "2.0.0", aged)
	n.add("young", "1.0.0", time.Hour)
	s.env = append(s.env, "npm_config_registry="+n.URL)
	lock := func(names ...string) string {
		packages, deps := map[string]any{}, map[string]string{}
		for _, name := range names {
			rel := n.have[name][0]
			sum := sha512.Sum512(ball(name, rel))
			deps[name] = rel.version
			packages["node_modules/"+name] = map[string]string{"version": rel.version, "resolved": n.URL + "/" + name + "/-/" + path.Base(name) + "-" + rel.version + ".tgz",
				"integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:])}
		}
		packages[""] = map[string]any{"name": "app", "version": "1.0.0", "license": "MIT", "dependencies": deps}
		text, _ := json.Marshal(map[string]any{"name": "app", "version": "1.0.0", "lockfileVersion": 3, "requires": true, "packages": packages})
		own, _ := json.Marshal(packages[""])
		return s.project("package.json", string(own), "package-lock.json", string(text))
	}
	for i, name := range []string{"lib", "@corp/lib"} {
		if !stage.Mine(i) {
			continue
		}
		ci := quiet + "npm ci && node -p 'require(\"" + name + "\").version'"
		if out, ok := s.run(lock(name), ci, "--net", "none"); ok {
			t.Fatalf("control: nothing was fetched yet: %s", out)
		}
		s.must(lock(name), ci)
		n.asked()
		out := s.must(lock(name), ci, "--net", "none")
		if got := n.asked(); len(got) > 0 || !strings.HasSuffix(out, n.have[name][0].version+"\n") {
			t.Errorf("asked %q\n%s", got, out)
		}
	}
	if out, ok := s.run(lock("young"), quiet+"npm ci"); ok || !strings.Contains(out, "young 1.0.0 is held back") {
		t.Errorf("young: %s", out)
	}
	s.must(lock("young"), quiet+"npm ci", "--min-release-age", "0")
}

// A file that is not what the registry says is neither installed nor kept, and what one
// registry says of a name is not what another project gets from its own.
func TestNodeLies(t *testing.T) {
	s := begin(t)
	n := s.npmRegistry("127.0.0.1")
	n.add("lib", "1.0.0", aged)
	evil := s.npmRegistry("127.0.0.2")
	evil.have["lib"] = []npmRelease{{version: "1.0.0", out: time.Now().Add(-aged), script: "true"}}
	n.lie = true
	env := s.env
	s.env = append(env, "npm_config_registry="+n.URL)
	out, ok := s.run(s.node(), quiet+"npm install lib --no-package-lock")
	if ok || !strings.Contains(out, "not what the checksum says") || s.blobs() != 0 {
		t.Errorf("%d blobs: %s", s.blobs(), out)
	}
	n.lie = false
	s.env = append(env, "npm_config_registry="+evil.URL)
	s.must(s.node(), quiet+"npm install lib")
	s.env = append(env, "npm_config_registry="+n.URL)
	if out := s.must(s.node(), quiet+"npm install lib; cat node_modules/lib/package.json"); strings.Contains(out, "postinstall") || s.blobs() != 2 {
		t.Errorf("another registry's: %d blobs, %s", s.blobs(), out)
	}
}

// The user's .npmrc: registries of scopes, each with its token. A token goes to its own
// registry; what a file of the project names opens nothing; a scope has one registry.
func TestNodeSettings(t *testing.T) {
	const token, other = "npm_CANARYcorp000000000000000000000000001", "npm_CANARYpublic0000000000000000000000001"
	s := begin(t)
	public, corp, foreign := s.npmRegistry("127.0.0.1"), s.npmRegistry("127.0.0.2"), s.npmRegistry("127.0.0.3")
	corp.token, public.token = token, other
	public.add("lib", "1.0.0", aged)
	public.add("@corp/lib", "9.9.9", aged) // somebody took the name
	corp.add("@corp/lib", "1.0.0", aged)
	foreign.add("@else/lib", "1.0.0", aged)
	rc := func(v *npmRegistry) string { return strings.TrimPrefix(v.URL, "http:") + "/:_authToken=" }
	s.env = append(s.env, "CORP_TOKEN="+token)
	s.write(filepath.Join(stage.Home, ".npmrc"), "registry="+public.URL+"\n@corp:registry="+corp.URL+"\n"+rc(corp)+"${CORP_TOKEN}\n"+rc(public)+other+"\n")
	defer os.Remove(filepath.Join(stage.Home, ".npmrc"))
	dir := s.node(".npmrc", "@else:registry="+foreign.URL+"\n"+rc(foreign)+"${CORP_TOKEN}\n")
	out := s.must(dir, quiet+"npm install lib && npm install @corp/lib && node -p 'require(\"@corp/lib\").version'; cat ~/.npmrc; env; cat package-lock.json")
	if !strings.Contains(out, "\n1.0.0\n") || strings.Contains(out, token) || strings.Contains(out, other) {
		t.Errorf("installed: %s", out)
	}
	for _, a := range public.all() {
		if a.authorization != "Bearer "+other || strings.Contains(a.path, "@corp") {
			t.Errorf("public got %+v", a)
		}
	}
	for _, a := range corp.all() {
		if a.authorization != "Bearer "+token {
			t.Errorf("corp got %+v", a)
		}
	}
	if out, ok := s.run(dir, quiet+"curl -sSf http://127.0.0.1:809/npm/@corp%2flib || npm view @corp/lib --@corp:registry=http://127.0.0.1:809/npm/"); ok || !strings.Contains(out, "come from") {
		t.Errorf("the scope at another registry: %s", out)
	}
	if out, ok := s.run(dir, quiet+"npm install @else/lib --fetch-retries=0"); ok || len(foreign.all()) > 0 {
		t.Errorf("a registry that only the project names: %s", out)
	}
}

// Tricks with paths end at the door.
func TestNodePaths(t *testing.T) {
	if !stage.Mine(1) {
		t.Skip("the other user plays it")
	}
	s := begin(t)
	n := s.npmRegistry("127.0.0.1")
	n.add("lib", "1.0.0", aged)
	s.env = append(s.env, "npm_config_registry="+n.URL)
	script := "for p in ../x %2e%2e/x lib/../../x lib%2f..%2f..%2fx lib/-/../../x.tgz lib/-/%2e%2e/x.tgz @corp%2f%2e%2e%2fx lib?write=true -/npm/v1/tokens @a/b/c/d //lib lib%00 .hidden lib/-/lib-1.0.0.tgz%2f..%2f..%2fx; do " +
		"curl -sS --path-as-is -o /dev/null -w \"%{http_code} $p\\n\" \"http://127.0.0.1:809/npm/$p\"; done; curl -sS -X PUT -d {} -o /dev/null -w '%{http_code} put\\n' http://127.0.0.1:809/npm/lib"
	out := s.must(s.node(), script)
	if got := n.asked(); len(got) > 0 || strings.Contains(out, "\n200 ") {
		t.Errorf("the registry was asked %q\n%s", got, out)
	}
	if out := s.must(s.node(), "curl -sSf http://127.0.0.1:809/npm/lib | head -c 20"); !strings.HasPrefix(out[strings.LastIndex(out, "{"):], "{") || len(n.asked()) == 0 {
		t.Errorf("control: %s", out)
	}
}

// Commands that change a registry are refused in words that npm shows, and nothing of them
// reaches the registry.
func TestNodeWrites(t *testing.T) {
	s := begin(t)
	n := s.npmRegistry("127.0.0.1")
	n.add("lib", "1.0.0", aged)
	s.env = append(s.env, "npm_config_registry="+n.URL)
	for i, command := range []string{"npm publish --//127.0.0.1:809/npm/:_authToken=x", "npm deprecate lib@1.0.0 bad", "npm unpublish lib@1.0.0 --force", "npm owner add me lib", "npm dist-tag add lib@1.0.0 stable", "npm access set status=private @corp/lib"} {
		if !stage.Mine(i) {
			continue
		}
		out, ok := s.run(s.project("package.json", `{"name":"lib","version":"1.0.1"}`), quiet+command)
		if ok || !strings.Contains(out, "for a person outside the sandbox") {
			t.Errorf("%s: %s", command, out)
		}
		for _, path := range n.asked() {
			if path != "/lib" {
				t.Errorf("%s: the registry was asked %s", command, path)
			}
		}
	}
}

// npm makes directories side by side. Who comes too early for one is told that it is not
// there, never that the place is read-only.
func TestNodeDirectories(t *testing.T) {
	s := begin(t)
	dir := s.node("many.js", `const fs = require('fs').promises;
(async () => { for (let i = 0; i < 200; i++) await Promise.all(['lib', '@corp/lib', '@corp/a/b'].map(p => fs.mkdir('t/' + i + '/node_modules/' + p, {recursive: true}))); console.log('all made') })()`)
	if out := s.must(dir, "node many.js"); !strings.Contains(out, "all made") {
		t.Error(out)
	}
}

// Install scripts of dependencies run if a person allowed them by name; scripts of the
// project always run. What was skipped is in the record and at the end on the terminal,
// once, with the flag that allows it. bun can be told neither one package nor the project alone.
func TestNodeScripts(t *testing.T) {
	dir, all := packagers(t)
	for i, p := range all {
		if !stage.Mine(i) {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			s := begin(t)
			n := s.npmRegistry("127.0.0.1")
			n.have["hook"] = []npmRelease{{version: "1.0.0", out: time.Now().Add(-aged), script: "touch $INIT_CWD/hook-ran $HOME/hook-ran"}}
			s.env = append(s.env, "npm_config_registry="+n.URL)
			const own = `{"name":"app","version":"1.0.0","license":"MIT","scripts":{"postinstall":"touch own-ran","pretest":"echo BEFORE","test":"echo TEST","posttest":"echo AFTER"}}`
			script := quiet + p.Command + " " + p.Add + " hook && rm -r node_modules && " + p.Command + " install && " + p.Command + " run test; ls . ~"
			out := s.must(s.node("package.json", own), script, "--ro", dir)
			if strings.Contains(out, "\nhook-ran\n") || strings.Contains(out, "\nown-ran\n") != (p.Name != "bun") {
				t.Errorf("by default: %s", out)
			}
			if around := p.Name != "yarn-4"; !strings.Contains(out, "TEST") || strings.Contains(out, "BEFORE\n") != around || strings.Contains(out, "AFTER\n") != around { // yarn since 2 runs nothing around a script, anywhere
				t.Errorf("of the project: %s", out)
			}
			if strings.Count(out, "install scripts of 1 package were not run") != 1 || strings.Count(out, "\n             --allow-package npm:hook\n") != 1 || strings.Count(s.log(), "--allow-package npm:hook") != 1 {
				t.Errorf("told: %s", out)
			}
			if p.Name == "yarn-1" { // which unpacks elsewhere than in node_modules too
				spot := s.node("package.json", own)
				more := `mkdir -p ~/dep && (cd ~/dep && git init -q . && printf '{"name":"evil","version":"1.0.0","scripts":{"prepare":"touch $INIT_CWD/prepared $HOME/prepared","postinstall":"touch $HOME/hook-ran"}}' > package.json && git add . && git -c user.name=a -c user.email=a@b.test commit -qm x); ` +
					p.Command + ` add git+file://$HOME/dep; rm -rf node_modules; echo '--modules-folder "web/vendor"' > .yarnrc; ` + p.Command + " add hook; ls . ~"
				if out, _ := s.run(spot, more, "--ro", dir); strings.Contains(out, "\nprepared\n") || strings.Contains(out, "\nhook-ran\n") || !strings.Contains(out, "\nown-ran\n") {
					t.Errorf("elsewhere: %s", out)
				}
			}
			out = s.must(s.node("package.json", own), script, "--allow-package", "npm:hook", "--ro", dir)
			if strings.Contains(out, "\nhook-ran\n") != (p.Name != "bun") || strings.Contains(out, "were not run") {
				t.Errorf("allowed: %s", out)
			}
		})
	}
}
