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
	allows  bool     // can be told to run the scripts of some packages
	loose   []string // environment: the tool's own brakes are off
	project string   // a file of the project that asks for the opposite
	asks    string
}

var unlocked = "packages: [\".\"]\nminimumReleaseAge: 0\nignoreScripts: false\nallowBuilds:\n  hook: true\n  claw: true\n"

var managers = []manager{
	{tool: "npm", allows: true, project: ".npmrc", asks: "before=2099-01-01\nscript-shell=/bin/sh\n"},
	{tool: "npm-10", allows: true, project: ".npmrc", asks: "before=2099-01-01\nscript-shell=/bin/sh\n"},
	{tool: "npm-11.5", allows: true, project: ".npmrc", asks: "before=2099-01-01\nscript-shell=/bin/sh\n"},
	{tool: "pnpm-9", allows: true, project: ".npmrc", asks: "script-shell=/bin/sh\n"},
	{tool: "pnpm-10", allows: true, loose: []string{"npm_config_dangerously_allow_all_builds=true"}},
	{tool: "pnpm-12", allows: true,
		loose:   []string{"pnpm_config_minimum_release_age=0", "pnpm_config_dangerously_allow_all_builds=true"},
		project: "pnpm-workspace.yaml", asks: unlocked},
	{tool: "yarn-1", allows: true},
	{tool: "yarn-3", allows: true, project: ".yarnrc.yml", asks: "enableScripts: true\n"},
	{tool: "yarn-4", allows: true, loose: []string{"YARN_NPM_MINIMAL_AGE_GATE=0", "YARN_ENABLE_SCRIPTS=true"},
		project: ".yarnrc.yml", asks: "enableScripts: true\n"},
}

func (m manager) add(names ...string) []string {
	verb := "add"
	if strings.HasPrefix(m.tool, "npm") {
		verb = "install"
	}
	return append([]string{verb}, names...)
}

func TestReal(t *testing.T) {
	reg := registry(t)
	for _, m := range managers {
		t.Run(m.tool, func(t *testing.T) {
			t.Parallel()
			t.Run("control", func(t *testing.T) { m.control(newProject(t, m.tool, reg)) })
			t.Run("braked", func(t *testing.T) { m.braked(newProject(t, m.tool, reg)) })
			t.Run("own", func(t *testing.T) { m.own(newProject(t, m.tool, reg)) })
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
	if p.ran("hook") {
		p.t.Error("a script ran")
	}
	m.again(p, env, p.version("lib"))
	if p.ran("hook") {
		p.t.Error("the script of what is locked ran")
	}
	if said := p.must(env, "--version"); !onlyVersion.MatchString(said) {
		p.t.Errorf("--version: %q", said)
	}
}

var onlyVersion = regexp.MustCompile(`^\d+\.\d+\.\d+\n$`)

// own: scripts of the project itself run, those that it is installed with and those
// around its own.
func (m manager) own(p *project) {
	mark := func(name string) string {
		return "node -e \\\"require('fs').writeFileSync(process.env.HOME+'/own-" + name + "','')\\\""
	}
	p.write(filepath.Join(p.dir, "package.json"), `{"name":"app","version":"1.0.0","license":"MIT","scripts":{"postinstall":"`+mark("postinstall")+`","pretest":"`+mark("pretest")+`","test":"`+mark("test")+`","posttest":"`+mark("posttest")+`"}}`)
	env := p.brake(SupplyRules{Age: threeDays})
	p.must(env, m.add("hook")...)
	if err := os.RemoveAll(filepath.Join(p.dir, "node_modules")); err != nil { // some do nothing where all is there
		p.t.Fatal(err)
	}
	p.must(env, "install")
	p.must(env, "run", "test")
	for _, name := range []string{"postinstall", "pretest", "test", "posttest"} {
		around := strings.HasPrefix(m.tool, "yarn-") && m.tool != "yarn-1" || strings.HasPrefix(m.tool, "pnpm") // which never run what is around a script, or only if told
		if _, err := os.Stat(filepath.Join(p.home, "own-"+name)); err != nil && !(around && (name == "pretest" || name == "posttest")) {
			p.t.Errorf("%s of the project did not run", name)
		}
	}
	if p.ran("hook") {
		p.t.Error("the script of a dependency ran")
	}
}

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
	m.quiet(p.t, said)
	if p.version("@corp/lib") != "1.1.0" || p.ran("hook") != m.allows {
		p.t.Errorf("@corp/lib %q, ran %v\n%s", p.version("@corp/lib"), p.ran("hook"), said)
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
	if p.ran("hook") {
		p.t.Error("a script ran")
	}
}
