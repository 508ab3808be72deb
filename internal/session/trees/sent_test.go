package trees

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/workspace/phantom"
)

const (
	aSecret = "API_KEY=sk-live-7f3a91aaaaaaaaaaaaaaaa\n"
	aLogin  = "[remote \"origin\"]\n\turl = https://me:ghp_7f3a91aaaaaaaaaaaaaaaaaaaaaaaa@forge.test/a/b\n"
	noLogin = "[core]\n\tbare = false\n"
)

func sender(root string) *Changes {
	return &Changes{plan: &plan.Plan{}, trees: &Trees{masking: masking{rules: phantom.Builtin(), seed: make([]byte, 32), roots: []maskRoot{{path: root}}, masked: map[string]phantom.Kind{}}}}
}

// What came since the look of the launch is not sent, wherever it lies, and it is judged by
// the bytes that go.
func TestJudgeSent(t *testing.T) {
	root := t.TempDir()
	k := sender(root)
	for _, c := range []struct {
		name, data string
		refused    bool
	}{
		{"sub/.env", aSecret, true}, {"main.go", aSecret, false}, {"sub/.env.example", aSecret, false},
		{"node_modules/a/b/.env", aSecret, true}, {"vendor/x/y/id_rsa", "-----BEGIN RSA PRIVATE KEY-----\nabc\n", true}, {".hg/x/.env", aSecret, true},
		{".git/config", aLogin, true}, {".git/config", noLogin, false}, {".git/config", "[core\n", true}, {".git/config", strings.Repeat("#", maxSecret+1), true},
		{"node_modules/a/.git/config", aLogin, true}, {".git/modules/x/config.worktree", aLogin, true}, {"bare/config", aLogin, true},
		{"settings/config", "not of git\n", false}, {".git/refs/heads/config", "0123456789\n", false},
		{".git/creds.inc", aLogin, true}, {".git/modules/x/more", aLogin, false}, {"creds.inc", aLogin, false}, {".git/index", "DIRC[\x00", false}, {".git/description", "[a] token = b", true},
		{".git/.git-credentials", "https://me:x@forge.test\n", true}, {".git/.git-credentials", "", false},
	} {
		if err := k.judgeSent(filepath.Join(root, c.name), []byte(c.data), false); (err != nil) != c.refused {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if err := k.judgeSent("/elsewhere/.env", []byte(aSecret), false); err != nil {
		t.Error(err)
	}
	if err := k.judgeSent("/elsewhere/.git/config", []byte(aLogin), false); err == nil {
		t.Error("a login of a git directory outside of all trees is sent")
	}
}

// A link whose name says that it holds secrets makes what it leads to one, unless that is
// covered.
func TestJudgeSentLink(t *testing.T) {
	root := t.TempDir()
	at := filepath.Join(root, "plain")
	if err := os.WriteFile(at, []byte(aSecret), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("plain", filepath.Join(root, ".env")); err != nil {
		t.Fatal(err)
	}
	k := sender(root)
	if err := k.judgeSent(filepath.Join(root, ".env"), []byte("plain"), true); err == nil {
		t.Error("what the link leads to is sent")
	}
	k.trees.masking.masked[at] = phantom.Values
	if err := k.judgeSent(filepath.Join(root, ".env"), []byte("plain"), true); err != nil {
		t.Error(err)
	}
}

// What settings of git include of what is sent is judged with them.
func TestJudgeSentIncludes(t *testing.T) {
	root := t.TempDir()
	put := func(name, text string) string {
		t.Helper()
		at := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
		return at
	}
	put("plain.inc", noLogin)
	put("by.inc", "[include]\n\tpath = deep/creds.inc\n")
	put("round.inc", "[include]\n\tpath = round.inc\n")
	put("broken.inc", "[core\n")
	creds := put("deep/creds.inc", aLogin)
	if err := os.Symlink("deep/creds.inc", filepath.Join(root, "link.inc")); err != nil {
		t.Fatal(err)
	}
	k := sender(root)
	k.User.Home = root
	for text, refused := range map[string]bool{
		"[include]\n\tpath = ../deep/creds.inc\n":                 true,
		"[Include]\n\tPath = " + creds + "\n":                     true,
		"[include]\n\tpath = ~/deep/creds.inc\n":                  true,
		"[includeIf \"gitdir:/nowhere\"]\n\tpath = ../link.inc\n": true,
		"[include]\n\tpath = ../by.inc\n":                         true,
		"[include]\n\tpath = ../round.inc\n":                      true,
		"[include]\n\tpath = ../broken.inc\n":                     true,
		"[include]\n\tpath = ../deep\n":                           true,
		"[include]\n\tpath = ../plain.inc\n":                      false,
		"[include]\n\tpath = ../none.inc\n":                       false,
		"[include]\n\tpath = /etc/hostname\n":                     false,
		"[include]\n\tpath = \n":                                  true,
		noLogin:                                                   false,
	} {
		at := put(".git/config", text)
		if err := k.judgeSent(at, []byte(text), false); (err != nil) != refused {
			t.Errorf("%q: %v", text, err)
		}
		if err := k.judgeSent(filepath.Join(root, ".git/HEAD"), nil, false); (err != nil) != refused {
			t.Errorf("%q at HEAD: %v", text, err)
		}
	}
	put(".git/config", "[include]\n\tpath = ../deep/creds.inc\n")
	k.trees.masking.masked[creds] = phantom.Values
	if err := k.judgeSent(filepath.Join(root, ".git/HEAD"), nil, false); err != nil {
		t.Errorf("what is hidden is refused: %v", err)
	}
}
