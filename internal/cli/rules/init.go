package rules

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/session"
)

// markers are files by which a project tells which registries it needs.
var markers = []struct{ group, what, names string }{
	{"go", "Go", "go.mod go.work"},
	{"npm", "JavaScript", "package.json deno.json deno.jsonc bun.lockb"},
	{"python", "Python", "pyproject.toml setup.py setup.cfg requirements.txt Pipfile uv.lock"},
	{"rust", "Rust", "Cargo.toml"},
	{"java", "Java", "pom.xml build.gradle build.gradle.kts settings.gradle build.sbt"},
	{"ruby", "Ruby", "Gemfile"},
	{"php", "PHP", "composer.json"},
	{"dotnet", ".NET", "global.json Directory.Build.props *.csproj *.fsproj *.sln"},
	{"haskell", "Haskell", "stack.yaml cabal.project *.cabal"},
	{"elixir", "Elixir", "mix.exs"},
	{"dart", "Dart", "pubspec.yaml"},
	{"swift", "Swift", "Package.swift Podfile"},
	{"nix", "Nix", "flake.nix default.nix"},
	{"conda", "Conda", "environment.yml"},
	{"perl", "Perl", "cpanfile Makefile.PL"},
	{"containers", "containers", "Dockerfile compose.yaml docker-compose.yml"},
}

// forges are the groups by which a remote is known.
var forges = map[string]string{"github.com": "github", "gitlab.com": "gitlab", "bitbucket.org": "bitbucket", "codeberg.org": "codeberg", "git.sr.ht": "sourcehut"}

// maxLooked bounds how much of a project is looked at.
const maxLooked = 512

// Init writes a first policy: for the project what it does not need, and for the
// user a file to begin with. It never writes over one.
func Init() *command.Command {
	cmd := &command.Command{Name: "init", Args: "[flags]", Short: "write a first policy for this project",
		Long:     "Looks at the project (languages, remotes, settings of agents) and writes a small\n.ringfence.toml for it. A project's file takes away; what would add something belongs\ninto your own policy, and is said. Nothing is written over, nothing is asked of a network.",
		Examples: []string{"ringfence init", "ringfence init --global"}}
	f := &cmd.Flags
	global := f.Bool("global", false, "write your own policy instead, with nothing in it but explanations")
	yes := f.Bool("yes", false, "write without asking")
	cmd.Run = func(c *command.Console, args []string) (int, error) {
		if *global {
			dirs, err := c.Dirs()
			if err != nil {
				return 2, err
			}
			return writeFirst(c, filepath.Join(dirs.Config, "policy.toml"), globalText, false, *yes, nil)
		}
		s, err := lookHere(c)
		if err != nil {
			return 2, err
		}
		p := project{dir: s.ProjectDir(), groups: s.Policy.GroupsOn()}
		p.look(s)
		return writeFirst(c, filepath.Join(p.dir, policy.ProjectFile), p.text(), true, *yes, p.hints())
	}
	return cmd
}

// writeFirst shows the file and writes it, unless there is one.
func writeFirst(c *command.Console, file, text string, project, yes bool, hints []string) (int, error) {
	if _, err := policy.Decode(strings.NewReader(text), file); err != nil {
		return 1, err
	}
	if _, err := os.Lstat(file); err == nil {
		return 1, fault.New(fault.Refused, "ringfence policy check", "%s is there already and stays as it is", plan.Show(file))
	}
	fmt.Fprint(c.Out, text)
	if c.Person() && !yes && !c.Confirm(fmt.Sprintf("Write this into %s?", plan.Show(file)), false) {
		return 1, nil
	}
	if err := policy.Save(file, nil, []byte(text), project); err != nil {
		return 1, fault.New(fault.Failed, "", "write %s: %w", plan.Show(file), err)
	}
	c.Say("wrote %s", plan.Show(file))
	for _, h := range hints {
		c.Say("hint: %s", h)
	}
	return 0, nil
}

// project is what init sees of one.
type project struct {
	dir       string
	groups    []policy.GroupState
	languages []string // groups
	forges    []string // groups
	agents    []string // settings that are there
}

func (p *project) look(s *session.Session) {
	names := p.names()
	for _, m := range markers {
		if slices.ContainsFunc(strings.Fields(m.names), func(pattern string) bool {
			return slices.ContainsFunc(names, func(n string) bool { ok, _ := filepath.Match(pattern, n); return ok })
		}) {
			p.languages = append(p.languages, m.group)
		}
	}
	p.remotes(s)
	for _, n := range []string{".claude/settings.json", ".claude/settings.local.json", ".codex/config.toml", ".srt-settings.json"} {
		if st, err := os.Lstat(filepath.Join(p.dir, n)); err == nil && st.Mode().IsRegular() {
			p.agents = append(p.agents, n)
		}
	}
}

// remotes finds the forges that the repository names. One that cannot be read names none.
func (p *project) remotes(s *session.Session) {
	if s.Repo == nil {
		return
	}
	all, err := s.Repo.Remotes()
	if err != nil {
		return
	}
	for _, m := range all {
		if g := forges[m.Host]; g != "" && !slices.Contains(p.forges, g) {
			p.forges = append(p.forges, g)
		}
	}
	slices.Sort(p.forges)
}

// names lists what lies in the project and in the directories right below it.
func (p *project) names() (out []string) {
	read := func(dir string) []os.DirEntry {
		f, err := os.Open(dir)
		if err != nil {
			return nil
		}
		defer f.Close()
		list, _ := f.ReadDir(maxLooked)
		return list
	}
	for _, e := range read(p.dir) {
		out = append(out, e.Name())
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") || e.Name() == "node_modules" || e.Name() == "vendor" {
			continue
		}
		for _, below := range read(filepath.Join(p.dir, e.Name())) {
			if len(out) > 16*maxLooked {
				return out
			}
			out = append(out, below.Name())
		}
	}
	return out
}

// text is the file: it only takes away, so it holds without trust.
func (p *project) text() string {
	var b bytes.Buffer
	b.WriteString("# What ringfence gives in this project. This file only takes away: what it would\n# add holds after `ringfence trust`. `ringfence policy show` prints all that holds.\n")
	off := p.unneeded()
	if len(off) > 0 {
		fmt.Fprintf(&b, "\n[network]\n# Registries that nothing here needs (found: %s).\ngroups = [\n", p.found())
		for _, g := range off {
			fmt.Fprintf(&b, "  \"-%s\",\n", g)
		}
		b.WriteString("]\n")
	} else {
		b.WriteString("\n# [network]\n# groups = [\"-npm\"]      # switches a group off; `ringfence policy groups` lists them\n")
	}
	b.WriteString(`
# [workspace]
# view = "review"          # changes wait until they are applied
# [files]
# mask = ["private"]       # hides a path of the workspace
# [broker]
# protected = ["release/*"] # branches that are not pushed to
`)
	return b.String()
}

// unneeded are the groups of languages that are on and that the project shows no sign
// of. Where it shows none at all, nothing is taken away.
func (p *project) unneeded() (out []string) {
	if len(p.languages) == 0 {
		return nil
	}
	for _, m := range markers {
		on := slices.ContainsFunc(p.groups, func(g policy.GroupState) bool { return g.Name == m.group && g.On && !g.Deny })
		if on && !slices.Contains(p.languages, m.group) {
			out = append(out, m.group)
		}
	}
	return out
}

func (p *project) found() string {
	var out []string
	for _, m := range markers {
		if slices.Contains(p.languages, m.group) {
			out = append(out, m.what)
		}
	}
	return strings.Join(out, ", ")
}

// hints are what the project's file cannot say, and what to do next.
func (p *project) hints() (out []string) {
	for _, g := range slices.Concat(p.languages, p.forges) {
		if slices.ContainsFunc(p.groups, func(s policy.GroupState) bool { return s.Name == g && !s.On }) {
			out = append(out, fmt.Sprintf("this project uses %s, which is off: --net +%[1]s, or \"+%[1]s\" in [network] groups of your own policy", g))
		}
	}
	for _, a := range p.agents {
		tool := "--claude"
		switch {
		case strings.HasPrefix(a, ".codex"):
			tool = "--codex"
		case strings.HasPrefix(a, ".srt"):
			tool = "--srt"
		}
		out = append(out, fmt.Sprintf("ringfence policy import %s --from %s", tool, a))
	}
	return append(out, "ringfence policy check", "ringfence learn -- CMD finds out what a command needs")
}

// globalText is the user's own policy before there is anything in it.
//
//go:embed first.toml
var globalText string
