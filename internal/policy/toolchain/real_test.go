package toolchain

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/tier"
)

// manager is a package manager at a version, and what it can be told.
type manager struct {
	tool    string
	aged    bool     // waits a day by itself
	exempts bool     // and exemptions from it
	allows  bool     // and to run the scripts of some packages
	rebuild []string // what runs the scripts of hook in spite of all; nil: nothing
	loose   []string // environment: the tool's own brakes are off
	project string   // a file of the project that asks for the opposite
	asks    string
}

var unlocked = "packages: [\".\"]\nminimumReleaseAge: 0\nignoreScripts: false\nallowBuilds:\n  hook: true\n  claw: true\n"

var managers = []manager{
	{tool: "npm", rebuild: []string{"rebuild", "hook", "--ignore-scripts=false"},
		project: ".npmrc", asks: "before=2099-01-01\nignore-scripts=false\n"},
	{tool: "npm-10", rebuild: []string{"rebuild", "hook", "--ignore-scripts=false"},
		project: ".npmrc", asks: "before=2099-01-01\nignore-scripts=false\n"},
	{tool: "npm-11.5", project: ".npmrc", asks: "before=2099-01-01\nignore-scripts=false\n"},
	{tool: "pnpm-9", rebuild: []string{"rebuild", "hook"}, project: ".npmrc", asks: "ignore-scripts=false\n"},
	{tool: "pnpm-10", rebuild: []string{"rebuild", "hook"}, loose: []string{"npm_config_dangerously_allow_all_builds=true"}},
	{tool: "pnpm-12", aged: true, exempts: true, allows: true,
		loose:   []string{"pnpm_config_minimum_release_age=0", "pnpm_config_dangerously_allow_all_builds=true"},
		project: "pnpm-workspace.yaml", asks: unlocked},
	{tool: "yarn-1"},
	{tool: "yarn-3", project: ".yarnrc.yml", asks: "enableScripts: true\n"},
	{tool: "yarn-4", aged: true, exempts: true, loose: []string{"YARN_NPM_MINIMAL_AGE_GATE=0", "YARN_ENABLE_SCRIPTS=true"},
		project: ".yarnrc.yml", asks: "enableScripts: true\n"},
}

func (m manager) add(names ...string) []string {
	verb := "add"
	if strings.HasPrefix(m.tool, "npm") {
		verb = "install"
	}
	return append([]string{verb}, names...)
}

// old is the version that the tool takes of a package with a young one.
func (m manager) old() string {
	if m.aged {
		return "1.0.0"
	}
	return "1.1.0"
}

func TestReal(t *testing.T) {
	reg := registry(t)
	for _, m := range managers {
		t.Run(m.tool, func(t *testing.T) {
			t.Parallel()
			t.Run("control", func(t *testing.T) { m.control(newProject(t, m.tool, reg)) })
			t.Run("braked", func(t *testing.T) { m.braked(newProject(t, m.tool, reg)) })
			t.Run("allowed", func(t *testing.T) { m.allowed(newProject(t, m.tool, reg)) })
			if tier.All() { // else only what the brakes themselves have locked
				t.Run("locked", func(t *testing.T) { m.locked(newProject(t, m.tool, reg)) })
			}
			if m.project != "" {
				t.Run("loosened", func(t *testing.T) { m.loosened(newProject(t, m.tool, reg)) })
			}
		})
	}
}

// control: without the settings the young version comes and the script runs.
func (m manager) control(p *project) {
	p.must(m.loose, m.add("lib", "young", "hook")...)
	if p.version("lib") != "1.1.0" || p.version("young") != "1.0.0" || !p.ran("hook") {
		p.t.Errorf("lib %q, young %q, ran %v", p.version("lib"), p.version("young"), p.ran("hook"))
	}
}

// braked: neither happens, and the tool has nothing to complain of; nor when it installs
// again what it has locked.
func (m manager) braked(p *project) {
	env := p.brake(SupplyRules{Age: threeDays})
	m.quiet(p.t, p.must(env, m.add("lib", "@corp/lib", "hook")...))
	if p.version("lib") != m.old() || p.version("@corp/lib") != m.old() || p.ran("hook") {
		p.t.Errorf("lib %q, @corp/lib %q, ran %v", p.version("lib"), p.version("@corp/lib"), p.ran("hook"))
	}
	m.again(p, env, m.old())
	if p.ran("hook") {
		p.t.Error("the script of what is locked ran")
	}
	if said, err := p.run(env, m.add("young")...); (err != nil) != m.aged {
		p.t.Errorf("young: %v\n%s", err, said)
	}
	if said := p.must(env, "--version"); !onlyVersion.MatchString(said) {
		p.t.Errorf("--version: %q", said)
	}
}

var onlyVersion = regexp.MustCompile(`^\d+\.\d+\.\d+\n$`)

// quiet fails where the tool does not know a setting.
func (m manager) quiet(t *testing.T, said string) {
	t.Helper()
	for _, word := range []string{"Unknown", "Unrecognized", "unknown", "cannot be set"} {
		if strings.Contains(said, word) {
			t.Error(said)
		}
	}
}

// allowed: the exempt are without brakes, nobody else is.
func (m manager) allowed(p *project) {
	env := p.brake(SupplyRules{Age: threeDays, Allow: []string{"npm:@corp/*", "npm:hook"}})
	said := p.must(env, m.add("lib", "@corp/lib", "hook", "claw")...)
	if m.tool != "npm-11.5" { // which warns of the exemptions, as the notes say
		m.quiet(p.t, said)
	}
	corp := m.old()
	if m.exempts {
		corp = "1.1.0"
	}
	if p.version("lib") != m.old() || p.version("@corp/lib") != corp || p.ran("hook") != m.allows {
		p.t.Errorf("lib %q, @corp/lib %q, ran %v\n%s", p.version("lib"), p.version("@corp/lib"), p.ran("hook"), said)
	}
	if m.rebuild != nil {
		if said := p.must(env, m.rebuild...); !p.ran("hook") {
			p.t.Error("after the rebuild the script has not run:\n", said)
		}
	}
	if p.ran("claw") {
		p.t.Error("the script of another package ran")
	}
}

// locked: what the lock file names is installed, if it is old enough for the tool.
func (m manager) locked(p *project) {
	p.must(m.loose, m.add("lib@1.0.0", "@corp/lib@1.0.0")...)
	m.again(p, p.brake(SupplyRules{Age: threeDays}), "1.0.0")
}

// again installs what the lock file names, and expects a version of both libraries.
func (m manager) again(p *project, env []string, want string) {
	p.t.Helper()
	if err := os.RemoveAll(filepath.Join(p.dir, "node_modules")); err != nil {
		p.t.Fatal(err)
	}
	install := []string{"install", "--frozen-lockfile"}
	if strings.HasPrefix(m.tool, "npm") {
		install = []string{"ci"}
	}
	m.quiet(p.t, p.must(env, install...))
	if p.version("lib") != want || p.version("@corp/lib") != want {
		p.t.Errorf("locked: lib %q, @corp/lib %q", p.version("lib"), p.version("@corp/lib"))
	}
}

// loosened: a file of the project does not take the brakes off where the notes
// do not say so.
func (m manager) loosened(p *project) {
	p.write(filepath.Join(p.dir, m.project), m.asks)
	p.must(p.brake(SupplyRules{Age: threeDays}), m.add("lib", "hook")...)
	if p.version("lib") != m.old() || p.ran("hook") {
		p.t.Errorf("lib %q, ran %v", p.version("lib"), p.ran("hook"))
	}
}
