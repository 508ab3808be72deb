package gitproxy

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/workspace/phantom"
)

// TestPhantomsAreNotPushed: neither as a file of its own nor as what is new in one that
// the server has; the real file may go.
func TestPhantomsAreNotPushed(t *testing.T) {
	dir := t.TempDir()
	git := func(in string, args ...string) []byte {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(in)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b.test", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b.test"}
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("git %v: %v", args, err)
		}
		return out
	}
	commit := func(data string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, ".env"), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		git("", "add", "-A")
		git("", "commit", "-q", "-m", "x")
	}
	read := func(revs string) error {
		b := git(revs, "pack-objects", "-q", "--thin", "--revs", "--stdout")
		return newProof(context.Background(), nil, state{}).read(bytes.NewReader(b), int64(len(b)))
	}
	git("", "init", "-q", "-b", "master")
	var long strings.Builder
	for i := range 200 {
		long.WriteString("SETTING_" + strings.Repeat("x", i) + "=plain\n")
	}
	real := long.String() + "API_TOKEN=real-secret-abcdefgh\n"
	shown, kind, err := phantom.Phantom(".env", []byte(real), make([]byte, 32))
	if err != nil || kind != phantom.Values {
		t.Fatal(kind, err)
	}
	commit(real)
	if err := read("HEAD\n"); err != nil {
		t.Errorf("the real file: %v", err)
	}
	commit(string(shown))
	for _, revs := range []string{"HEAD\n", "HEAD\n^HEAD~1\n"} {
		if err := read(revs); !errors.Is(err, errPhantom) {
			t.Errorf("%q: %v", revs, err)
		}
	}
}

// TestDecoysAreNotPushed: neither in a file, nor in what is new in one, nor in a message
// or the name of a file; also where no history has to be shown.
func TestDecoysAreNotPushed(t *testing.T) {
	const decoy = "AKIADECOYDECOYDECOY0"
	for name, c := range map[string]struct {
		file, data, message string
		want                error
	}{
		"nothing":   {"a", "x", "x", nil},
		"a file":    {"a", "key = " + decoy, "x", errDecoy},
		"a message": {"a", "x", "x " + decoy, errDecoy},
		"a name":    {decoy, "x", "x", errDecoy},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, c.file), []byte(c.data), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("sh", "-ec", "git init -q . && git add -A && git commit -q -F - && echo HEAD | git pack-objects -q --revs --stdout")
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(c.message)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b.test", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b.test"}
		b, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		p := newProof(context.Background(), nil, state{})
		p.decoy = func(data []byte) bool { return bytes.Contains(data, []byte(decoy)) }
		if err := p.read(bytes.NewReader(b), int64(len(b))); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
