package policy

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"ringfence.dev/ringfence/internal/fault"
)

var digestA, digestB = strings.Repeat("a", 64), strings.Repeat("b", 64)

func trusted(t *testing.T, s *TrustStore, root, file, digest string) bool {
	t.Helper()
	ok, err := s.Trusted(root, file, digest)
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

func record(t *testing.T, s *TrustStore, root, file, digest string) {
	t.Helper()
	if err := s.Record(root, file, digest); err != nil {
		t.Fatal(err)
	}
}

func TestTrust(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "trust.json")
	s := OpenTrust(path)
	root := "/w\n\xff\xfe"
	if trusted(t, s, root, ProjectFile, digestA) {
		t.Error("trusted before it was recorded")
	}
	record(t, s, root, ProjectFile, digestA)
	record(t, s, root, ".ringfence.env", digestB)
	if !trusted(t, OpenTrust(path), root, ProjectFile, digestA) {
		t.Error("not trusted after it was recorded")
	}
	for _, c := range [][3]string{
		{root, ProjectFile, digestB}, {root, ".ringfence.env", digestA}, {"/w", ProjectFile, digestA},
		{"/w\n\ufffd\ufffd", ProjectFile, digestA}, {root, ProjectFile, ""},
	} {
		if trusted(t, s, c[0], c[1], c[2]) {
			t.Errorf("trusts %q", c)
		}
	}
	record(t, s, root, ProjectFile, digestB)
	if trusted(t, s, root, ProjectFile, digestA) {
		t.Error("an older content is still trusted")
	}
	if err := s.Forget(root, ".ringfence.env"); err != nil || trusted(t, s, root, ".ringfence.env", digestB) {
		t.Errorf("still trusted after it was forgotten: %v", err)
	}
	for file, want := range map[string]bool{ProjectFile: true, ".ringfence.env": false, "never": false} {
		if ok, err := s.Known(root, file); ok != want || err != nil {
			t.Errorf("%s is known: %v, %v", file, ok, err)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 2 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if err := s.Record(root, ProjectFile, "abc"); err == nil {
		t.Error("recorded what is no digest")
	}
}

func TestTrustConcurrent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trust.json")
	const writers = 16
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			if err := OpenTrust(path).Record(fmt.Sprint("/", i), ProjectFile, digestA); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for i := range writers {
		if !trusted(t, OpenTrust(path), fmt.Sprint("/", i), ProjectFile, digestA) {
			t.Errorf("%d is lost", i)
		}
	}
}

func TestTrustCorrupt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trust.json")
	record(t, OpenTrust(path), "/w", ProjectFile, digestA)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	good := string(b)
	entry := good[strings.Index(good, "    {"):strings.Index(good, "\n  ]")]
	for name, text := range map[string]string{
		"empty": "", "cut": good[:len(good)-5], "null": "null\n", "more": good + "{}", "version": strings.Replace(good, "1", "2", 1),
		"field":   strings.Replace(good, `"version"`, `"x": 1, "version"`, 1),
		"case":    strings.Replace(good, `"digest"`, `"Digest"`, 1),
		"twice":   strings.Replace(good, entry, entry+",\n"+entry, 1),
		"double":  strings.Replace(good, `"version": 1`, `"version": 2, "version": 1`, 1),
		"digest":  strings.Replace(good, digestA, "zz", 1),
		"unquote": strings.Replace(good, `"\"/w\""`, `"/w"`, 1),
	} {
		put(t, path, text)
		ok, err := OpenTrust(path).Trusted("/w", ProjectFile, digestA)
		if ok || fault.KindOf(err) != fault.Refused {
			t.Errorf("%s: %v, %v", name, ok, err)
		}
		if err := OpenTrust(path).Record("/v", ProjectFile, digestA); err == nil {
			t.Errorf("%s: was written over", name)
		}
	}
	put(t, path, good)
	if !trusted(t, OpenTrust(path), "/w", ProjectFile, digestA) {
		t.Error("the control is not trusted")
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	if ok, err := OpenTrust(path).Trusted("/w", ProjectFile, digestA); ok || err == nil {
		t.Errorf("a store that anyone can write: %v, %v", ok, err)
	}
}
