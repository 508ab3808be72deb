package environ

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/policy/knownsecrets"
)

var (
	byUs   = policy.Source{File: "built-in"}
	byUser = policy.Source{File: "/home/u/.config/ringfence/policy.toml", Line: 7}
	byFile = policy.Source{File: "/home/u/p/.ringfence.env", Line: 2}
)

func names(source policy.Source, values ...string) policy.List {
	list := policy.List{}
	for _, v := range values {
		list = append(list, policy.Rule{Value: v, Source: source})
	}
	return list
}

func setting(source policy.Source, name, value string) policy.Setting {
	return policy.Setting{Name: name, Value: value, Source: source}
}

func TestBuild(t *testing.T) {
	launcher := []string{"TERM=xterm", "LANG=C.UTF-8", "LC_ALL=C", "HOME=/host", "PATH=/host/bin",
		"FOO=launcher", "GITHUB_TOKEN=hunter2", "LD_PRELOAD=/evil.so", "BASH_FUNC_ls%%=() { :; }"}
	base := []policy.Setting{setting(byUs, "HOME", "/home/u"), setting(byUs, "PATH", "/usr/bin"),
		setting(byUs, "GIT_CONFIG_GLOBAL", "/etc/gitconfig")}
	always := []string{"GIT_CONFIG_GLOBAL=/etc/gitconfig", "HOME=/home/u", "PATH=/usr/bin"}
	for _, c := range []struct {
		name string
		in   Input
		want []string // besides always
	}{
		{"nothing asked", Input{}, nil},
		{"built-in pass", Input{Policy: policy.Env{Pass: names(byUs, "TERM", "LC_ALL", "ABSENT", "HOME", "LD_PRELOAD")}},
			[]string{"LC_ALL=C", "TERM=xterm"}},
		{"user pass", Input{Policy: policy.Env{Pass: names(byUser, "FOO", "ABSENT")}}, []string{"FOO=launcher"}},
		{"set beats pass", Input{Policy: policy.Env{Pass: names(byUser, "FOO"), Set: []policy.Setting{setting(byUser, "FOO", "set")}}},
			[]string{"FOO=set"}},
		{"file beats policy", Input{Policy: policy.Env{Set: []policy.Setting{setting(byUser, "FOO", "set")}},
			Files: []File{{Trusted: true, Settings: []policy.Setting{setting(byFile, "FOO", "file")}}}}, []string{"FOO=file"}},
		{"untrusted file", Input{Files: []File{{Settings: []policy.Setting{setting(byFile, "FOO", "file"), setting(byFile, "LD_PRELOAD", "x")}}}}, nil},
		{"flag beats file", Input{Files: []File{{Trusted: true, Settings: []policy.Setting{setting(byFile, "FOO", "file")}}},
			Flags: []string{"FOO=flag=1", "EMPTY="}}, []string{"EMPTY=", "FOO=flag=1"}},
		{"flag passes", Input{Policy: policy.Env{Set: []policy.Setting{setting(byUser, "FOO", "set")}}, Flags: []string{"FOO", "ABSENT"}},
			[]string{"FOO=launcher"}},
		{"forced by flag", Input{Flags: []string{"GITHUB_TOKEN"}, Force: []string{"GITHUB_TOKEN"}}, []string{"GITHUB_TOKEN=hunter2"}},
		{"forcing asks", Input{Force: []string{"GITHUB_TOKEN", "ABSENT"}}, []string{"GITHUB_TOKEN=hunter2"}},
		{"forced, and in an untrusted file", Input{Force: []string{"GITHUB_TOKEN"},
			Files: []File{{Settings: []policy.Setting{setting(byFile, "GITHUB_TOKEN", "file")}}}}, []string{"GITHUB_TOKEN=hunter2"}},
		{"forced by policy, set by flag", Input{Policy: policy.Env{Force: names(byUser, "GITHUB_TOKEN")}, Flags: []string{"GITHUB_TOKEN=other"}},
			[]string{"GITHUB_TOKEN=other"}},
		{"bytes", Input{Flags: []string{"B=\xff\n\x1b"}}, []string{"B=\xff\n\x1b"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.in.Launcher, c.in.Base = launcher, base
			env, err := Build(c.in)
			if err != nil {
				t.Fatal(err)
			}
			want := slices.Sorted(slices.Values(slices.Concat(always, c.want)))
			if got := env.Environ(); !slices.Equal(got, want) {
				t.Errorf("got  %q\nwant %q", got, want)
			}
		})
	}
}

func TestUserReplacesBase(t *testing.T) {
	base := []policy.Setting{setting(byUs, "PATH", "/usr/bin"), setting(byUs, "SSL_CERT_FILE", "/etc/ca")}
	launcher := []string{"PATH=/host/bin", "SSL_CERT_FILE=/host/ca"}
	env, err := Build(Input{Launcher: launcher, Base: base, Flags: []string{"PATH"}, Force: []string{"SSL_CERT_FILE"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := env.Environ(); !slices.Equal(got, launcher) {
		t.Errorf("environment %q", got)
	}
	if added := env.Of(Added); len(added) != 2 || added[0].Reason != "replaces what ringfence sets" ||
		!strings.HasPrefix(added[1].Reason, "forced: loader") {
		t.Errorf("audit %+v", added)
	}
}

// A name twice, an entry without a name, an entry without a value: getenv takes
// the first, and nobody takes the others.
func TestLauncherOddities(t *testing.T) {
	env, err := Build(Input{
		Launcher: []string{"A=first", "A=second", "=nameless", "novalue", "", "A B=odd", "\xff=odd"},
		Policy:   policy.Env{Pass: names(byUs, "A", "novalue")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := env.Environ(); !slices.Equal(got, []string{"A=first"}) {
		t.Errorf("environment %q", got)
	}
	var dropped []string
	for _, e := range env.Of(Dropped) {
		dropped = append(dropped, e.Name+": "+e.Reason)
	}
	if want := []string{"A B: not a plain name", "\xff: not a plain name"}; !slices.Equal(dropped, want) {
		t.Errorf("dropped %q", dropped)
	}
}

func TestRefusals(t *testing.T) {
	for class, name := range map[knownsecrets.Class]string{
		knownsecrets.Secret: "GITHUB_TOKEN", knownsecrets.Socket: "SSH_AUTH_SOCK", knownsecrets.Loader: "NODE_OPTIONS",
	} {
		for how, in := range map[string]Input{
			"policy pass": {Policy: policy.Env{Pass: names(byUser, name)}},
			"policy set":  {Policy: policy.Env{Set: []policy.Setting{setting(byUser, name, "hunter2")}}},
			"file":        {Files: []File{{Trusted: true, Settings: []policy.Setting{setting(byFile, name, "hunter2")}}}},
			"flag pass":   {Flags: []string{name}},
			"flag set":    {Flags: []string{name + "=hunter2"}},
			"other force": {Flags: []string{name}, Force: []string{"HTTP_PROXY"}},
		} {
			in.Launcher = []string{name + "=hunter2"}
			env, err := Build(in)
			if err == nil || fault.KindOf(err) != fault.Refused {
				t.Fatalf("%s %s: error %v", how, name, err)
			}
			if len(env.Environ()) != 0 {
				t.Errorf("%s %s: in the environment all the same", how, name)
			}
			rows := slices.DeleteFunc(env.Entries, func(e Entry) bool { return e.Name != name })
			if len(rows) != 1 || rows[0].Kind != Refused {
				t.Errorf("%s %s: audit %v", how, name, rows)
			}
			text := err.Error() + fault.HintOf(err)
			for _, part := range []string{name, string(class) + ": ", "--force-env " + name, "[env] force"} {
				if !strings.Contains(text, part) {
					t.Errorf("%s %s: %q says nothing of %q", how, name, text, part)
				}
			}
			if strings.Contains(text, "hunter2") {
				t.Errorf("%s %s: the value is in %q", how, name, text)
			}
		}
		if _, err := Build(Input{Launcher: []string{name + "=x"}}); err != nil {
			t.Errorf("%s in the launcher's environment alone: %v", name, err)
		}
		if _, err := Build(Input{Flags: []string{name}}); err == nil {
			t.Errorf("%s is refused only where the launcher has it", name)
		}
	}
}

func TestRefusalText(t *testing.T) {
	_, err := Build(Input{Policy: policy.Env{Pass: names(byUser, "GITHUB_TOKEN")}, Flags: []string{"LD_PRELOAD=x"}})
	const want = `environment: refused 2 names
  GITHUB_TOKEN (/home/u/.config/ringfence/policy.toml:7): secret: forge or CI token
  LD_PRELOAD (flag --env): loader: loads code into every program`
	const hint = `to insist: --force-env GITHUB_TOKEN --force-env LD_PRELOAD, or [env] force = ["GITHUB_TOKEN", "LD_PRELOAD"] in your policy`
	if err == nil || err.Error() != want || fault.HintOf(err) != hint {
		t.Errorf("error %v\nhint  %s", err, fault.HintOf(err))
	}
}

func TestBadInput(t *testing.T) {
	for text, in := range map[string]Input{
		`flag --env: the name of a variable has "-" after "FOO"`:                                                   {Flags: []string{"FOO-BAR=hunter2"}},
		`flag --env: the name of a variable is empty`:                                                              {Flags: []string{"=hunter2"}},
		`flag --env: the name of a variable has "9" after ""`:                                                      {Flags: []string{"9A"}},
		`/home/u/.config/ringfence/policy.toml:7: the name of a variable has "*" after ""`:                         {Policy: policy.Env{Pass: names(byUser, "*")}},
		`flag --env: the name of a variable has "*" after "A"`:                                                     {Flags: []string{"A*B"}},
		`flag --force-env: the name of a variable has "=" after "A"`:                                               {Force: []string{"A=hunter2"}},
		`flag --force-env: the name of a variable has "*" after "LD_"`:                                             {Force: []string{"LD_*"}},
		`flag --env: the name of a variable is longer than 255 bytes`:                                              {Flags: []string{strings.Repeat("A", 256)}},
		`"/p\n/.ringfence.env":3: the value of A holds a NUL byte`:                                                 {Policy: policy.Env{Set: []policy.Setting{{Name: "A", Value: "\x00", Source: policy.Source{File: "/p\n/.ringfence.env", Line: 3}}}}},
		`the environment is too large: 131075 bytes of at most 1048576, of which A takes 131074 of at most 131071`: {Flags: []string{"A=" + strings.Repeat("x", 128<<10)}},
	} {
		if _, err := Build(in); err == nil || err.Error() != text {
			t.Errorf("error %v\nwant  %s", err, text)
		}
	}
	var many Input
	for i := range 9 {
		many.Flags = append(many.Flags, fmt.Sprintf("A%d=%s", i, strings.Repeat("x", 120<<10)))
	}
	if _, err := Build(many); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("over a megabyte: %v", err)
	}
	many.Flags = many.Flags[:8]
	if _, err := Build(many); err != nil {
		t.Errorf("under a megabyte: %v", err)
	}
}

func TestAuditHidesValues(t *testing.T) {
	env, err := Build(Input{
		Launcher: []string{"TERM=hunter2", "FOO=hunter2", "SECRET=hunter2", "OTHER=hunter2"},
		Base:     []policy.Setting{setting(byUs, "HOME", "hunter2")},
		Policy:   policy.Env{Pass: names(byUs, "TERM")},
		Files:    []File{{Settings: []policy.Setting{setting(byFile, "EVIL", "hunter2")}}},
		Flags:    []string{"FOO", "ABSENT"},
	})
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(env)
	if err != nil {
		t.Fatal(err)
	}
	all := string(data) + fmt.Sprint(env) + fmt.Sprintf("%+v %s %q", env.Entries, env.Entries, env.Entries[0])
	if strings.Contains(all, "hunter2") {
		t.Errorf("a value is in %s", all)
	}
	var got []string
	for _, e := range env.Entries {
		got = append(got, fmt.Sprintf("%s %s (%s) %s", e.Kind, e.Name, e.Source, e.Reason))
	}
	want := []string{
		"dropped ABSENT (flag --env) not set in the launcher's environment",
		"refused EVIL (/home/u/p/.ringfence.env:2) the file is not trusted",
		"added FOO (flag --env) ",
		"set HOME (built-in) ",
		"dropped OTHER (launcher) on no list",
		"dropped SECRET (launcher) secret: by its name a secret",
		"passed TERM (built-in) ",
	}
	if !slices.Equal(got, want) {
		t.Errorf("audit\n%s", strings.Join(got, "\n"))
	}
}

// The built-in list and the catalogue are written apart; they must agree.
func TestBuiltInListPasses(t *testing.T) {
	in := Input{Policy: policy.Builtin().Env}
	for _, r := range in.Policy.Pass {
		in.Launcher = append(in.Launcher, r.Value+"=x")
	}
	env, err := Build(in)
	if err != nil || len(in.Launcher) == 0 || len(env.Of(Passed)) != len(in.Launcher) {
		t.Errorf("passed %v of %q: %v", env.Of(Passed), in.Launcher, err)
	}
}

// For any input: nothing of the launcher enters that was not asked for, nothing
// refused enters that was not forced, each name enters once, and the audit
// accounts for every name of the launcher.
func TestNothingEntersUnasked(t *testing.T) {
	pool := rapid.SampledFrom([]string{"A", "B", "AB", "TERM", "HOME", "LD_PRELOAD", "GITHUB_TOKEN", "LC_ALL", "LC_KEY", "SSH_AUTH_SOCK", "a"})
	some := rapid.SliceOfN(pool, 0, 4)
	rapid.Check(t, func(t *rapid.T) {
		var in Input
		asked, forced := map[string]bool{}, map[string]bool{}
		for i, name := range rapid.SliceOfN(pool, 0, 12).Draw(t, "launcher") {
			in.Launcher = append(in.Launcher, fmt.Sprintf("%s=host%d", name, i))
		}
		for _, name := range some.Draw(t, "base") {
			in.Base = append(in.Base, setting(byUs, name, "base"))
			forced[name] = true // ringfence may set any name
		}
		for _, name := range some.Draw(t, "pass") {
			source := rapid.SampledFrom([]policy.Source{byUs, byUser}).Draw(t, "source")
			in.Policy.Pass = append(in.Policy.Pass, policy.Rule{Value: name, Source: source})
			asked[name] = true
		}
		for _, name := range some.Draw(t, "flags") {
			in.Flags = append(in.Flags, name)
			asked[name] = true
		}
		for _, name := range some.Draw(t, "force") {
			in.Force = append(in.Force, name)
			asked[name], forced[name] = true, true
		}
		for _, name := range some.Draw(t, "untrusted") {
			in.Files = append(in.Files, File{Settings: []policy.Setting{setting(byFile, name, "untrusted")}})
		}
		env, err := Build(in)
		if err != nil && fault.KindOf(err) != fault.Refused {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, entry := range env.Environ() {
			name, value, _ := strings.Cut(entry, "=")
			_, listed := knownsecrets.Env(name)
			fromHost := strings.HasPrefix(value, "host")
			switch {
			case seen[name]:
				t.Fatalf("%s twice", name)
			case fromHost && !asked[name]:
				t.Fatalf("%s entered unasked", entry)
			case fromHost && value != "host"+firstIndex(in.Launcher, name):
				t.Fatalf("%s is not the first of its name in %q", entry, in.Launcher)
			case listed && !forced[name]:
				t.Fatalf("%s entered unforced", entry)
			case value == "untrusted":
				t.Fatalf("%s entered untrusted", entry)
			}
			seen[name] = true
		}
		for _, entry := range in.Launcher {
			name, _, _ := strings.Cut(entry, "=")
			if !slices.ContainsFunc(env.Entries, func(e Entry) bool { return e.Name == name }) {
				t.Fatalf("%s is missing from the audit", name)
			}
		}
	})
}

func firstIndex(launcher []string, name string) string {
	return fmt.Sprint(slices.IndexFunc(launcher, func(e string) bool { return strings.HasPrefix(e, name+"=") }))
}
