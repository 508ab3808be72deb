package hostexec

import (
	"strings"
	"testing"
)

// What a push is refused for is what a review ranks: one list, of which nothing is
// plain source.
func TestPushedIsRanked(t *testing.T) {
	p, err := OnPush()
	if err != nil {
		t.Fatal(err)
	}
	rules, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	whole := map[string]bool{}
	for _, row := range rules.Table() {
		whole[strings.Trim(row.Pattern, "/")] = strings.HasSuffix(row.Pattern, "/")
	}
	for _, known := range p.paths {
		path := known.text
		sample := strings.ReplaceAll(path, "*", "x")
		if whole[path] {
			sample += "/x.yml"
		}
		v := rules.Judge(sample, false)
		if v.Rank == Source || v.Who != "CI" {
			t.Errorf("%s: a push of it is refused, and a review calls it %+v", sample, v)
		}
		first, second, _ := strings.Cut(strings.ReplaceAll(path, "*", "x"), "/")
		if len(p.Runs(first, second, false)) == 0 || !p.Part(first) || second != "" && (!p.Leads(first) || !p.Part(second)) {
			t.Errorf("%s is not found in a push", path)
		}
	}
	for _, plain := range []string{"README", "main.go", ".github", "src", "Jenkins", "x.yml", "workflows"} {
		if got := p.Runs(plain, "", true); len(got) > 0 {
			t.Errorf("%s runs: %q", plain, got)
		}
	}
	if got := p.Runs(".github", "", false); len(got) != 2 {
		t.Errorf("a link in the place of .github: %q", got)
	}
	if got := p.Runs(".github", "CODEOWNERS", false); len(got) > 0 {
		t.Errorf(".github/CODEOWNERS runs: %q", got)
	}
}
