package journal

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// FuzzVerify: whatever is done to the files of a journal that ended, to its head, to
// the register or to the anchor, it is found, unless they are what they were.
func FuzzVerify(f *testing.F) {
	dir := world(f)
	paths := []string{filepath.Join(dir, session+suffix), filepath.Join(dir, partName(session, 2)), filepath.Join(dir, session+headSuffix),
		filepath.Join(sealDir(dir), registerName), filepath.Join(sealDir(dir), anchorName)}
	whole := make([][]byte, len(paths))
	for i, p := range paths {
		whole[i] = []byte(fileAt(f, p))
	}
	f.Add(uint8(0), 0, 1, []byte("x"))
	f.Add(uint8(0), 400, 0, []byte("\n"))
	f.Add(uint8(1), 10, 5000, []byte{})
	f.Add(uint8(2), 511, 1, []byte(" "))
	f.Add(uint8(3), 5, 300, []byte("{\"v\":1}\n"))
	f.Add(uint8(4), 0, 20, []byte("00000000000000000004"))
	f.Fuzz(func(t *testing.T, which uint8, at, drop int, put []byte) {
		n := int(which) % len(paths)
		old := whole[n]
		at = min(max(at, 0), len(old))
		drop = min(max(drop, 0), len(old)-at)
		changed := append(append(append([]byte{}, old[:at]...), put...), old[at+drop:]...)
		if err := os.WriteFile(paths[n], changed, 0o600); err != nil {
			t.Fatal(err)
		}
		defer os.WriteFile(paths[n], old, 0o600)
		r, err := Verify(dir, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		// Half an entry at the end of the register is what a kill leaves.
		torn := paths[n] == filepath.Join(sealDir(dir), registerName) && len(changed) >= len(old) && bytes.Equal(changed[:len(old)], old) &&
			!bytes.Contains(changed[len(old):], []byte("\n"))
		if same := bytes.Equal(changed, old) || torn; r.Bad() == same {
			t.Errorf("%s, %d bytes at %d for %q: %+v", filepath.Base(paths[n]), drop, at, put, r)
		}
	})
}

// FuzzHead: a head that is taken is the one form of what it says, and only the key
// makes it one that counts.
func FuzzHead(f *testing.F) {
	key, err := openKey(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	h := head{V: Version, Session: session, Turn: 3, Seq: 9, Part: 1, Size: 77, State: stateEnded}
	h.sign(key)
	good := h.file()
	f.Add(good)
	f.Add(good[:100])
	f.Add(bytes.Replace(good, []byte("ended"), []byte("open"), 1))
	f.Add(bytes.Replace(good, []byte(`"seq":9`), []byte(`"seq":8`), 1))
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, err := parseHead(b); err == nil && !bytes.Equal(got.file(), b) {
			t.Errorf("%q is not the one form of %+v", b, got)
		}
		if _, err := checkHead(b, session, key); (err == nil) != bytes.Equal(b, good) {
			t.Errorf("%q: %v", b, err)
		}
	})
}

// FuzzEntry: the same for a line of the register.
func FuzzEntry(f *testing.F) {
	key, err := openKey(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	e := entry{V: entryVersion, N: 4, Time: noon, Event: ended, Session: session, Seq: 9, Key: key.ID()}
	e.Sig = key.Sign(entryPurpose, e.appendJSON(nil))
	f.Add(e.line())
	f.Add(e.line()[:90])
	f.Add(bytes.Replace(e.line(), []byte("ended"), []byte("removed"), 1))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := parseEntry(b)
		if err != nil {
			return
		}
		if !bytes.Equal(got.line(), b) {
			t.Errorf("%q is not the one form of %+v", b, got)
		}
		if got.signedBy(key) != bytes.Equal(b, e.line()) {
			t.Errorf("%q: signed %v", b, got.signedBy(key))
		}
	})
}
