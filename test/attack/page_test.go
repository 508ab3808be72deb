package attack

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/rungs"
)

const page = "../../docs/workspace-attacks.md"

var update = flag.Bool("update", false, "write the table of "+page)

// The lines between which the table stands.
const (
	tableBegins = "<!-- table: go test ./test/attack -run TestPage -update -->\n"
	tableEnds   = "<!-- end of the table -->\n"
)

// The page shows what TestAttacks holds every case to.
func TestPage(t *testing.T) {
	if !rungs.Plain() {
		t.Skip("the page is about the native rung")
	}
	all, err := load()
	if err != nil {
		t.Fatal(err)
	}
	rows, err := pageRows(all)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(data), tableBegins)
	was, tail, ended := strings.Cut(rest, tableEnds)
	if !ok || !ended {
		t.Fatalf("%s has no place for the table", page)
	}
	want := "| case | what is tried | live | review |\n|---|---|---|---|\n" + strings.Join(rows, "")
	if was == want {
		return
	}
	if !*update {
		t.Fatalf("the table of %s is not that of the cases: run this test with -update", page)
	}
	if err := os.WriteFile(page, []byte(head+tableBegins+want+tableEnds+tail), 0o644); err != nil {
		t.Fatal(err)
	}
}

// pageRows makes a line of every case about the workspace.
func pageRows(all []Case) ([]string, error) {
	var rows []string
	for _, c := range all {
		if !c.byViews() {
			continue
		}
		parts := c.Part
		if len(c.Want) > 0 || len(parts) == 0 {
			parts = append([]Part{{ID: c.ID, Title: c.Title, Want: c.Want}}, parts...)
		}
		for _, p := range parts {
			one := c
			one.Want, one.Part = p.Want, nil
			var words [2]string
			for i, v := range views() {
				var err error
				if words[i], err = one.words(v.name); err != nil {
					return nil, err
				}
			}
			rows = append(rows, fmt.Sprintf("| %s | %s | %s | %s |\n", p.ID, strings.ReplaceAll(p.Title, "|", `\|`), words[0], words[1]))
		}
	}
	slices.Sort(rows)
	return rows, nil
}

// words says what becomes of a case in one view.
func (c Case) words(view string) (string, error) {
	switch c.Kind {
	case kindLaunch:
		live, review, differ := strings.Cut(c.Word, "; ")
		if differ && view == "review" {
			return review, nil
		}
		return live, nil
	case kindPos:
		return wordWorks, nil
	case kindNeg, kindHost:
		return wordRefused, nil
	}
	wishes, err := c.wishes(view)
	var out []string
	for _, w := range wishes {
		if !slices.Contains(out, w.word) {
			out = append(out, w.word)
		}
	}
	if len(out) == 0 {
		out = []string{wordRefused} // it has a check alone
	}
	slices.Sort(out)
	return strings.Join(out, ", "), err
}
