package toolchain

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var noon = time.Date(2026, 3, 10, 12, 30, 15, 5, time.FixedZone("", 3600))

const threeDays = 72 * time.Hour

var shelled = situation{SupplyRules: SupplyRules{Shell: "/d/s"}}

func TestSettings(t *testing.T) {
	tests := []struct {
		name  string
		o     SupplyRules
		env   map[string]string
		files map[string]string
	}{
		{"off", SupplyRules{Scripts: true, Now: noon, Allow: []string{"lib"}}, map[string]string{}, map[string]string{}},
		{"age", SupplyRules{Age: threeDays, Scripts: true, Now: noon}, map[string]string{}, map[string]string{}},
		{"no door", SupplyRules{Age: threeDays, Scripts: true, Now: noon, NoDoor: true}, map[string]string{
			"npm_config_before": "2026-03-07T11:30:15Z", "pnpm_config_minimum_release_age": "4320",
			"PIP_UPLOADED_PRIOR_TO": "2026-03-07T11:30:15Z", "UV_EXCLUDE_NEWER": "2026-03-07T00:00:00Z",
		}, map[string]string{
			"~/.config/pnpm/rc": "minimum-release-age=4320\n", "~/.yarnrc.yml": "npmMinimalAgeGate: 4320\n",
			"~/.bunfig.toml": "[install]\nminimumReleaseAge = 259200\n",
		}},
		{"scripts", SupplyRules{Now: noon, ConfigHome: "/c/", Shell: "/d/s"}, map[string]string{
			"npm_config_script_shell": "/d/s", "pnpm_config_script_shell": "/d/s", "pnpm_config_strict_dep_builds": "false", "YARN_ENABLE_SCRIPTS": "false", "PIP_ONLY_BINARY": ":all:",
		}, map[string]string{"~/.yarnrc": "ignore-scripts true\nyarn-path \"/d/yarn-1.cjs\"\n", "/d/s": situation{}.shell(), "/d/yarn-1.cjs": shelled.again(), "/c/.bunfig.toml": "[install]\nignoreScripts = true\n"}},
		{"allow", SupplyRules{Age: 90*time.Second + 1, Now: noon, NoBuild: true, Allow: []string{"npm:hook", "npm:@corp/*", "pypi:A_b", "hook"}}, map[string]string{
			"pnpm_config_minimum_release_age_exclude": `["@corp/*","hook"]`,
			"pnpm_config_allow_builds":                `{"hook":true}`, "pnpm_config_strict_dep_builds": "false", "YARN_ENABLE_SCRIPTS": "false",
			"PIP_ONLY_BINARY": ":all:",
			"UV_NO_BUILD":     "1", "UV_NO_BINARY_PACKAGE": "a-b hook",
		}, map[string]string{
			"~/.config/pnpm/rc": "only-built-dependencies[]=hook\n",
			"~/.yarnrc.yml":     "npmPreapprovedPackages: [\"@corp/*\",\"hook\"]\n", "~/.yarnrc": "ignore-scripts true\n",
			"~/.bunfig.toml": "[install]\nignoreScripts = true\n",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			env, files, _ := Supply(tt.o)
			gotEnv, gotFiles := map[string]string{}, map[string]string{}
			for _, s := range env {
				gotEnv[s.Name] = s.Value
			}
			for _, f := range files {
				gotFiles[f.Path] = string(f.Data)
			}
			if d := cmp.Diff(tt.env, gotEnv) + cmp.Diff(tt.files, gotFiles); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestNotes(t *testing.T) {
	tests := []struct {
		name      string
		o         SupplyRules
		has, lack []string
	}{
		{"off", SupplyRules{Scripts: true, Allow: []string{"lib"}}, nil, []string{""}},
		{"age", SupplyRules{Age: threeDays, Scripts: true, NoDoor: true}, []string{"pip 26.0", "uv.lock"}, []string{"bun: install scripts", "wait a day", "exempt"}},
		{"short", SupplyRules{Age: time.Hour}, []string{"wait a day"}, nil},
		{"scripts", SupplyRules{}, []string{"bun: install scripts", "UV_NO_BUILD would"}, []string{"uv.lock", "rebuild"}},
		{"allow", SupplyRules{Age: threeDays, NoDoor: true, Allow: []string{"npm:@corp/*", "pypi:lib", "npm:hook"}}, []string{
			"pip install --only-binary=:none: lib", "lib=20",
		}, []string{"rebuild @corp"}},
		{"bad", SupplyRules{Scripts: true, Allow: []string{"npm:a b"}}, []string{`allow "npm:a b": not the name of a package; it exempts nothing`}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, notes := Supply(tt.o)
			all := strings.Join(notes, "\n")
			for _, want := range tt.has {
				if !strings.Contains(all, want) {
					t.Errorf("no %q in\n%s", want, all)
				}
			}
			for _, not := range tt.lack {
				if slices.ContainsFunc(notes, func(n string) bool { return strings.Contains(n, not) }) {
					t.Errorf("%q in\n%s", not, all)
				}
			}
		})
	}
}

func TestParseAllow(t *testing.T) {
	for s, want := range map[string]Exempt{
		"npm:left-pad":                    {NPM: "left-pad"},
		"npm:@scope/*":                    {NPM: "@scope/*"},
		"npm:@scope/a.b_c":                {NPM: "@scope/a.b_c"},
		"@scope/name":                     {NPM: "@scope/name"},
		"pypi:Zope._-Name":                {PyPI: "zope-name"},
		"requests":                        {NPM: "requests", PyPI: "requests"},
		"Flask":                           {PyPI: "flask"},
		"npm:" + strings.Repeat("a", 214): {NPM: strings.Repeat("a", 214)},
	} {
		if got, err := ParseAllow(s); err != nil || got != want {
			t.Errorf("%q: %+v, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "npm:", "pypi:", ":a", "*", "npm:*", "npm:a*", "npm:@*/a", "npm:@s/a*", "npm:@s/", "npm:@/a", "npm:-rf", "npm:.a", "npm:A", "npm:a/b",
		"npm:a@1", "npm:a,b", "npm:a b", "npm:a\n", "npm:a=b", "npm:\"", "npm:npm:a", "NPM:a", "gem:a", "pypi:a-", "pypi:@s/a", "pypi:a[x]", "pypi:a;b", "npm:é", "npm:a\x00",
		"npm:" + strings.Repeat("a", 215)} {
		if got, err := ParseAllow(s); err == nil {
			t.Errorf("%q: %+v", s, got)
		}
	}
}

var tame = regexp.MustCompile(`^(@[a-z0-9][a-z0-9._-]*/(\*|[a-z0-9][a-z0-9._-]*)|[a-z0-9][a-z0-9._-]*)$`)

// FuzzParseAllow: what is accepted is a tame name, means the same when it is read
// again, and stays one value in every setting that it is written into.
func FuzzParseAllow(f *testing.F) {
	for _, s := range []string{"npm:left-pad", "npm:@scope/*", "pypi:Zope._-Name", "requests", "npm:a\nignore-scripts=false", `npm:a","*`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		e, err := ParseAllow(s)
		if err != nil {
			return
		}
		for prefix, name := range map[string]string{"npm:": e.NPM, "pypi:": e.PyPI} {
			if name == "" {
				continue
			}
			if again, err := ParseAllow(prefix + name); err != nil || again.NPM+again.PyPI != name || !tame.MatchString(name) {
				t.Errorf("%q: %q: %+v, %v", s, name, again, err)
			}
		}
		env, files, _ := Supply(SupplyRules{Age: threeDays, Allow: []string{s}, Now: noon})
		for _, v := range env {
			var list []string
			if v.Name == "pnpm_config_minimum_release_age_exclude" && (json.Unmarshal([]byte(v.Value), &list) != nil || !slices.Equal(list, []string{e.NPM})) {
				t.Errorf("%q: %s=%s", s, v.Name, v.Value)
			}
		}
		for _, v := range files {
			if n := strings.Count(string(v.Data), "\n"); n > 4 {
				t.Errorf("%q: %s: %q", s, v.Path, v.Data)
			}
		}
	})
}
