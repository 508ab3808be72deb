package policy

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"ringfence.dev/ringfence/internal/fault"
)

const secrets = `[broker]
secrets = ["gh", "corp", "cloud", "vault"]
model-allow = ["fetch"]
git = ["tags", "force"]
protected = ["release/*"]
repos = ["acme/tools", "acme/sub/group"]
decoys = false
sign = false

[secret.gh]
use = "github"
env = ["GITHUB_TOKEN", "GH_TOKEN"]
allow = ["POST /repos/acme/tools/issues", "GET /user/**"]
deny = ["* /gists/**"]

[secret.corp]
from = "file:~/.config/corp/key"
use = "header"
hosts = ["corp.test", "https://api.corp.test:8443"]
header = "X-Api-Key"

[secret.cloud]
from = "secret-service:service=aws,account=me"
use = "aws"
role = "arn:aws:iam::123456789012:role/dev/agent"
ttl = "15m"
region = "eu-central-1"
session-policy = '{"Version":"2012-10-17","Statement":[]}'

[secret.vault]
from = "command"
command = ["op", "read", "op://a/b", "-", "-"]
use = "npm"
publish = true
off = true
`

func TestDecodeSecrets(t *testing.T) {
	got := mustDecode(t, secrets)
	at := func(line int) Source { return Source{"p.toml", line} }
	if n := len(got.Secret); n != 4 {
		t.Fatalf("%d secrets", n)
	}
	want := Secret{Name: "vault", Source: at(30),
		From: &Rule{"command", at(31)}, Command: List{{"op", at(32)}, {"read", at(32)}, {"op://a/b", at(32)}, {"-", at(32)}, {"-", at(32)}},
		Use: &Rule{"npm", at(33)}, Publish: &Flag{true, at(34)}, Off: &Flag{true, at(35)}}
	if d := cmp.Diff(want, got.Secret[3]); d != "" {
		t.Error(d)
	}
	roundTrip(t, got)
	if problems := Check(got, CheckEnv{}); problems != nil {
		t.Error(problems)
	}
	for name, want := range map[string][2]string{"gh": {"store", ""}, "corp": {"file", "~/.config/corp/key"}, "cloud": {"secret-service", "service=aws,account=me"}, "vault": {"command", ""}} {
		if kind, arg := got.FindSecret(name).Origin(); kind != want[0] || arg != want[1] {
			t.Errorf("%s: %s %s", name, kind, arg)
		}
	}
	if on := got.SecretsOn(); len(on) != 3 {
		t.Errorf("on: %+v", on)
	}
	if got.Broker.DecoysOn() || got.Broker.SignOn() {
		t.Error("decoys or signatures are on")
	}
	inline := mustDecode(t, "secret.a.from = 'env:A'\nsecret.b = { use = 'npm', from = 'pass:x' }\n")
	if len(inline.Secret) != 2 || inline.Secret[1].Kind() != "npm" || inline.Secret[0].Source.Line != 1 {
		t.Errorf("%+v", inline.Secret)
	}
}

var secretErrors = []struct{ name, text, want, hint string }{
	{"unknown key", "[secret.a]\nhost = []\n", `p.toml:2: unknown key "host" in [secret.a]
    2 | host = []
      | ^~~~`, `did you mean "hosts"?`},
	{"far key", "[secret.a]\nvalue = 'x'\n", `p.toml:2: unknown key "value" in [secret.a]
    2 | value = 'x'
      | ^~~~~`, "[secret.NAME] knows: from, command, use, hosts, header, user, allow, deny, publish, env, role, ttl, session-policy, region, static, off"},
	{"key outside", "ttl = '15m'\n", `p.toml:1: unknown section "ttl"
    1 | ttl = '15m'
      | ^~~`, `"ttl" belongs under [secret.NAME]`},
	{"no table", "[secret]\nfrom = 'env:A'\n", `p.toml:2: "from" is a table, not a string
    2 | from = 'env:A'
      |        ^~~~~~~`, "a secret is a table of its own: [secret.NAME]"},
	{"name", "[secret.'a b']\n", `p.toml:1: [secret]: the name of a secret has 1 to 32 letters, digits, - and _, and begins with a letter or a digit
    1 | [secret.'a b']
      |         ^~~~~`, ""},
	{"deep", "[secret.a.b]\n", `p.toml:1: there are no tables beneath [secret.a]
    1 | [secret.a.b]
      |           ^`, ""},
	{"deep key", "[secret.a]\nuse.x = 'npm'\n", `p.toml:2: [secret.a] use is a string, not a table
    2 | use.x = 'npm'
      |     ^`, ""},
	{"twice", "[secret.a]\n[secret.a]\n", `p.toml:2: duplicate table "a", first written on line 1
    2 | [secret.a]
      |         ^`, ""},
	{"source", "[secret.a]\nfrom = 'vault:x'\n", `p.toml:2: [secret.a] from: "vault:x" is no source: store, env:VAR, file:PATH, pass:NAME, keyring:NAME, secret-service:ATTR=VALUE or command
    2 | from = 'vault:x'
      |        ^~~~~~~~~`, ""},
	{"use", "[secret.a]\nuse = 'gitub'\n", `p.toml:2: [secret.a] use: "gitub" is unknown here; known: anthropic, openai, gemini, github, gitlab, gitea, npm, pypi, cargo, go, maven, bearer, basic, header, aws
    2 | use = 'gitub'
      |       ^~~~~~~`, `did you mean "github"?`},
	{"host", "[secret.a]\nhosts = ['*']\n", `p.toml:2: [secret.a] hosts: "*": a star stands only at the front, before a dot: *.example.org
    2 | hosts = ['*']
      |          ^~~`, ""},
	{"hosts below", "[secret.a]\nhosts = ['*.x.test']\n", `p.toml:2: [secret.a] hosts: "*.x.test": a credential is for hosts by their whole names: name each
    2 | hosts = ['*.x.test']
      |          ^~~~~~~~~~`, ""},
	{"path of a host", "[secret.a]\nhosts = ['http://x.test/../p']\n", `p.toml:2: [secret.a] hosts: "http://x.test/../p": the path holds "..", which servers take for another path
    2 | hosts = ['http://x.test/../p']
      |          ^~~~~~~~~~~~~~~~~~~~`, ""},
	{"host twice", "[secret.a]\nhosts = ['x.test', 'X.test']\n", `p.toml:2: [secret.a] hosts: "X.test" contradicts "x.test", written on line 2
    2 | hosts = ['x.test', 'X.test']
      |                    ^~~~~~~~`, ""},
	{"request", "[secret.a]\nallow = ['/x']\n", `p.toml:2: [secret.a] allow: "/x" is no request: write METHOD /PATH, or * /PATH for all methods
    2 | allow = ['/x']
      |          ^~~~`, ""},
	{"flag", "[secret.a]\noff = 'yes'\n", `p.toml:2: [secret.a] off must be true or false, not a string
    2 | off = 'yes'
      |       ^~~~~`, ""},
	{"ttl", "[secret.a]\nttl = '2h'\n", `p.toml:2: [secret.a] ttl: "2h": credentials last from 15m to 1h
    2 | ttl = '2h'
      |       ^~~~`, ""},
	{"git", "[broker]\ngit = ['forced']\n", `p.toml:2: [broker] git: "forced" is unknown here; known: push-default, force, delete, tags, other-repos, workflows
    2 | git = ['forced']
      |        ^~~~~~~~`, `did you mean "force"?`},
	{"branch", "[broker]\nprotected = ['refs/heads/x']\n", `p.toml:2: [broker] protected: "refs/heads/x": a branch is written without refs/heads/
    2 | protected = ['refs/heads/x']
      |              ^~~~~~~~~~~~~~`, ""},
	{"repository", "[broker]\nrepos = ['acme']\n", `p.toml:2: [broker] repos: "acme" is no repository: write HOST/OWNER/NAME, or OWNER/NAME on github.com or gitlab.com
    2 | repos = ['acme']
      |          ^~~~~~`, ""},
}

func TestSecretErrors(t *testing.T) {
	for _, c := range secretErrors {
		p, err := Decode(strings.NewReader(c.text), "p.toml")
		if err == nil || p != nil || fault.KindOf(err) != fault.Usage {
			t.Errorf("%s: %+v, %v", c.name, p, err)
			continue
		}
		if d := cmp.Diff(c.want, err.Error()) + cmp.Diff(c.hint, fault.HintOf(err)); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
	var many strings.Builder
	for i := range maxSecrets + 1 {
		fmt.Fprintf(&many, "[secret.s%d]\n", i)
	}
	if _, err := Decode(strings.NewReader(many.String()), "p.toml"); err == nil || !strings.Contains(err.Error(), "at most 256 secrets") {
		t.Error(err)
	}
}

func TestSecretValues(t *testing.T) {
	for _, c := range []struct {
		key  string
		good []string
		bad  []string
	}{
		{"from", []string{"store", "command", "env:A_1", "file:/a", "file:~/a b", "pass:a/b", "keyring:a:b", "secret-service:a=b,c=d"},
			[]string{"", "store:", "command:x", "env:", "env:1", "env:A B", "file:a", "file:../a", "file:/a/../b", "file:/a*", "pass:", "pass:-x", "pass:a\nb", "keyring:", "secret-service:",
				"secret-service:a", "secret-service:a=", "secret-service:=b", "secret-service:-a=b", "secret-service:a=-b", "secret-service:a=b,", "STORE", "gh"}},
		{"hosts", []string{"x.test", "x.test:8443", "https://x.test", "http://x.test:8080", "x.test/a", "x.test/", "https://x.test:8443/repository/npm-all/", "x.test/api/v4/projects/7/packages/npm"},
			[]string{"", "*", "*.x.test", "*.test", "10.0.0.1", "tcp://x.test:1", "GET http://x.test/a", "a.*.test", "//x.test/a/", "x.test//a", "x.test/a//b", "x.test/../a", "x.test/a/.", "x.test/a%2Fb",
				"x.test/a*", "x.test/{pkg}", "x.test/a?b", "x.test/a#b", "x.test/a b", "x.test/a;b", "x.test/a\\b", "x.test/a\x00", "x.test/ä", "x.test/a\r/b", "x.test@evil.test/a", "/a", "https:///a", "x.test/" + strings.Repeat("a/", 40)}},
		{"header", []string{"X-Api-Key", "Authorization", "private-token"}, []string{"", "X Key", "X:Key", "X\r\nY", "Host", "content-LENGTH", "Transfer-Encoding", strings.Repeat("x", 65)}},
		{"user", []string{"__token__", "a b"}, []string{"", "a:b", "a\nb"}},
		{"role", []string{"arn:aws:iam::123456789012:role/x", "arn:aws-us-gov:iam::123456789012:role/a/b"},
			[]string{"", "x", "arn:aws:iam::12345678901:role/x", "arn:aws:iam::123456789012:user/x", "arn:aws:iam::123456789012:role/", "arn:aws:sts::123456789012:role/x", "arn:aws:iam::123456789012:role/x y"}},
		{"ttl", []string{"15m", "1h", "900s", "30m0s"}, []string{"", "14m", "1h1s", "-20m", "900", "900500ms"}},
		{"session-policy", []string{"{}", `{"a":[1]}`}, []string{"", "[]", "null", "{", `{"a":"` + strings.Repeat("x", 2048) + `"}`}},
		{"region", []string{"eu-central-1", "us-gov-east-1"}, []string{"", "eu", "EU-1", "-eu-1", "eu--1", "eu-", "1-a", "eu-central-1.evil.test"}},
		{"env", []string{"A"}, []string{"", "A=b", "1A"}},
	} {
		for _, v := range c.good {
			if err := Admit("secret", c.key, v); err != nil {
				t.Errorf("%s %q: %v", c.key, v, err)
			}
		}
		for _, v := range c.bad {
			if Admit("secret", c.key, v) == nil {
				t.Errorf("%s %q is admitted", c.key, v)
			}
		}
	}
	for v, ok := range map[string]bool{"main": true, "release/*": true, "v1.*": true, "*": true, "": false, "a b": false, "a..b": false, "/a": false, "a/": false, "a//b": false, "-a": false, ".a": false, "a/.b": false, "a.": false, "a@{b": false, "a\x7f": false} {
		if err := Admit("broker", "protected", v); (err == nil) != ok {
			t.Errorf("branch %q: %v", v, err)
		}
	}
	for v, ok := range map[string]bool{"a/b": true, "a/b/c": true, "a.b/c-d_e": false, "x.test/a.b/c-d_e": true, "x.test:8443/a/b/c": true, "x.test/a": false, "x.test//b": false, "10.0.0.1/a/b": false, "x.test:0/a/b": false, "*.x.test/a/b": false, "x.test/a/..": false, "git@x.test:a/b": false, "a": false, "a/": false, "/a/b": false, "a/..": false, "./b": false, "a/b.git": false, "a/-b": false, "a b/c": false, "https://a/b": false} {
		if err := Admit("broker", "repos", v); (err == nil) != ok {
			t.Errorf("repository %q: %v", v, err)
		}
	}
	for v, ok := range map[string]bool{"a": true, "A-b_1": true, strings.Repeat("a", 32): true, "": false, "-a": false, "_a": false, "a.b": false, "a/b": false, strings.Repeat("a", 33): false, "ä": false} {
		if err := CheckSecretName(v); (err == nil) != ok {
			t.Errorf("name %q: %v", v, err)
		}
	}
}

func TestRequests(t *testing.T) {
	for _, good := range []string{"GET /user", "GET,POST /user", "* /user", "GET /r/*/x", "GET /r/*", "GET /r/**", "GET /**", "* /*/**"} {
		if err := checkRequest(good); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{"", "GET", "/x", "get /x", "GET,, /x", "GET  /x", "GET x", "GET /a//b", "GET /../b", "GET /a?b", "GET /%61", "GET /a*", "GET /a/**/b", "GET /***", "GET,* /x", "GET /" + strings.Repeat("x", maxHost)} {
		if checkRequest(bad) == nil {
			t.Errorf("%q is a rule", bad)
		}
	}
}

func TestCheckSecrets(t *testing.T) {
	p := mustDecode(t, `[env]
pass = ["NPM_TOKEN"]
[secret.a]
use = "header"
hosts = ["evil.github.io", "x.test"]
[secret.b]
from = "command"
use = "github"
hosts = ["x.test"]
user = "me"
[secret.c]
command = ["x"]
use = "npm"
env = ["NPM_TOKEN"]
static = false
[secret.d]
from = "command"
command = ["./x"]
use = "npm"
env = ["NPM_TOKEN"]
[secret.e]
use = "aws"
[secret.f]
use = "basic"
[secret.g]
use = "bearer"
hosts = ["a.y.test", "y.test:80"]
[secret.h]
use = "bearer"
hosts = ["b.y.test", "https://y.test", "http://y.test"]
publish = true
[secret.off]
use = "basic"
off = true
[secret.idle]
from = "env:X"
`)
	var got []string
	for _, pr := range Check(p, CheckEnv{}) {
		got = append(got, fmt.Sprintf("%d: %s", pr.Source.Line, pr.Text))
	}
	want := []string{
		`4: [secret.a] is used as header and has no header: write header = "NAME"`,
		`6: [secret.b] has no command = ["PROGRAM", …]`,
		`10: [secret.b] has user, which means nothing to use = "github"`,
		`11: [secret.c] has a command and is from store: write from = "command"`,
		`13: [secret.c] is used as npm and has no host: write hosts = ["HOST"]`,
		`15: [secret.c] has static, which means nothing to use = "npm"`,
		`14: NPM_TOKEN is to hold what stands for the secret c, and [env] passes or sets it too`,
		`18: the program of [secret.d] is a name on PATH, or a path that begins with / or ~/`,
		`19: [secret.d] is used as npm and has no host: write hosts = ["HOST"]`,
		`20: NPM_TOKEN is to hold what stands for the secret d, and for c in p.toml:11`,
		`19: [secret.d] is used as npm, and so is [secret.c] in p.toml:11: say which hosts each is for`,
		`20: NPM_TOKEN is to hold what stands for the secret d, and [env] passes or sets it too`,
		`22: [secret.e] is used as aws and has no role: write role = "arn:aws:iam::ACCOUNT:role/NAME"`,
		`24: [secret.f] is used as basic and has no host: write hosts = ["HOST"]`,
		`24: [secret.f] is used as basic and has no user: write user = "NAME"`,
		`31: [secret.h] has publish, which means nothing to use = "bearer"`,
		`30: "http://y.test": [secret.h] and, in p.toml:27, [secret.g] are both used as bearer there`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	got = nil
	for _, pr := range Cautions(mustDecode(t, "[secret.a]\nuse='bearer'\nhosts = ['http://x.test', 'x.test:80', 'x.test']\n[secret.b]\nuse = 'aws'\nstatic = true\n")) {
		got = append(got, fmt.Sprintf("%d: %s", pr.Source.Line, pr.Text))
	}
	want = []string{`3: "http://x.test": [secret.a] travels there without TLS`, `3: "x.test:80": [secret.a] travels there without TLS`, `6: [secret.b] hands out credentials that do not end`}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// A secret whose source is shown inside is none.
func TestCheckShownSecrets(t *testing.T) {
	p := mustDecode(t, `[env]
pass = ["A", "B"]
set = { B = "x" }
[files]
read = ["~/shown"]
mask = ["~/shown/masked"]
[secret.a]
from = "env:A"
[secret.b]
from = "env:B"
[secret.c]
from = "file:~/shown/key"
[secret.d]
from = "file:/home/u/shown/masked/key"
[secret.e]
from = "file:~/w/key"
[secret.f]
from = "file:~/key"
`)
	var got []string
	for _, pr := range Check(p, CheckEnv{Home: "/home/u", Workspaces: []string{"/home/u/w"}}) {
		if strings.Contains(pr.Text, "secret") {
			got = append(got, fmt.Sprintf("%d: %s", pr.Source.Line, pr.Text))
		}
	}
	want := []string{
		`8: A is the secret a itself, and [env] passes it inside`,
		`12: "~/shown/key" is the secret c itself, and lies where the agent can see it`,
		`16: "~/w/key" is the secret e itself, and lies where the agent can see it`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

func TestMergeSecrets(t *testing.T) {
	base := "[secret.a]\nuse = 'npm'\ndeny = ['GET /x']\n[secret.b]\nuse = 'npm'\noff = true\n"
	for _, c := range []struct{ name, over, want string }{
		{"added", "[secret.c]\nuse = 'aws'\n", `[secret.a] use = "npm" deny = [ "GET /x", ]  [secret.b] use = "npm" off = true  [secret.c] use = "aws"`},
		{"replaced as a whole", "[secret.a]\nuse = 'pypi'\n", `[secret.a] use = "pypi"  [secret.b] use = "npm" off = true`},
		{"off", "[secret.a]\noff = true\n", `[secret.a] use = "npm" deny = [ "GET /x", ] off = true  [secret.b] use = "npm" off = true`},
		{"still off", "[secret.b]\nuse = 'pypi'\n", `[secret.a] use = "npm" deny = [ "GET /x", ]  [secret.b] use = "pypi" off = true`},
		{"on again", "[secret.b]\noff = false\n", `[secret.a] use = "npm" deny = [ "GET /x", ]  [secret.b] use = "npm" off = false`},
	} {
		if got := rules(t, Merge(mustDecode(t, base), mustDecode(t, c.over))); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

func TestTightenBroker(t *testing.T) {
	for _, c := range []struct{ name, base, over, want string }{
		{"names", "git = ['tags', 'force']\nrepos = ['a/b']", "git = ['force', 'delete']\nrepos = ['c/d']", `git = [ "force", ] repos = []`},
		{"branches join", "protected = ['a']", "protected = ['b']", `protected = [ "a", "b", ]`},
		{"all secrets", "", "secrets = ['a']", `secrets = [ "a", ]`},
		{"some secrets", "secrets = ['a', 'b']", "secrets = ['b', 'c']", `secrets = [ "b", ]`},
		{"no secrets", "secrets = ['a']", "secrets = []", `secrets = []`},
		{"decoys on", "decoys = false", "decoys = true", `decoys = true`},
		{"decoys stay", "decoys = true", "decoys = false", `decoys = true`},
		{"no signing", "", "sign = false", `sign = false`},
		{"signing stays off", "sign = false", "sign = true", `sign = false`},
	} {
		got := rules(t, Tighten(mustDecode(t, "[broker]\n"+c.base), mustDecode(t, "[broker]\n"+c.over)))
		if got = strings.TrimPrefix(got, "[broker] "); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

// A project's file cannot even be read when it says more than off, and a layer that
// came by another way changes nothing, trusted or not.
func TestProjectChangesNoSecret(t *testing.T) {
	dir := t.TempDir()
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(dir, ProjectFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("[secret.gh]\nhosts = ['evil.test']\n")
	_, _, err := LoadProject(dir)
	want := `.ringfence.toml:2: a project's file adds and changes no secret: it can only switch one off, by off = true
    2 | hosts = ['evil.test']
      | ^~~~~`
	if err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
	write("[secret.gh]\noff = true\n[secret.none]\noff = true\n")
	project, _, err := LoadProject(dir)
	if err != nil {
		t.Fatal(err)
	}
	user := decodeAs(t, "user.toml", "[secret.gh]\nuse = 'github'\n[secret.npm]\nuse = 'npm'\n")
	evil := decodeAs(t, ProjectFile, "[secret.gh]\nhosts = ['evil.test']\noff = false\n[secret.new]\nfrom = 'env:X'\n")
	for _, trusted := range []bool{false, true} {
		p, ignored := Resolve(Layers{User: user, Project: project, ProjectTrusted: trusted})
		if len(p.Secret) != 2 || len(p.SecretsOn()) != 1 || p.SecretsOn()[0].Name != "npm" || ignored != nil {
			t.Errorf("trusted %v: %+v, %v", trusted, p.Secret, ignored)
		}
		p, ignored = Resolve(Layers{User: user, Project: evil, ProjectTrusted: trusted})
		if d := cmp.Diff(user.Secret, p.Secret); d != "" || !trusted && len(ignored) != 3 {
			t.Errorf("trusted %v: %v\n%s", trusted, ignored, d)
		}
	}
	p, _ := Resolve(Layers{User: user, Ceiling: decodeAs(t, "etc.toml", "[secret.gh]\noff = true\nuse = 'npm'\n[broker]\nsecrets = ['gh']\n")})
	if len(p.SecretsOn()) != 0 || p.FindSecret("gh").Kind() != "github" {
		t.Errorf("%+v", p.Secret)
	}
}

// worth is what a secret is good for in a policy: nothing, or all that it says.
func worth(p *Policy, name string) string {
	for _, s := range p.SecretsOn() {
		if s.Name == name && secretTables.defines(&s) {
			s.Off = nil
			var b bytes.Buffer
			if err := Write(&b, &Policy{Secret: []Secret{s.unsourced()}}); err != nil {
				panic(err)
			}
			return b.String()
		}
	}
	return ""
}

func widerBroker(base, p *Policy) string {
	for _, name := range []string{"a", "b", "c"} {
		if got, was := worth(p, name), worth(base, name); got != "" && got != was {
			return fmt.Sprintf("secret %s is good for %q, was %q", name, got, was)
		}
	}
	b, was := &p.Broker, &base.Broker
	for _, l := range [][2]List{{b.Git, was.Git}, {b.Repos, was.Repos}, {was.Protected, b.Protected}} {
		for _, r := range l[0] {
			if !l[1].has(r.Value) {
				return "broker " + r.Value
			}
		}
	}
	for _, v := range p.ModelFeatures() {
		if !slices.Contains(base.ModelFeatures(), v) {
			return "model " + v
		}
	}
	switch {
	case !b.DecoysOn() && was.DecoysOn():
		return "no decoys"
	case b.SignOn() && !was.SignOn():
		return "signatures"
	}
	return ""
}

func drawFlag(t *rapid.T, label string) *Flag {
	return rapid.SampledFrom([]*Flag{nil, {Value: true}, {Value: false}}).Draw(t, label)
}

func drawWord(t *rapid.T, label string, words ...string) *Rule {
	if w := rapid.SampledFrom(append(words, "")).Draw(t, label); w != "" {
		return &Rule{Value: w}
	}
	return nil
}

func drawSecrets(t *rapid.T, label string) (out []Secret) {
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 3, rapid.ID[string]).Draw(t, label+" secrets") {
		out = append(out, Secret{Name: name, From: drawWord(t, label+" from", "env:A", "store"), Use: drawWord(t, label+" use", "npm", "basic"),
			Hosts: drawList(t, label+" to", rapid.SampledFrom([]string{"a.test", "b.test"})), Deny: drawList(t, label+" deny", rapid.SampledFrom([]string{"GET /a", "GET /b"})),
			Command: drawList(t, label+" command", rapid.SampledFrom([]string{"x", "y"})), Publish: drawFlag(t, label+" publish"), Off: drawFlag(t, label+" off")})
	}
	return out
}

func drawBroker(t *rapid.T, label string) Broker {
	return Broker{
		Secrets:    drawList(t, label+" usable", rapid.SampledFrom([]string{"a", "b", "c"})),
		ModelAllow: drawList(t, label+" model", rapid.SampledFrom(modelFeatures)), Git: drawList(t, label+" git", rapid.SampledFrom(gitRefusals[:3])),
		Protected: drawList(t, label+" protected", rapid.SampledFrom([]string{"a", "b"})), Repos: drawList(t, label+" repos", rapid.SampledFrom([]string{"a/b", "a/c"})),
		Decoys: drawFlag(t, label+" decoys"), Sign: drawFlag(t, label+" sign"),
	}
}

// A ceiling bounds what it names, whoever asked.
func TestCeilingBoundsSecrets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base, over := drawPolicy(t, "base", true), drawPolicy(t, "over", true)
		for _, s := range Tighten(base, over).SecretsOn() {
			if o := over.FindSecret(s.Name); o != nil && o.IsOff() || over.Broker.Secrets != nil && !over.Broker.Secrets.has(s.Name) {
				t.Fatalf("%s is on", s.Name)
			}
		}
	})
}

func TestKeepSecret(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ringfence", SecretFile)
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			s := Secret{Name: fmt.Sprintf("s%d", i), From: &Rule{Value: "env:A"}, Command: nil, Off: &Flag{Value: false}, Env: List{{Value: "A"}}}
			if err := KeepSecret(path, s); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	p, err := Load(path)
	if err != nil || len(p.Secret) != 8 {
		t.Fatalf("%+v, %v", p, err)
	}
	if err := KeepSecret(path, Secret{Name: "s3", Use: &Rule{Value: "npm"}}); err != nil {
		t.Fatal(err)
	}
	for i := range 8 {
		if i != 3 {
			if err := DropSecret(path, fmt.Sprintf("s%d", i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	data, err := os.ReadFile(path)
	if want := secretHead + "[secret.s3]\nuse = \"npm\"\n"; err != nil || string(data) != want {
		t.Errorf("%v: %q", err, data)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", st, err)
	}
	for _, bad := range []Secret{{Name: "a b"}, {Name: "a", From: &Rule{Value: "x"}}, {Name: "a", Env: List{{Value: "1"}}}, {Name: "a", Command: List{{Value: "a\nb"}}}} {
		if KeepSecret(path, bad) == nil {
			t.Errorf("%+v is kept", bad)
		}
	}
	own := "[env]\npass = ['A']\n"
	if err := os.WriteFile(path, []byte(own), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := KeepSecret(path, Secret{Name: "a"}); err == nil || !strings.Contains(err.Error(), "holds more than secrets") {
		t.Error(err)
	}
	if data, _ := os.ReadFile(path); string(data) != own {
		t.Errorf("%q", data)
	}
}
