package launch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/state"
)

// TestRefusePlanted: a link in a project must not lead out of it, wherever the way to it
// began; the user's own may lead anywhere.
func TestRefusePlanted(t *testing.T) {
	root := t.TempDir()
	at := func(p string) string { return filepath.Join(root, p) }
	project, dirs := at("src/project"), state.Dirs{State: at("state")}
	for _, dir := range []string{"src/project/sub", "src/other", "private", "own"} {
		if err := os.MkdirAll(at(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := dirs.Mark(project); err != nil {
		t.Fatal(err)
	}
	if !dirs.Has(project) {
		t.Fatal("the project is not known")
	}
	for link, to := range map[string]string{
		"own/toProject": project, "own/toPrivate": at("private"), "own/toOut": at("src/project/out"), "own/toNear": "../src/project/near", "own/toChain": "../src/project/chain",
		"src/project/out": at("private"), "src/project/near": "sub", "src/project/here": ".", "src/project/up": "here/../../other", "src/project/chain": "second",
		"src/project/second": "../../private", "src/project/absolute": at("src/project/sub"), "src/project/back": "../project/sub", "src/project/gone": "nowhere",
		"src/project/net": "/net/evil.test/x",
	} {
		if err := os.Symlink(to, at(link)); err != nil {
			t.Fatal(err)
		}
	}
	p := Person{Dirs: dirs}
	for path, refused := range map[string]bool{
		"own": false, "own/toProject": false, "own/toProject/sub": false, "own/toPrivate": false, "own/toNear": false, "src/project/near": false, "src/project/absolute": false,
		"src/project/back": false, "src/project/gone": false, "src/project/here/sub": false, "missing/x": false,
		"own/toOut": true, "own/toChain": true, "src/project/out": true, "src/project/out/x": true, "src/project/up": true, "src/project/chain": true,
		"own/toProject/out": true, "src/project/net": true,
	} {
		err := p.RefusePlanted(at(path))
		if (err != nil) != refused || err != nil && !strings.Contains(err.Error(), "leads out of it") {
			t.Errorf("%s: %v", path, err)
		}
	}
}
