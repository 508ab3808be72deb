package loads

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/loads.md")

// TestPage: docs/loads.md is what the list says, and the list is whole.
func TestPage(t *testing.T) {
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		files := strings.Builder{}
		for _, text := range a.Files {
			files.WriteString(text)
		}
		for _, l := range a.Load {
			reasons := 0
			for _, is := range []bool{l.Canary != "", l.Text, l.Asked != "", l.Unseen != ""} {
				if is {
					reasons++
				}
			}
			if reasons != 1 || l.Path == "" || l.What == "" {
				t.Errorf("%s, %s: one of canary, text, asked and unseen", a.Name, l.Path)
			}
			if l.Canary != "" && !strings.Contains(files.String(), "{RAN "+l.Canary+"}") {
				t.Errorf("%s: no file has the canary %q", a.Name, l.Canary)
			}
		}
	}
	const page = "../../docs/loads.md"
	if *update {
		if err := os.WriteFile(page, []byte(Page(all)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(page); err != nil || string(got) != Page(all) {
		t.Errorf("%s is not what loads.toml says (%v): go test ./test/loads -update", page, err)
	}
}
