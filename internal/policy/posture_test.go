package policy

import (
	"regexp"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestPosturesAreRead(t *testing.T) {
	level := regexp.MustCompile(`^L[0-5]$`)
	for i, p := range Postures() {
		if p.Name != postureNames[i] || p.For == "" || !level.MatchString(p.Level) || len(p.For) > 78 {
			t.Errorf("%+v", p)
		}
	}
	files, err := postureFiles.ReadDir("postures")
	if err != nil || len(files) != len(postureNames) {
		t.Errorf("%d files, %d names: %v", len(files), len(postureNames), err)
	}
	if _, err := readPosture("x", "# for: x\n# rung: lowest\n"); err == nil {
		t.Error("a word that nobody knows passes")
	}
	if PostureOf("").Name != "work" || (&Policy{}).Posture().Name != "work" {
		t.Error("the usual posture is not work")
	}
	if _, err := For("everything"); err == nil {
		t.Error("--for takes any word")
	}
}

const generous = `[files]
read = ["/srv/data"]
write = ["/srv/out"]
[network]
mode = "internet"
allow = ["api.example.org"]
host-ports = [5432]
[broker]
git = ["force"]
model-allow = ["search", "fetch", "mcp"]
[mcp.mail]
command = ["mail-server"]
[secret.gh]
use = "github"
`

// What a user allows everywhere is not there in a posture for strangers, whoever else
// says so but a flag.
func TestPostureForStrangers(t *testing.T) {
	user := mustDecode(t, generous)
	for _, name := range []string{"untrusted-repo", "untrusted-text", "paranoid"} {
		flags, err := For(name)
		if err != nil {
			t.Fatal(err)
		}
		p, _ := Resolve(Layers{User: user, Flags: flags})
		if got := p.Network.Mode.Text(); got != "locked" {
			t.Errorf("%s: mode %s", name, got)
		}
		if len(p.Network.Allow)+len(p.Network.HostPorts)+len(p.ModelFeatures())+len(p.SecretsOn())+len(p.ServersOn()) > 0 || p.Broker.ForgesOn() {
			t.Errorf("%s leaves %+v %+v %v", name, p.Network, p.Broker, p.ServersOn())
		}
		if name != "untrusted-text" && (len(p.Files.Read)+len(p.Files.Write) > 0 || !p.Distrusts() || !p.WantsHighest(false)) {
			t.Errorf("%s leaves %+v", name, p.Files)
		}
		flags.Network.Allow = List{{Value: "one.example.org"}}
		p, _ = Resolve(Layers{User: user, Flags: flags})
		if !slices.Equal(p.Network.Allow.Values(), []string{"one.example.org"}) {
			t.Errorf("%s: a flag allows %v", name, p.Network.Allow)
		}
	}
}

// What was granted before does not come back by a trusted file of the project, and what the
// user has closed stays closed.
func TestPostureHolds(t *testing.T) {
	project := mustDecode(t, "[network]\nmode = 'internet'\nallow = ['evil.example.org']\nhost-ports = [80]\n[workspace]\nview = 'live'\n[files]\nread = ['/srv/x']\n"+
		"[broker]\nmodel-allow = ['fetch', 'mcp']\n[agent]\nhistory = 'shared'\n[env]\npass = ['A']\n[env.set]\nB = 'x'\n")
	for _, name := range []string{"untrusted-repo", "untrusted-text", "autonomous", "paranoid", "ci", "research"} {
		flags, _ := For(name)
		without, _ := Resolve(Layers{Flags: flags})
		with, _ := Resolve(Layers{Flags: flags, Project: project, ProjectTrusted: true})
		if with.Agent.Shares() || width(with.Network.Mode) > width(without.Network.Mode) || with.Workspace.View.Text() != without.Workspace.View.Text() || with.ModelAllows("mcp") {
			t.Errorf("%s: a trusted project has %+v %+v", name, with.Network, with.Broker)
		}
		if name != "ci" && name != "autonomous" && len(with.Files.Read)+len(with.Network.Allow) > 0 && name != "untrusted-text" && name != "research" {
			t.Errorf("%s: %v %v", name, with.Files.Read, with.Network.Allow)
		}
		if with.PlainEnv() && (with.Env.Pass.has("A") || len(with.Env.Set) > 0) {
			t.Errorf("%s: environment %v %v", name, with.Env.Pass, with.Env.Set)
		}
		closed, _ := Resolve(Layers{User: mustDecode(t, "[network]\nmode = 'none'\n"), Flags: flags})
		if closed.Network.Mode.Text() != "none" && name != "research" {
			t.Errorf("%s opens the network to %s", name, closed.Network.Mode.Text())
		}
		gateway, _ := Resolve(Layers{User: mustDecode(t, "[secret.gw]\nuse = 'anthropic'\nhosts = ['llm.example.org']\n[secret.gh]\nuse = 'github'\n[rung]\ngvisor-network = 'host'\n"), Flags: flags})
		if on := gateway.SecretsOn(); len(on) == 0 || on[0].Name != "gw" {
			t.Errorf("%s: the model's own secret is gone: %v", name, on)
		}
		if name == "paranoid" && gateway.Rung.Network.Text() != "own" {
			t.Errorf("%s: the network stack is %q", name, gateway.Rung.Network.Text())
		}
	}
}

func TestPostureServers(t *testing.T) {
	user := mustDecode(t, "[mcp.mail]\ncommand = ['mail']\nhosts = ['mail.example.org']\n[mcp.old]\noff = true\n")
	flags, _ := For("untrusted-text")
	p, _ := Resolve(Layers{User: user, Flags: flags})
	if len(p.ServersOn()) > 0 || !p.FindServer("old").IsOff() {
		t.Errorf("%+v", p.MCP)
	}
	flags.MCP = []Server{{Name: "mail"}, {Name: "old"}}
	p, _ = Resolve(Layers{User: user, Flags: flags})
	if on := p.ServersOn(); len(on) != 1 || on[0].Name != "mail" || len(on[0].Hosts) != 1 {
		t.Errorf("%+v", on)
	}
	p, _ = Resolve(Layers{User: user, Flags: flags, Ceiling: mustDecode(t, "[project]\nfor = 'untrusted-text'\n")})
	if len(p.ServersOn()) > 0 {
		t.Errorf("under a ceiling: %+v", p.ServersOn())
	}
}

// Who is bound by the ceiling's posture trusts nothing of a project either.
func TestCeilingDistrusts(t *testing.T) {
	project := mustDecode(t, "[env]\npass = ['A']\n[rung]\nimage = 'evil'\n")
	p, _ := Resolve(Layers{User: mustDecode(t, "[rung]\nuse = 'container'\n"), Project: project, ProjectTrusted: true, Ceiling: mustDecode(t, "[project]\nfor = 'untrusted-repo'\n")})
	if p.Env.Pass.has("A") || p.Rung.Image != nil || !p.WantsHighest(true) {
		t.Errorf("%v %v", p.Env.Pass, p.Rung.Image)
	}
}

func TestPostureForResearch(t *testing.T) {
	flags, _ := For("research")
	p, _ := Resolve(Layers{User: mustDecode(t, "[files]\nread = ['/srv/data']\n[secret.gh]\nuse = 'github'\n"), Flags: flags})
	if p.Network.Mode.Text() != "internet" || len(p.Files.Read) > 0 || len(p.SecretsOn()) > 0 || p.Broker.ForgesOn() || !p.ModelAllows("fetch") {
		t.Errorf("%+v", p)
	}
}

// The posture of the user's own file holds, a flag's before it; work changes nothing.
func TestWhoNamesThePosture(t *testing.T) {
	user := mustDecode(t, "[project]\nfor = 'ci'\n")
	p, _ := Resolve(Layers{User: user})
	if p.Task() != "ci" || !p.Posture().Silent {
		t.Errorf("the user's: %s", p.Task())
	}
	flags, _ := For("research")
	if p, _ := Resolve(Layers{User: user, Flags: flags}); p.Task() != "research" {
		t.Errorf("the flag's: %s", p.Task())
	}
	plain, _ := Resolve(Layers{User: mustDecode(t, generous)})
	flags, _ = For("work")
	work, _ := Resolve(Layers{User: mustDecode(t, generous), Flags: flags})
	work.Project.For = nil
	if !sameRules(plain, work) {
		t.Error("work is not what holds without it")
	}
}

// The file of a project takes away by a posture and gives nothing, trusted or not, and
// does not lift the one that the user chose. Nor does it silence what people are told.
func TestProjectNamesPosture(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		user := drawPolicy(t, "user", false)
		user.Project.For = nil
		chosen := rapid.SampledFrom(append([]string{""}, postureNames...)).Draw(t, "chosen")
		flags, _ := For(chosen)
		project := &Policy{Project: Project{For: &Rule{Value: rapid.SampledFrom(postureNames).Draw(t, "project"), Source: Source{File: ProjectFile}}}}
		trusted := rapid.Bool().Draw(t, "trusted")
		without, _ := Resolve(Layers{User: user, Flags: flags})
		with, ignored := Resolve(Layers{User: user, Flags: flags, Project: project, ProjectTrusted: trusted})
		if w := wider(scope{}, without, with); w != "" || len(ignored) > 0 {
			t.Fatalf("wider: %s, ignored %v", w, ignored)
		}
		if with.Posture().Name != without.Posture().Name || without.Distrusts() && !with.Distrusts() {
			t.Fatalf("%s became %s", without.Task(), with.Task())
		}
		if n := len(with.ServersOn()); n > len(without.ServersOn()) {
			t.Fatalf("%d servers", n)
		}
	})
}

// The ceiling's posture bounds flags too.
func TestCeilingNamesPosture(t *testing.T) {
	flags, _ := For("research")
	flags.Network.Allow = List{{Value: "one.example.org"}}
	p, _ := Resolve(Layers{Flags: flags, Ceiling: mustDecode(t, "[project]\nfor = 'untrusted-text'\n")})
	if p.Network.Mode.Text() != "locked" || len(p.Network.Allow)+len(p.ModelFeatures()) > 0 || p.Task() != "research and untrusted-text (p.toml:2)" {
		t.Errorf("%s: %+v", p.Task(), p.Network)
	}
}
