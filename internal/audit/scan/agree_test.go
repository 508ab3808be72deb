package scan

import (
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/workspace/hostexec"
)

// candidates are values of which each test of a key takes one.
var candidates = []string{`"x"`, "true", "false", `"bypassPermissions"`, `"Bash"`, `"/outside"`, `"*"`, `"https://x.test"`, `"on"`, `"folderOpen"`,
	`{"command": "x"}`, `"allow"`, `"./x"`, `"--privileged"`}

// TestReviewAgrees: what the scan takes out of settings in JSON, the review names when a
// session writes it. They have rows of their own in the table: the review names a change
// that a scan, which also judges the value, may let pass.
func TestReviewAgrees(t *testing.T) {
	names, err := hostexec.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rules() {
		for _, k := range r.Find {
			if r.Form != asJSON || slices.Contains([]string{kUnclear.id, kUnknown.id}, k.Finding) {
				continue
			}
			text := fileWith(k.Path, func(text string) bool { return len(r.judge([]byte(text)).hits) > 0 })
			if text == "" {
				t.Errorf("%q: no candidate is one that the scan finds", k.Path)
			}
			for _, file := range r.Files {
				rel := strings.NewReplacer("**/", "", "*", "x").Replace(file)
				if found := names.Inspect(rel, nil, []byte(text)); len(found) == 0 || found[0].Rank != hostexec.Unasked {
					t.Errorf("%s %s: the review finds %v in %s", rel, k.Path, found, text)
				}
			}
		}
	}
}

// TestEveryFindingIsKnown: the table names no finding that is not there.
func TestEveryFindingIsKnown(t *testing.T) {
	names, err := hostexec.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range names.Scanned() {
		for _, k := range append(s.Find, hostexec.ScannedKey{Finding: s.Code}) {
			if k.Finding != kindOf(k.Finding).id && (k.Finding != "" || s.Form == "code") {
				t.Errorf("%s: %q is no finding", s.Files[0], k.Finding)
			}
		}
	}
}

// fileWith is a file in which a setting has the first of the values that is found.
func fileWith(path string, found func(text string) bool) string {
	parts := strings.Split(strings.NewReplacer("**.", "", ".**", ".x", ".*.", ".x.", "*", "x").Replace(path), ".")
	if strings.HasSuffix(path, ".*") {
		parts[len(parts)-1] = "LD_PRELOAD"
	}
	for _, text := range candidates {
		for _, name := range slices.Backward(parts) {
			if name == "[]" {
				text = "[" + text + "]"
			} else {
				text = `{"` + name + `": ` + text + "}"
			}
		}
		if found(text) {
			return text
		}
	}
	return ""
}
