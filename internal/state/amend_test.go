package state

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestAmend: a file of an earlier session gets what every session has; a link that the
// agent left in its place is not followed.
func TestAmend(t *testing.T) {
	p := open(t, newDirs(t), "/")
	defer p.Close()
	it := Item{Path: "d/x.json", Seed: []byte("first"), Amend: func(now []byte) []byte {
		if bytes.HasSuffix(now, []byte("!")) {
			return nil
		}
		return append(now, '!')
	}}
	for _, want := range []string{"first!", "first!"} {
		placed, err := p.Ensure([]Item{it})
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(placed[0].Path)
		if err != nil || string(got) != want {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
	outside := filepath.Join(t.TempDir(), "outside")
	at := filepath.Join(p.Home(), it.Path)
	if err := os.WriteFile(outside, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(at); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, at); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Ensure([]Item{it}); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(outside); string(got) != "mine" {
		t.Errorf("written through a link: %q", got)
	}
}
