package toolchain

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha1"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"strings"
	"testing"
	"time"
)

// release is one version in the test's registry.
type release struct {
	version string
	age     time.Duration
	script  string // postinstall
}

const (
	hour  = time.Hour
	month = 30 * 24 * time.Hour
)

// marks is an install script that leaves a file named after its package.
const marks = `node -e "require('fs').writeFileSync(process.env.HOME+'/ran-'+require('./package.json').name.replace(/\W/g,'-'),'')"`

// published is what the registry has, oldest version first.
var published = map[string][]release{
	"lib":       {{"1.0.0", month, ""}, {"1.1.0", hour, ""}},
	"@corp/lib": {{"1.0.0", month, ""}, {"1.1.0", hour, ""}},
	"young":     {{"1.0.0", hour, ""}},
	"hook":      {{"1.0.0", month, marks}},
	"claw":      {{"1.0.0", month, marks}},
}

// registry serves published by the protocol of npm, times of publication included.
func registry(t *testing.T) string {
	t.Helper()
	var base string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, err := url.PathUnescape(strings.TrimPrefix(r.URL.EscapedPath(), "/"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if pkg, file, ok := strings.Cut(name, "/-/"); ok {
			for _, rel := range published[pkg] {
				if file == tarName(pkg, rel) {
					w.Write(tarball(t, pkg, rel))
					return
				}
			}
		} else if rels := published[strings.TrimSuffix(name, "/latest")]; rels != nil {
			name, latest := strings.CutSuffix(name, "/latest")
			var doc any = packument(t, base, name, rels)
			if latest {
				doc = version(t, base, name, rels[len(rels)-1])
			}
			w.Header().Set("Content-Type", "application/json")
			json.NewEncoder(w).Encode(doc)
			return
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(server.Close)
	base = server.URL
	return base
}

func packument(t *testing.T, base, name string, rels []release) map[string]any {
	versions, times := map[string]any{}, map[string]string{}
	for _, rel := range rels {
		versions[rel.version] = version(t, base, name, rel)
		times[rel.version] = time.Now().Add(-rel.age).UTC().Format(time.RFC3339)
	}
	last := rels[len(rels)-1].version
	times["created"], times["modified"] = times[rels[0].version], times[last]
	return map[string]any{"name": name, "dist-tags": map[string]string{"latest": last}, "versions": versions, "time": times}
}

func version(t *testing.T, base, name string, rel release) map[string]any {
	ball := tarball(t, name, rel)
	one, five := sha1.Sum(ball), sha512.Sum512(ball)
	v := manifest(name, rel)
	v["dist"] = map[string]string{
		"tarball":   base + "/" + name + "/-/" + tarName(name, rel),
		"shasum":    hex.EncodeToString(one[:]),
		"integrity": "sha512-" + base64.StdEncoding.EncodeToString(five[:]),
	}
	if rel.script != "" {
		v["hasInstallScript"] = true
	}
	return v
}

func manifest(name string, rel release) map[string]any {
	m := map[string]any{"name": name, "version": rel.version, "license": "MIT"}
	if rel.script != "" {
		m["scripts"] = map[string]string{"postinstall": rel.script}
	}
	return m
}

func tarName(name string, rel release) string {
	return path.Base(name) + "-" + rel.version + ".tgz"
}

func tarball(t *testing.T, name string, rel release) []byte {
	data, err := json.Marshal(manifest(name, rel))
	if err != nil {
		t.Error(err)
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	w.WriteHeader(&tar.Header{Name: "package/package.json", Mode: 0o644, Size: int64(len(data))})
	w.Write(data)
	if w.Close() != nil || z.Close() != nil {
		t.Error("tarball was not written")
	}
	return b.Bytes()
}
