package command

import (
	"strconv"
	"strings"
	"testing"
)

func TestSuggest(t *testing.T) {
	words := []string{"run", "rm", "policy", "grant", "--json", "--yes"}
	for typed, want := range map[string]string{
		"polciy": "policy", "polic": "policy", "grnat": "grant", "runn": "run", "--jsno": "--json", "--yess": "--yes",
		"frobnicate": "", "": "", "x": "", strings.Repeat("policy", 1000): "",
	} {
		got := Suggest(typed, words)
		if want == "" && got != "" || want != "" && !strings.Contains(got, strconv.Quote(want)) {
			t.Errorf("%q: %q", typed, got)
		}
	}
}
