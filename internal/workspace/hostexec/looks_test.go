package hostexec

import (
	"strings"
	"testing"
)

// bareTree has a bare repository at repo.
type bareTree struct{}

func (bareTree) At(rel string) (Kind, bool) {
	switch rel {
	case "repo", "repo/objects", "repo/refs":
		return KindDir, true
	case "repo/HEAD", "repo/config":
		return KindFile, true
	}
	return 0, false
}

// TestPlainNeedsNoReading: where Looks says that nothing is looked for, nothing is found
// in any text of ASCII, and where something is found, Looks said so.
func TestPlainNeedsNoReading(t *testing.T) {
	r, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	paths := []string{"main.go", "made/1/2", "a/b/c.txt", "repo/config", "repo/hooks/x", "repo/info/attributes", "repo/HEAD"}
	for _, c := range r.contents {
		for _, p := range c.files {
			paths = append(paths, strings.ReplaceAll(strings.Trim(p.text, "/"), "*", "x"), "sub/"+strings.ReplaceAll(strings.Trim(p.text, "/"), "*", "x"))
		}
	}
	texts := []string{"x\n", "", "\x00\x01", "[core]\n\tfsmonitor = x\n", `{"scripts":{"a":"x"},"mcpServers":{"a":{"command":"x"}},"hooks":{}}`,
		"*.c filter=x\n", "NODE_OPTIONS=--require=./x\n", "all:\n\tx\n", "a: !x\n", "\x1b[2J", strings.Repeat("x", maxLook+1)}
	looked, found := 0, 0
	for _, rel := range paths {
		for _, text := range texts {
			looks := r.Looks(bareTree{}, rel, int64(len(text)))
			got := r.InspectIn(bareTree{}, rel, nil, []byte(text))
			if !looks && len(got) > 0 {
				t.Errorf("%s: not looked into, and %s is found", rel, told(got))
			}
			if looks {
				looked++
			}
			found += min(len(got), 1)
		}
	}
	if found < 100 || looked == len(paths)*len(texts) {
		t.Errorf("this shows nothing: %d of %d are looked into, in %d is something", looked, len(paths)*len(texts), found)
	}
	if r.Looks(bareTree{}, "main.go", 10) || !r.Looks(bareTree{}, "main.go", maxLook+1) || !r.Looks(bareTree{}, "repo/config", 10) {
		t.Error("main.go is looked into, or a large one, or the settings of a bare repository, is not")
	}
}
