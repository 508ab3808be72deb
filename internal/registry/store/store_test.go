package store

import (
	"archive/zip"
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func keep(t *testing.T, s *Store, text string, d Digest) error {
	t.Helper()
	in, err := s.Incoming()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Discard()
	io.WriteString(in, text)
	return s.Keep(in, d)
}

func files(t *testing.T, dir string) (out []string) {
	t.Helper()
	filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			out = append(out, path)
		}
		return nil
	})
	return out
}

// A blob has the name of what it is. What lies about itself leaves nothing behind.
func TestKeep(t *testing.T) {
	dir := t.TempDir()
	s := At(dir)
	if s.Filled() {
		t.Error("filled from the beginning")
	}
	sum := sha512.Sum512([]byte("true"))
	good, err := Integrity("sha512-" + base64.StdEncoding.EncodeToString(sum[:]))
	if err != nil {
		t.Fatal(err)
	}
	if err := keep(t, s, "false", good); !errors.Is(err, ErrDigest) {
		t.Errorf("a lie: %v", err)
	}
	if got := files(t, dir); len(got) != 0 {
		t.Errorf("left behind: %q", got)
	}
	if err := keep(t, s, "true", good); err != nil {
		t.Fatal(err)
	}
	f, err := s.Blob(good)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if b, _ := io.ReadAll(f); string(b) != "true" {
		t.Errorf("got %q", b)
	}
	// Two blobs can have one SHA-1: it is checked and not kept.
	weak := sha1.Sum([]byte("old"))
	d, err := Hex(SHA1, hex.EncodeToString(weak[:]))
	if err != nil {
		t.Fatal(err)
	}
	if err := keep(t, s, "old", d); err != nil {
		t.Error(err)
	}
	if _, err := s.Blob(d); err == nil || len(files(t, dir)) != 1 {
		t.Errorf("kept by SHA-1: %q", files(t, dir))
	}
	if err := keep(t, s, "older", d); !errors.Is(err, ErrDigest) {
		t.Errorf("not checked: %v", err)
	}
}

func TestImport(t *testing.T) {
	s := At(t.TempDir())
	sum := sha512.Sum512([]byte("true"))
	d, _ := Hex(SHA512, hex.EncodeToString(sum[:]))
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	os.WriteFile(path, []byte("poisoned"), 0o600)
	if _, err := s.Import(path, d, 100); err == nil {
		t.Error("poison was taken over")
	}
	os.WriteFile(path, []byte("true"), 0o600)
	os.Symlink(path, filepath.Join(dir, "link"))
	if _, err := s.Import(filepath.Join(dir, "link"), d, 100); err == nil {
		t.Error("a link was followed")
	}
	if _, err := s.Import(path, d, 3); err == nil {
		t.Error("no bound")
	}
	f, err := s.Import(path, d, 100)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}

func TestDigests(t *testing.T) {
	word := strings.Repeat("A", 86) + "=="
	for text, ok := range map[string]bool{
		"sha512-" + word: true, "sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk= sha512-" + word: true, "sha512-" + word + "?opt": true,
		"": false, "md5-abc": false, "sha512-": false, "sha512-AAAA": false, "sha512-" + word + "=": false, "sha256-" + word: false, "sha512-../../x": false,
	} {
		if d, err := Integrity(text); (err == nil) != ok || ok && d.Kind != SHA512 {
			t.Errorf("%q: %v, %v", text, d, err)
		}
	}
	for _, text := range []string{"", "../../../../etc/passwd", strings.Repeat("A", 64), strings.Repeat("a", 63), strings.Repeat("g", 64)} {
		if _, err := Hex(SHA256, text); err == nil {
			t.Errorf("%q is a digest", text)
		}
	}
	for _, text := range []string{"", "h1:", "h2:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", "h1:AAAA", "h1:../../"} {
		if _, err := H1(Zip, text); err == nil {
			t.Errorf("%q is a digest", text)
		}
	}
}

// FuzzIntegrity: a digest is never a path, and always of the length of its kind.
func FuzzIntegrity(f *testing.F) {
	f.Add("sha512-" + strings.Repeat("A", 86) + "==")
	f.Add("sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk= sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=")
	f.Fuzz(func(t *testing.T, text string) {
		d, err := Integrity(text)
		if err == nil && (hashes[d.Kind] == nil || len(d.Sum) != 2*hashes[d.Kind]().Size() || strings.ContainsAny(d.Sum, "./")) {
			t.Errorf("%q: %+v", text, d)
		}
		if d, err := H1(Zip, text); err == nil && len(d.Sum) != 64 {
			t.Errorf("%q: %+v", text, d)
		}
	})
}

// What one upstream said is not what another is taken to have said.
func TestNotes(t *testing.T) {
	s := At(t.TempDir())
	if err := s.PutNote(Note{Key: "npm https://a.test /lib", Tag: `"1"`, Body: []byte("a\nb"), When: time.Now()}); err != nil {
		t.Fatal(err)
	}
	if n, ok := s.Note("npm https://a.test /lib"); !ok || string(n.Body) != "a\nb" || n.Tag != `"1"` {
		t.Errorf("%+v", n)
	}
	if _, ok := s.Note("npm https://b.test /lib"); ok {
		t.Error("another's")
	}
	// A file that was moved is not what its name says.
	os.MkdirAll(filepath.Dir(s.note("other")), 0o700)
	os.Rename(s.note("npm https://a.test /lib"), s.note("other"))
	if _, ok := s.Note("other"); ok {
		t.Error("a note that was moved")
	}
}

func TestBound(t *testing.T) {
	s := At(t.TempDir())
	now := time.Now()
	for i, key := range []string{"old", "used", "new"} {
		if err := s.PutNote(Note{Key: key, Body: bytes.Repeat([]byte("x"), 1000)}); err != nil {
			t.Fatal(err)
		}
		at := now.Add(time.Duration(i-10) * time.Hour)
		os.Chtimes(s.note(key), at, at)
	}
	s.Note("old") // is used, and now the youngest
	paths, _, total, err := s.Excess(2500, now)
	if err != nil || len(paths) != 1 || paths[0] != s.note("used") || total < 3000 {
		t.Errorf("%q of %d, %v", paths, total, err)
	}
	if paths, _, _, err := At(t.TempDir()).Excess(0, now); err != nil || len(paths) != 0 {
		t.Errorf("of nothing: %q, %v", paths, err)
	}
}

// A zip file that unpacks to more than it says, or has a name twice, is no module.
func TestHostileZip(t *testing.T) {
	write := func(names ...string) *os.File {
		f, err := os.CreateTemp(t.TempDir(), "zip")
		if err != nil {
			t.Fatal(err)
		}
		z := zip.NewWriter(f)
		for _, n := range names {
			w, _ := z.Create(n)
			io.WriteString(w, "text")
		}
		z.Close()
		return f
	}
	if _, err := compute(Zip, write("m@v1.0.0/go.mod")); err != nil {
		t.Error(err)
	}
	if _, err := compute(Zip, write("m@v1.0.0/go.mod", "m@v1.0.0/go.mod")); err == nil {
		t.Error("a name twice")
	}
	f, _ := os.CreateTemp(t.TempDir(), "zip")
	io.WriteString(f, "no zip")
	if _, err := compute(Zip, f); err == nil {
		t.Error("no zip file")
	}
}

// What one registry sent is found by who uses that registry, and what is for all by everybody.
func TestOf(t *testing.T) {
	all := At(t.TempDir())
	kept := func(s *Store, text string) Digest {
		t.Helper()
		sum := sha256.Sum256([]byte(text))
		d := Digest{SHA256, hex.EncodeToString(sum[:])}
		if err := keep(t, s, text, d); err != nil {
			t.Fatal(err)
		}
		return d
	}
	has := func(s *Store, d Digest) bool {
		f, err := s.Blob(d)
		if err == nil {
			f.Close()
		}
		return err == nil
	}
	mine, public := kept(all.Of("login https://corp.test"), "mine"), kept(all, "public")
	for name, want := range map[string]bool{"login https://corp.test": true, "https://corp.test": false, "https://evil.test": false} {
		if has(all.Of(name), mine) != want || !has(all.Of(name), public) {
			t.Errorf("%s: %v", name, !want)
		}
	}
	if has(all, mine) || !has(all, public) {
		t.Error("who has no registry of his own finds what is another's")
	}
	path := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(path, []byte("lent"), 0o600); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte("lent"))
	d := Digest{SHA256, hex.EncodeToString(sum[:])}
	if f, err := all.Borrow(path, d, 100); err != nil || has(all, d) {
		t.Error("lent and kept, or not lent", err)
	} else {
		f.Close()
	}
	if _, err := all.Borrow(path, mine, 100); err == nil {
		t.Error("what is not what its digest says is lent")
	}
}
