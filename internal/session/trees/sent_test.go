package trees

import (
	"os"
	"path/filepath"
	"testing"

	"ringfence.dev/ringfence/internal/workspace/phantom"
)

// What came since the look of the launch is not sent.
func TestJudgeSent(t *testing.T) {
	root := t.TempDir()
	k := &Changes{trees: &Trees{masking: masking{rules: phantom.Builtin(), seed: make([]byte, 32), roots: []maskRoot{{path: root}}}}}
	for name, refused := range map[string]bool{"sub/.env": true, "main.go": false, "sub/.env.example": false} {
		at := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte("API_KEY=sk-live-7f3a91aaaaaaaaaaaaaaaa\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := k.judgeSent(at); (err != nil) != refused {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := k.judgeSent("/elsewhere/.env"); err != nil {
		t.Error(err)
	}
}
