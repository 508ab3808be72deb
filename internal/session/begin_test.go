package session

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/session/launch"
)

// TestGiven: what is recorded as given is what somebody gave, by whom, and never a value
// of a variable.
func TestGiven(t *testing.T) {
	flag := policy.Source{File: "flag --ro"}
	file := policy.Source{File: "/home/u/policy.toml", Line: 3}
	p := &policy.Policy{
		Files:   policy.Files{Read: policy.List{{Value: "/a", Source: flag}, {Value: "/b", Source: file}, {Value: "/c", Source: flag}}, Expose: policy.List{{Value: "~/.aws", Source: file}}},
		Env:     policy.Env{Pass: policy.List{{Value: "LANG", Source: policy.Source{File: launch.BuiltIn, Line: 2}}}, Set: []policy.Setting{{Name: "TOKEN", Value: "hunter2", Source: file}}},
		Network: policy.Network{Mode: &policy.Rule{Value: "none", Source: flag}},
	}
	got := fmt.Sprint(given(p))
	want := "[{read flag --ro [/a /c]} {read /home/u/policy.toml [/b]} {expose /home/u/policy.toml [~/.aws]} {net flag --ro [none]} {set /home/u/policy.toml [TOKEN]}]"
	if got != want || strings.Contains(got, "hunter2") {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := sourcesOf(given(p)); !slices.Equal(got, []string{"flag --ro", "/home/u/policy.toml"}) {
		t.Errorf("%q", got)
	}
}
