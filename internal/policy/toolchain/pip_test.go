package toolchain

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/tier"
)

// backend is a build that leaves a file and then fails: that it ran is enough.
const backend = `import os
open(os.environ["HOME"] + "/ran-source", "w").close()
def build_wheel(*a): raise SystemExit(1)
`

func newPip(t *testing.T) *project {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal("python3 is missing: ", err)
	}
	p := &project{t: t, program: []string{python, "-m", "pip", "--disable-pip-version-check"}, home: t.TempDir(), dir: t.TempDir(), tmp: t.TempDir()}
	p.base = []string{"PATH=/usr/bin:/bin", "HOME=" + p.home}
	p.write(filepath.Join(p.dir, "links/wheel-1.0-py3-none-any.whl"), wheel(t))
	p.write(filepath.Join(p.dir, "links/source-1.0.tar.gz"), source(t))
	return p
}

// TestPip: a wheel is installed, a source distribution is not even looked into. pip
// before 26 knows no age and has nothing to say about being told one.
func TestPip(t *testing.T) {
	p := newPip(t)
	env := p.brake(SupplyRules{Age: threeDays})
	install := []string{"install", "--no-index", "--find-links=links", "--target=out"}

	said := p.must(env, append(install, "wheel")...)
	if _, err := os.Stat(filepath.Join(p.dir, "out/wheel.py")); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
	if said, err := p.run(env, append(install, "source")...); err == nil || p.ran("source") {
		t.Errorf("%v, ran %v\n%s", err, p.ran("source"), said)
	}
	for _, args := range tier.Some([][]string{{"--version"}, {"list"}, {"freeze"}, {"cache", "dir"}}, 2) {
		if with, without := p.must(env, args...), p.must(nil, args...); with != without {
			t.Errorf("%q: %q, was %q", args, with, without)
		}
	}
}

// TestPipRuns: without the settings, and with them by the way that the notes name,
// the source distribution is built.
func TestPipRuns(t *testing.T) {
	for name, extra := range map[string][]string{"control": nil, "for one call": {"--only-binary=:none:"}} {
		t.Run(name, func(t *testing.T) {
			p := newPip(t)
			var env []string
			if extra != nil {
				env = p.brake(SupplyRules{Age: threeDays})
			}
			said, _ := p.run(env, append([]string{"install", "--no-index", "--find-links=links", "--target=out", "source"}, extra...)...)
			if !p.ran("source") {
				t.Error(said)
			}
		})
	}
}

func wheel(t *testing.T) string {
	t.Helper()
	const info = "wheel-1.0.dist-info/"
	files := map[string]string{
		"wheel.py":        "",
		info + "METADATA": "Metadata-Version: 2.1\nName: wheel\nVersion: 1.0\n",
		info + "WHEEL":    "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
		info + "RECORD":   "wheel.py,,\n" + info + "METADATA,,\n" + info + "WHEEL,,\n" + info + "RECORD,,\n",
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		w.Write([]byte(files[name]))
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func source(t *testing.T) string {
	t.Helper()
	files := map[string]string{
		"PKG-INFO":       "Metadata-Version: 2.1\nName: source\nVersion: 1.0\n",
		"pyproject.toml": "[build-system]\nrequires = []\nbuild-backend = \"backend\"\nbackend-path = [\".\"]\n",
		"backend.py":     backend,
	}
	var b strings.Builder
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		w.WriteHeader(&tar.Header{Name: "source-1.0/" + name, Mode: 0o644, Size: int64(len(files[name]))})
		w.Write([]byte(files[name]))
	}
	if w.Close() != nil || z.Close() != nil {
		t.Fatal("source was not written")
	}
	return b.String()
}
