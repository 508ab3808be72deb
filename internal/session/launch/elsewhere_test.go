package launch

import (
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/policy"
)

// No flag and no file shows a credential to another machine.
func TestNoCredential(t *testing.T) {
	one := policy.List{{Value: "x"}}
	for name, b := range map[string]*Base{
		"expose":      {Law: Law{Policy: &policy.Policy{Files: policy.Files{Expose: one}}}},
		"reveal":      {Law: Law{Policy: &policy.Policy{Workspace: policy.Workspace{Reveal: one}}}},
		"force":       {Law: Law{Policy: &policy.Policy{Env: policy.Env{Force: one}}}},
		"set":         {Law: Law{Policy: &policy.Policy{Env: policy.Env{Set: []policy.Setting{{Name: "GITHUB_TOKEN", Value: "ghp_x"}}}}}},
		"--force-env": {Law: Law{Policy: &policy.Policy{}}, Person: Person{Asked: Options{ForceEnv: []string{"X"}}}},
		"--env":       {Law: Law{Policy: &policy.Policy{}}, Person: Person{Asked: Options{Env: []string{"GITHUB_TOKEN=ghp_x"}}}},
	} {
		if err := b.noCredential(); err == nil || !strings.Contains(err.Error(), "no credential is sent") {
			t.Errorf("%s: %v", name, err)
		}
	}
	plain := &Base{Law: Law{Policy: &policy.Policy{Env: policy.Env{Set: []policy.Setting{{Name: "EDITOR", Value: "vi"}}}}}}
	if err := plain.noCredential(); err != nil {
		t.Error(err)
	}
}
func TestSecretSetting(t *testing.T) {
	for v, want := range map[[2]string]bool{
		{"CONN", "postgres://u:p@h/db"}: true, {"CONN", "postgres://u@h/db"}: false, {"CONN", "https://h/a:b@c"}: false,
		{"API_TOKEN", "abc"}: true, {"API_TOKEN", ""}: false, {"MODE", "a:b@c"}: false,
	} {
		if secretSetting(v[0], v[1]) != want {
			t.Errorf("%q: %v", v, !want)
		}
	}
}
