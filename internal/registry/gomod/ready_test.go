package gomod

import (
	"archive/zip"
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/registry/store"
)

func zipped(files ...string) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range files {
		h := &zip.FileHeader{Name: name, Method: zip.Deflate}
		if strings.HasSuffix(name, "link") {
			h.SetMode(fs.ModeSymlink | 0o777)
		}
		w, _ := z.CreateHeader(h)
		w.Write([]byte("/etc/passwd"))
	}
	z.Close()
	return b.Bytes()
}

// unpackInto unpacks and lists what came of it. Nothing is ever beside the place.
func unpackInto(t *testing.T, data []byte) (names []string, err error) {
	t.Helper()
	top := t.TempDir()
	path := filepath.Join(top, "blob")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	f, oerr := os.Open(path)
	if oerr != nil {
		t.Fatal(oerr)
	}
	defer f.Close()
	dir := filepath.Join(top, "layer")
	err = unpack(dir, request{"example.test/Lib", "v1.0.0", "zip"}, store.Digest{Kind: store.Zip, Sum: strings.Repeat("0", 64)}, f)
	filepath.WalkDir(top, func(p string, d fs.DirEntry, werr error) error {
		if werr != nil {
			t.Error(werr)
		}
		if d.IsDir() || p == path {
			return nil
		}
		if !d.Type().IsRegular() {
			t.Errorf("%q is no file", p)
		}
		rel, ok := strings.CutPrefix(p, dir+"/mod/")
		if !ok || !strings.HasPrefix(rel, "example.test/!lib@v1.0.0/") && !strings.HasPrefix(rel, "cache/download/example.test/!lib/@v/v1.0.0.") {
			t.Errorf("%q lies elsewhere", p)
		}
		names = append(names, rel)
		return nil
	})
	return names, err
}

const at = "example.test/Lib@v1.0.0/"

// A zip file that is no module leaves nothing behind.
func TestUnpack(t *testing.T) {
	if names, err := unpackInto(t, zipped(at+"go.mod", at+"sub/x.go")); err != nil || len(names) != 4 {
		t.Errorf("%q, %v", names, err)
	}
	for _, bad := range [][]string{
		{"other.test/x@v1.0.0/go.mod"}, {at + "../../../x"}, {"/etc/x"}, {at + "a", at + "A"}, {at + "a", at + "a/b"}, {at + "con"}, {at + `a\..\b`}, {"../" + at + "x"},
	} {
		if names, err := unpackInto(t, zipped(bad...)); err == nil || len(names) > 0 {
			t.Errorf("%q: %q, %v", bad, names, err)
		}
	}
	unpackInto(t, zipped(at+"go.mod", at+"link")) // a plain file, or none
	if _, err := unpackInto(t, []byte("no zip")); err == nil {
		t.Error("no zip file")
	}
}

// FuzzUnpack: whatever a zip file says, all that comes of it lies in its place, as plain files.
func FuzzUnpack(f *testing.F) {
	f.Add(zipped(at + "go.mod"))
	f.Add(zipped(at+"../x", at+"link"))
	f.Add(zipped(at+"a", at+"a/b"))
	f.Add([]byte("PK\x05\x06"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if names, err := unpackInto(t, data); err != nil && len(names) > 0 {
			t.Errorf("left behind: %q, %v", names, err)
		}
	})
}
