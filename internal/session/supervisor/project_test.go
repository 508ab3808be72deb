package supervisor

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/session"
	"ringfence.dev/ringfence/internal/session/launch"
)

var projectSeeds = flag.Uint64("project-seeds", 24, "how many random policies TestProjectFileOpensNothing tries")

// Where requests go: hosts of secrets, a forge, common hosts, models, and strangers.
var pool = []string{"api.corp.test", "files.corp.test", "lab.test", "github.com", "api.github.com", "pypi.org", "api.anthropic.com", "gateway.test", "stranger.test", "sts.us-east-1.amazonaws.com"}

// dice makes random policies. The same seed makes the same.
type dice struct{ *rand.Rand }

func (d dice) one(of ...string) string { return of[d.IntN(len(of))] }
func (d dice) maybe() bool             { return d.IntN(2) == 0 }

// some is a list of TOML.
func (d dice) some(of ...string) string {
	var out []string
	for _, v := range of {
		if d.maybe() {
			out = append(out, fmt.Sprintf("%q", v))
		}
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// section writes some of the lines.
func (d dice) section(name string, lines ...string) string {
	out := "[" + name + "]\n"
	for _, l := range lines {
		if d.maybe() {
			out += l + "\n"
		}
	}
	return out
}

var secretTables = []string{
	"[secret.corp]\nuse = \"bearer\"\nfrom = \"env:CORP\"\nhosts = [\"api.corp.test\"]\nenv = [\"PH_CORP\"]\n",
	"[secret.head]\nuse = \"header\"\nheader = \"X-Api-Key\"\nfrom = \"env:HEAD_KEY\"\nhosts = [\"files.corp.test\"]\nenv = [\"PH_HEAD\"]\n",
	"[secret.lab]\nuse = \"gitlab\"\nfrom = \"env:LAB\"\nhosts = [\"lab.test\"]\n",
	"[secret.gh]\nuse = \"github\"\nfrom = \"env:GHT\"\n",
	"[secret.key]\nuse = \"anthropic\"\nfrom = \"env:KEY\"\nhosts = [\"gateway.test\"]\n",
	"[secret.plain]\nuse = \"anthropic\"\nfrom = \"env:PLAIN\"\n",
	"[secret.cloud]\nuse = \"aws\"\nfrom = \"env:AWSKEY\"\nrole = \"arn:aws:iam::123456789012:role/x\"\n",
	"[secret.twin]\nuse = \"basic\"\nuser = \"me\"\nfrom = \"env:TWIN\"\nhosts = [\"api.corp.test\"]\n",
}

var secretNames = []string{"corp", "head", "lab", "gh", "key", "plain", "cloud", "twin"}

func (d dice) user() string {
	out := d.section("network", fmt.Sprintf("mode = %q", d.one("locked", "dev", "dev", "internet")), "allow = "+d.some(pool...), "deny = "+d.some("stranger.test", "lab.test"),
		"groups = "+d.some("-github", "+python"))
	out += d.section("broker", "secrets = "+d.some(secretNames...), "open = "+d.some("POST pypi.org/x", "* github.com/**"), "repos = "+d.some("bob/other"), "git = "+d.some("other-repos"))
	for _, t := range secretTables {
		switch d.IntN(8) {
		case 0, 1, 2:
			out += t
		case 3:
			out += t + "off = true\n"
		}
	}
	return out
}

func (d dice) project() string {
	out := d.section("network", fmt.Sprintf("mode = %q", d.one("none", "locked", "dev", "internet")), "allow = "+d.some(pool...), "deny = "+d.some("stranger.test", "gateway.test"),
		"groups = "+d.some("-github", d.one("+python", "-python")))
	out += d.section("broker", "secrets = "+d.some(secretNames...), "open = "+d.some("POST pypi.org/x", "POST api.github.com/x", "* lab.test/**"), "repos = "+d.some("bob/other"), "git = "+d.some("other-repos"))
	for _, name := range secretNames {
		if d.maybe() {
			out += fmt.Sprintf("[secret.%s]\noff = %v\n", name, d.IntN(4) != 0)
		}
	}
	return out
}

// requests are what a session may try.
func requests() (out []asking) {
	own := map[string]string{"Authorization": "Bearer " + ownMark}
	for _, h := range pool {
		out = append(out, asking{host: h, method: "GET", path: "/x"}, asking{host: h, method: "POST", path: "/x"}, asking{host: h, method: "POST", path: "/x", header: own},
			asking{host: h, method: "GET", path: "/x", header: own}, asking{host: h, method: "GET", path: "/x", clear: true},
			asking{host: h, method: "GET", path: "/alice/work.git/info/refs?service=git-upload-pack"}, asking{host: h, method: "GET", path: "/bob/other.git/info/refs?service=git-upload-pack"})
	}
	for _, v := range []string{"PH_CORP", "PH_HEAD"} {
		out = append(out, asking{host: "api.corp.test", method: "GET", path: "/x", header: map[string]string{"Authorization": "Bearer @" + v + "@"}},
			asking{host: "files.corp.test", method: "GET", path: "/x", header: map[string]string{"X-Api-Key": "@" + v + "@"}})
	}
	return append(out, asking{method: "POST", path: "/anthropic/v1/messages", header: map[string]string{"Authorization": "Bearer @ANTHROPIC_AUTH_TOKEN@"}})
}

// pass plays all requests in a session. None pass where none starts.
func (s *stand) pass() map[string][]arrival {
	s.t.Helper()
	out := map[string][]arrival{}
	p, err := s.open()
	if p != nil {
		defer p.close()
	}
	if err != nil {
		return out
	}
	for _, a := range requests() {
		out[a.String()] = p.ask(a)
	}
	return out
}

// opened lists what passes in now and did not in before: to another place, or with
// another credential than it had. To lose one is no opening.
func opened(before, now map[string][]arrival) (out []string) {
	for request, came := range now {
		for _, a := range came {
			if !slices.ContainsFunc(before[request], func(b arrival) bool {
				return a.host == b.host && a.method == b.method && a.path == b.path && (a.sent == "" || a.sent == b.sent)
			}) {
				out = append(out, fmt.Sprintf("%s\n\tarrives as %+v\n\tand before: %+v", request, a, before[request]))
			}
		}
	}
	slices.Sort(out)
	return out
}

// randomStand is the host of a seed, without a project's file.
func randomStand(t *testing.T, d dice) (s *stand, user string) {
	s = newStand(t)
	for _, name := range []string{"CORP", "HEAD_KEY", "LAB", "GHT", "KEY", "PLAIN", "AWSKEY", "TWIN"} {
		s.environ = append(s.environ, fmt.Sprintf("%s=%s-%s-0123456789abcdef", name, realMark, name))
	}
	if d.maybe() {
		s.environ = append(s.environ, "ANTHROPIC_API_KEY="+realMark+"-launcher-0123456789abcdef")
	}
	user = d.user()
	s.policy(user)
	s.git("[remote \"origin\"]\n\turl = https://" + d.one("lab.test", "github.com") + "/alice/work.git\n")
	return s, user
}

// listed is a project's file that says what a person is shown when asked to trust
// another one, and nothing else.
func listed(changes []policy.Change) string {
	lists := map[string][]string{}
	var order []string
	for _, c := range changes {
		at := c.Section + " " + c.Key
		if lists[at] == nil {
			order = append(order, at)
		}
		lists[at] = append(lists[at], fmt.Sprintf("%q", c.Value))
	}
	out := ""
	for _, at := range order {
		section, key, _ := strings.Cut(at, " ")
		if strings.HasPrefix(section, "secret.") {
			continue // which no project can do
		}
		value := "[" + strings.Join(lists[at], ", ") + "]"
		if key == "mode" {
			value = lists[at][0]
		}
		out += section + "." + key + " = " + value + "\n"
	}
	return out
}

// No file of a project makes a request pass that did not pass without it, or pass
// unjudged, or with another credential. One that is trusted opens what was shown to who
// trusted it, and nothing else.
func TestProjectFileOpensNothing(t *testing.T) {
	started, passed := 0, 0 // so that nothing is proved by sessions that do not start
	seeds := *projectSeeds
	if testing.Short() {
		seeds = min(seeds, 6)
	}
	for seed := range seeds {
		d := dice{rand.New(rand.NewPCG(seed, 13))}
		s, user := randomStand(t, d)
		before := s.pass()
		if len(before) > 0 {
			started++
		}
		for _, came := range before {
			passed += len(came)
		}
		project := d.project()
		s.project(project)
		report := func(what string, found []string) {
			if len(found) > 0 {
				t.Errorf("seed %d: %s:\n%s\n--- user\n%s--- project\n%s", seed, what, strings.Join(found, "\n"), user, project)
			}
		}
		report("a project's file opens", opened(before, s.pass()))
		theirs, _, err := policy.LoadProject(s.dir)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, project)
		}
		mine, err := session.Look(launch.Options{Dir: s.dir, Environ: s.environ, Flags: s.flags, NoProject: true})
		if err != nil {
			t.Fatal(err)
		}
		s.trusted = true
		whole := s.pass()
		s.project(listed(policy.Widens(mine.Policy, theirs)))
		shown := s.pass()
		for k, v := range before {
			shown[k] = append(shown[k], v...)
		}
		report("a trusted file opens what nobody was shown", opened(shown, whole))
	}
	if n := int(seeds); started < n/3 || passed < 10*started {
		t.Errorf("of %d sessions %d started, and %d requests passed", n, started, passed)
	}
}
