package launch

import (
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/policy"
)

// A fetch is under the brakes of the project that wants the tool, and gets nothing by them.
func TestFetchIsUnderTheBrakesOfTheProject(t *testing.T) {
	read := func(text string) *policy.Policy {
		p, err := policy.Decode(strings.NewReader(text), "p.toml")
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	values := func(l policy.List) (out []string) {
		for _, r := range l {
			out = append(out, r.Value)
		}
		return out
	}
	b := &Base{}
	b.Asked.Fetch = "npm:x"
	b.Asked.Wanting = read("[supply]\ndeny = ['npm:good']\nage = '9d'\n[network]\nmode = 'none'\nallow = ['wide.test']\ndeny = ['shut.test']\n")
	if err := b.fetchRules(policy.Layers{User: read("[supply]\ndeny = ['npm:own']\n")}); err != nil {
		t.Fatal(err)
	}
	if got := values(b.Policy.Supply.Deny); !slices.Contains(got, "npm:good") || !slices.Contains(got, "npm:own") {
		t.Errorf("%q", got)
	}
	if b.Policy.Supply.Age.Text() != "9d" || !slices.Contains(values(b.Policy.Network.Deny), "shut.test") || slices.Contains(values(b.Policy.Network.Allow), "wide.test") || b.Policy.Network.Mode.Text() != "dev" {
		t.Errorf("%+v", b.Policy.Network)
	}
	if err := b.fetchRules(policy.Layers{Ceiling: read("[network]\nmode = 'none'\n")}); err == nil || !strings.Contains(err.Error(), "cannot be fetched") {
		t.Error(err)
	}
}
