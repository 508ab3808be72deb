package supervisor

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/credentials/serviceapi"
	"ringfence.dev/ringfence/internal/git/repo"
	"ringfence.dev/ringfence/internal/session/lending"
)

// hostile are addresses that a clone's config can name: not one of them is a host of the
// secret, each looks like one to somebody. %s is the host that the secret is for.
var hostile = []string{
	"https://%s.evil.test/alice/work", "https://evil%s/alice/work", "https://evil.test/%s/alice/work", "https://%s@evil.test/alice/work",
	"https://%s:x@evil.test/alice/work", "https://%s:8443/alice/work", "http://%s:80/alice/work", "https://%s:443@evil.test/alice/work",
	"git@evil.test:%s/alice/work", "%s@evil.test:alice/work", "ssh://%s@evil.test/alice/work", "https://api.%s/alice/work",
	"https://www.%s/alice/work", "https://%s..evil.test/alice/work", "https://gitlab.evil.test/alice/work", "https://github.evil.test/alice/work",
	"https://gitea.evil.test/alice/work", "https://forgejo.evil.test/alice/work", "https://github.com.evil.test/alice/work",
	"https://gitlab.com.evil.test/alice/work", "https://evilgithub.com/alice/work", "https://gitlab.co/alice/work", "https://xn--gthub-n4a.com/alice/work",
	"https://g\u0456thub.com/alice/work", "https://%s%%2eevil.test/alice/work", "https://gitlab/alice/work", "https://users/alice/work", "https://alice/alice/work",
	"https://127.0.0.1/alice/work", "https://[::1]/alice/work",
}

// targets are the hosts that an address like that could mean.
func targets(host string) []string {
	out := []string{host, host + ".evil.test", "evil" + host, "evil.test", host + ":8443", host + ":80", "api." + host, "www." + host, "gitlab.evil.test", "github.evil.test",
		"gitea.evil.test", "forgejo.evil.test", "github.com.evil.test", "gitlab.com.evil.test", "evilgithub.com", "gitlab.co", "xn--gthub-n4a.com",
		"api.github.com", "uploads.github.com", "github.com", "gitlab.com", "codeberg.org"}
	slices.Sort(out)
	return slices.Compact(out)
}

// everyRequest is what clients of all kinds ask, with everything that they could hold.
func everyRequest(host string) (out []asking) {
	for _, path := range []string{"/package", "/alice/work.git/info/refs?service=git-upload-pack", "/api/v4/projects/alice%2Fwork", "/api/v1/repos/alice/work", "/repos/alice/work"} {
		out = append(out, asking{host: host, method: "GET", path: path})
	}
	return append(out, asking{host: host, method: "GET", path: "/package", header: map[string]string{"Authorization": "Bearer @PH@"}})
}

// A secret goes to the hosts that it was kept for. Remotes are wishes.
func TestForgeCredentialGoesHome(t *testing.T) {
	for _, kind := range serviceapi.Kinds() {
		if !kind.Forge() {
			continue
		}
		for _, named := range []string{"", "lab.test", "lab.test:8443"} {
			if named == "" && kind.Public() == "" || testing.Short() && named != "lab.test" {
				continue
			}
			t.Run(fmt.Sprintf("%s for %q", kind, named), func(t *testing.T) {
				home, line := kind.Public(), ""
				if named != "" {
					home, line = named, fmt.Sprintf("hosts = [%q]\n", named)
				}
				name, _, _ := strings.Cut(home, ":")
				table := fmt.Sprintf("[secret.lab]\nuse = %q\nfrom = \"env:LAB\"\nenv = [\"PH\"]\n%s", kind, line)
				forgeHostile(t, table, home, name)
			})
		}
	}
}

// forgeHostile tries all remotes with one secret, and then its own, which is the control.
func forgeHostile(t *testing.T, table, home, name string) {
	all := slices.Clone(hostile)
	if strings.Contains(table, "hosts = ") {
		all = all[:12] // those that the name itself is in
	}
	for _, where := range append(all, "https://"+home+"/alice/work", "HTTPS://"+strings.ToUpper(home)+"/alice/work") {
		remote := where
		if strings.Contains(where, "%s") {
			remote = fmt.Sprintf(where, name)
		}
		s := newStand(t)
		s.environ = append(s.environ, "LAB="+realMark+"-lab-0123456789abcdef")
		s.policy(allowed(targets(name)) + table)
		s.git("[remote \"origin\"]\n\turl = " + remote + "\n[url \"https://evil.test/\"]\n\tinsteadOf = https://" + home + "/\n")
		p, err := s.open()
		if err != nil {
			t.Fatalf("%s: %v", remote, err)
		}
		var got []string
		try := []string{home, "github.com", "api.github.com", "gitlab.com"}
		if r, ok := repo.ParseRemote(remote); ok {
			_, at, _ := lending.HostOf(r)
			try = append(try, at)
		}
		slices.Sort(try)
		for _, host := range slices.Compact(try) {
			for _, a := range everyRequest(host) {
				if host != "" {
					got = append(got, hosts(p.ask(a))...)
				}
			}
		}
		p.close()
		slices.Sort(got)
		got = slices.Compact(got)
		want := []string{}
		if r, _, ok := strings.Cut(strings.ToLower(remote), "://"); ok && r == "https" && strings.HasPrefix(strings.ToLower(remote)+"/", "https://"+home+"/") {
			want = []string{home}
			if home == serviceapi.GitHub.Public() {
				want = []string{"api.github.com", home}
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("remote %s: the token for %s went to %q, want %q\n%q", remote, home, got, want, p.Notices)
		}
	}
}

// allowed opens hosts, so that no rule of the network hides where a credential goes.
func allowed(hosts []string) string {
	var list []string
	for _, h := range hosts {
		list = append(list, fmt.Sprintf("%q", "https://"+h))
	}
	return "[network]\nallow = [" + strings.Join(list, ", ") + "]\n"
}

// Who relied on the look of a name is told the one command that helps.
func TestForgeSecretWithoutHostIsSaid(t *testing.T) {
	s := newStand(t)
	s.policy("[secret.lab]\nuse = \"gitlab\"\nfrom = \"env:LAB\"\n")
	s.git("[remote \"origin\"]\n\turl = git@gitlab.example.test:alice/work.git\n")
	p, err := s.open()
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	if all := strings.Join(p.Notices, "\n"); !strings.Contains(all, "is for gitlab.com alone") || !strings.Contains(all, "ringfence secret set lab --use gitlab --host gitlab.example.test") {
		t.Errorf("said: %s", all)
	}
}

// The login of gh is found where its variable says that it is.
func TestClientElsewhere(t *testing.T) {
	s := newStand(t)
	s.put(".gh/hosts.yml", "github.com:\n    user: alice\n")
	tool := s.put("bin/gh", "#!/bin/sh\n[ \"$GH_CONFIG_DIR\" = '"+filepath.Join(s.home, ".gh")+"' ] && echo "+realMark+"-gh-0123456789abcdef\n")
	if err := os.Chmod(tool, 0o755); err != nil {
		t.Fatal(err)
	}
	s.environ = []string{"HOME=" + s.home, "PATH=" + filepath.Dir(tool) + ":/usr/bin:/bin", "GH_CONFIG_DIR=" + filepath.Join(s.home, ".gh")}
	s.policy(allowed([]string{"github.com", "api.github.com"}))
	s.git("[remote \"origin\"]\n\turl = https://github.com/alice/work\n")
	p, err := s.open()
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	var got []string
	for _, a := range everyRequest("github.com") {
		got = append(got, hosts(p.ask(a))...)
	}
	if !slices.Contains(got, "github.com") {
		t.Errorf("the login is not used: %q %q", got, p.Notices)
	}
}

// A variable that names no place of its own is nobody's word: the client is asked about
// the place that was looked at, and not about one in the directory it is started in.
func TestClientHere(t *testing.T) {
	s := newStand(t)
	s.put(".config/gh/hosts.yml", "github.com:\n    user: alice\n")
	tool := s.put("bin/gh", "#!/bin/sh\necho ${GH_CONFIG_DIR-"+realMark+"-gh-0123456789abcdef}\n")
	if err := os.Chmod(tool, 0o755); err != nil {
		t.Fatal(err)
	}
	s.environ = []string{"HOME=" + s.home, "PATH=" + filepath.Dir(tool) + ":/usr/bin:/bin", "GH_CONFIG_DIR=.gh"}
	s.policy(allowed([]string{"github.com", "api.github.com"}))
	s.git("[remote \"origin\"]\n\turl = https://github.com/alice/work\n")
	p, err := s.open()
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	var got []string
	for _, a := range everyRequest("github.com") {
		got = append(got, hosts(p.ask(a))...)
	}
	if !slices.Contains(got, "github.com") {
		t.Errorf("the login is not used: %q %q", got, p.Notices)
	}
}

// Every other kind goes to the hosts that were named, whatever is asked of others.
func TestServiceCredentialGoesHome(t *testing.T) {
	for _, kind := range serviceapi.Kinds() {
		if kind.Forge() {
			continue
		}
		t.Run(string(kind), func(t *testing.T) {
			more := map[serviceapi.Kind]string{serviceapi.Header: "header = \"X-Api-Key\"\n", serviceapi.Basic: "user = \"me\"\n"}[kind]
			const home = "registry.test"
			near := []string{home, home + ".evil.test", "evil" + home, "api." + home, home + ":8443", "evil.test"}
			s := newStand(t)
			s.environ = append(s.environ, "LAB="+realMark+"-lab-0123456789abcdef")
			s.policy(allowed(near) + fmt.Sprintf("[secret.lab]\nuse = %q\nfrom = \"env:LAB\"\nenv = [\"PH\"]\nhosts = [%q]\n%s", kind, home, more))
			s.git("[remote \"origin\"]\n\turl = https://registry.test.evil.test/alice/work\n[remote \"b\"]\n\turl = https://registry.test:8443/alice/work\n")
			p, err := s.open()
			if err != nil {
				t.Fatal(err)
			}
			defer p.close()
			var got []string
			for _, host := range near {
				for _, a := range everyRequest(host) {
					got = append(got, hosts(p.ask(a))...)
				}
			}
			slices.Sort(got)
			if got = slices.Compact(got); !slices.Equal(got, []string{home}) {
				t.Errorf("the credential went to %q", got)
			}
			s.policy(fmt.Sprintf("[secret.lab]\nuse = %q\nfrom = \"env:LAB\"\n%s", kind, more))
			if _, err := s.open(); err == nil || !strings.Contains(err.Error(), `has no host: write hosts = ["HOST"]`) {
				t.Errorf("without a host: %v", err)
			}
			s.policy("")
			s.put(".config/ringfence/secrets.toml", fmt.Sprintf("[secret.lab]\nuse = %q\nfrom = \"env:LAB\"\n%s", kind, more))
			if _, err := s.open(); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("has no host: ringfence secret set lab --use %s --host HOST", kind)) {
				t.Errorf("without a host: %v", err)
			}
		})
	}
}

// What was kept for a vendor goes to the vendor, whatever a variable of the launcher says.
func TestModelCredentialGoesHome(t *testing.T) {
	const login = `{"claudeAiOauth": {"accessToken": "` + realMark + `-login-0123456789abcdef", "refreshToken": "r", "expiresAt": 4102444800000}}`
	for _, base := range []string{"", "https://evil.test", "https://api.anthropic.com.evil.test", "https://evilapi.anthropic.com", "https://api.anthropic.com:8443",
		"http://api.anthropic.com", "https://API.ANTHROPIC.COM.", "https://127.0.0.1.evil.test", "https://localhost.evil.test", "https://xn--pi-7ma.anthropic.com"} {
		for name, prepare := range map[string]func(*stand){
			"secret": func(s *stand) { s.policy("[secret.mine]\nuse = \"anthropic\"\nfrom = \"env:LAB\"\n") },
			"login":  func(s *stand) { s.put(".claude/.credentials.json", login) },
		} {
			s := newStand(t)
			s.environ = append(s.environ, "LAB="+realMark+"-lab-0123456789abcdef", "ANTHROPIC_BASE_URL="+base)
			prepare(s)
			p, err := s.open()
			if err != nil {
				t.Fatalf("%s, %s: %v", name, base, err)
			}
			header := map[string]string{"Authorization": "Bearer @" + map[string]string{"secret": "ANTHROPIC_AUTH_TOKEN", "login": "CLAUDE_CODE_OAUTH_TOKEN"}[name] + "@"}
			if got := hosts(p.ask(asking{method: "POST", path: "/anthropic/v1/messages", header: header})); !slices.Equal(got, []string{"api.anthropic.com"}) {
				t.Errorf("%s with %q went to %q", name, base, got)
			}
			if all := strings.Join(p.Warnings, "\n"); base != "" && !strings.Contains(all, "ringfence secret set NAME --use anthropic --host") {
				t.Errorf("%s with %q: the person is told %q", name, base, all)
			}
			p.close()
		}
	}
}

// A registry below a path: the credential goes below the very path of the very host, and
// two secrets can have a host between them.
func TestRegistryBelowAPath(t *testing.T) {
	const npmBase, pyBase = "/artifactory/api/npm/main", "/artifactory/api/pypi/main"
	for _, kind := range serviceapi.Kinds() {
		if kind.Forge() || testing.Short() && kind != serviceapi.Basic {
			continue
		}
		more := map[serviceapi.Kind]string{serviceapi.Header: "header = \"X-Api-Key\"\n", serviceapi.Basic: "user = \"me\"\n"}[kind]
		const home = "registry.test"
		near := []string{home, home + ".evil.test", "evil" + home, "api." + home, home + ":8443", "evil.test"}
		s := newStand(t)
		s.environ = append(s.environ, "LAB="+realMark+"-lab-0123456789abcdef", "PY="+realMark+"-py-0123456789abcdef")
		s.policy(allowed(near) + fmt.Sprintf("[secret.lab]\nuse = %q\nfrom = \"env:LAB\"\nenv = [\"PH\"]\nhosts = [%q]\nallow = [\"* /**\"]\n%s", kind, home+npmBase+"/", more) +
			fmt.Sprintf("[secret.py]\nuse = \"bearer\"\nfrom = \"env:PY\"\nhosts = [%q]\n", home+pyBase))
		s.git("[remote \"origin\"]\n\turl = https://registry.test/artifactory/api/npm/main\n[remote \"b\"]\n\turl = https://registry.test:8443/alice/work\n")
		p, err := s.open()
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		for _, host := range near {
			for _, path := range []string{"/", "/lodash", npmBase, npmBase + "/lodash", npmBase + "/../pypi/main/x", npmBase + "/%2e%2e/x", npmBase + "x/lodash", npmBase + "/..%2f..%2fx", "/artifactory/api/npm/other/lodash",
				"/artifactory/api/npm", "/artifactory/api/npm%2fmain/lodash", "//artifactory/api/npm/main/lodash", "/ARTIFACTORY/api/npm/main/lodash", pyBase + "/simple/x/", pyBase, "/artifactory/api/security/apiKey",
				npmBase + ";x/lodash", "/other/.." + npmBase + "/lodash", "/artifactory/api/npm/main/lodash/info/refs?service=git-upload-pack"} {
				for _, a := range []asking{{host: host, method: "GET", path: path}, {host: host, method: "GET", path: path, header: map[string]string{"Authorization": "Bearer @PH@"}}} {
					for _, came := range p.ask(a) {
						plain := !strings.ContainsAny(came.path, "%;") && !strings.Contains(came.path, "..")
						below := func(base string) bool { return came.path == base || strings.HasPrefix(came.path, base+"/") }
						switch {
						case strings.HasPrefix(came.sent, realMark+"-lab") && came.host == home && plain && below(npmBase):
						case strings.HasPrefix(came.sent, realMark+"-py") && came.host == home && plain && below(pyBase):
						case came.sent == "" && came.host != home:
						default:
							t.Errorf("%s: %s: %+v", kind, a, came)
						}
					}
				}
			}
		}
		for base, want := range map[string]string{npmBase: realMark + "-lab", pyBase: realMark + "-py"} {
			if came := p.ask(asking{host: home, method: "GET", path: base + "/lodash"}); len(came) != 1 || !strings.HasPrefix(came[0].sent, want) || came[0].path != base+"/lodash" {
				t.Errorf("%s: %s is not served: %+v", kind, base, came)
			}
		}
		p.close()
	}
}

// Where another secret has the whole host, or the same path, the launch says what helps.
func TestPathsOfAHostAreApart(t *testing.T) {
	for _, second := range []string{"registry.test", "registry.test/a", "registry.test/a/b", "registry.test/", "registry.test:8443/c"} {
		s := newStand(t)
		s.policy("[secret.one]\nuse = \"npm\"\nfrom = \"env:A\"\nhosts = [\"registry.test/a\"]\n" + fmt.Sprintf("[secret.two]\nuse = \"pypi\"\nfrom = \"env:B\"\nhosts = [%q]\n", second))
		if p, err := s.open(); err == nil || !strings.Contains(err.Error(), "give each a path of its own, --host ") {
			t.Errorf("%s: %v", second, err)
			p.close()
		}
	}
}

// A secret of a host's path that a project's file switches off stays closed, and the
// other one of the host is served as before.
func TestPathSwitchedOff(t *testing.T) {
	for _, order := range []string{"ab", "ba"} {
		s := newStand(t)
		s.environ = append(s.environ, "A="+realMark+"-a-0123456789abcdef", "B="+realMark+"-b-0123456789abcdef")
		text := allowed([]string{"registry.test"})
		for _, n := range order {
			text += fmt.Sprintf("[secret.%c]\nuse = \"bearer\"\nfrom = \"env:%s\"\nhosts = [\"registry.test/%[1]c\"]\n", n, strings.ToUpper(string(n)))
		}
		s.policy(text)
		s.project("[secret.a]\noff = true\n")
		p, err := s.open()
		if err != nil {
			t.Fatal(err)
		}
		if came := p.ask(asking{host: "registry.test", method: "GET", path: "/a/x"}); len(came) > 0 {
			t.Errorf("%s: what is switched off: %+v", order, came)
		}
		if came := p.ask(asking{host: "registry.test", method: "GET", path: "/b/x"}); len(came) != 1 || !strings.HasPrefix(came[0].sent, realMark+"-b") {
			t.Errorf("%s: the other: %+v", order, came)
		}
		if came := p.ask(asking{host: "registry.test", method: "GET", path: "/x"}); len(came) > 0 {
			t.Errorf("%s: beside both: %+v", order, came)
		}
		p.close()
	}
}

// GitLab's registry of packages lies below a path of the forge. The forge goes on with
// its own token, and without one it is read as any common host, if a rule opens it.
func TestRegistryOfAForge(t *testing.T) {
	const base = "/api/v4/projects/7/packages/npm"
	for _, c := range []struct{ token, open bool }{{true, true}, {true, false}, {false, true}, {false, false}} {
		s := newStand(t)
		s.environ = append(s.environ, "LAB="+realMark+"-lab-0123456789abcdef", "PKG="+realMark+"-pkg-0123456789abcdef")
		text := "[secret.pkg]\nuse = \"npm\"\nfrom = \"env:PKG\"\nhosts = [\"gitlab.com" + base + "\"]\n"
		if c.open {
			text = allowed([]string{"gitlab.com"}) + text
		} else {
			text = "[network]\ngroups = [\"-gitlab\"]\n" + text
		}
		if c.token {
			text += "[secret.lab]\nuse = \"gitlab\"\nfrom = \"env:LAB\"\n"
		}
		s.policy(text)
		s.git("[remote \"origin\"]\n\turl = https://gitlab.com/alice/work\n")
		p, err := s.open()
		if err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		sent := func(path string) string {
			came := p.ask(asking{host: "gitlab.com", method: "GET", path: path})
			if len(came) == 0 {
				return "nothing"
			}
			return came[0].sent
		}
		project := "nothing"
		if c.token {
			project = realMark + "-lab-0123456789abcdef"
		} else if c.open {
			project = ""
		}
		for path, want := range map[string]string{base + "/@corp%2flib": realMark + "-pkg-0123456789abcdef", "/api/v4/projects/alice%2Fwork": project, "/alice/work.git/info/refs?service=git-upload-pack": project} {
			if got := sent(path); got != want {
				t.Errorf("%+v: %s went with %q, want %q; %q", c, path, got, want, p.Notices)
			}
		}
		p.close()
	}
}

// STS is asked where the region has it, and nowhere else.
func TestRegionsOfSTS(t *testing.T) {
	for region, want := range map[string]string{"": "sts.us-east-1.amazonaws.com", "eu-central-1": "sts.eu-central-1.amazonaws.com", "cn-north-1": "sts.cn-north-1.amazonaws.com.cn"} {
		s := newStand(t)
		s.environ = append(s.environ, "AWSKEY=AKIA"+realMark+"00000000:"+realMark+"-secret-0123456789abcdef0123456789")
		text := "[secret.cloud]\nuse = \"aws\"\nfrom = \"env:AWSKEY\"\nrole = \"arn:aws:iam::123456789012:role/x\"\n"
		if region != "" {
			text += fmt.Sprintf("region = %q\n", region)
		}
		s.policy(text)
		p, err := s.open()
		if err != nil {
			t.Fatal(err)
		}
		came := p.ask(asking{method: "GET", path: "/aws/cloud", header: map[string]string{"Authorization": "@AWS_CONTAINER_AUTHORIZATION_TOKEN@"}})
		if len(came) != 1 || came[0].host != want {
			t.Errorf("%q: %+v", region, came)
		}
		p.close()
	}
}

// A further repository is the session's own on the host that was named, or on the public
// host of a forge, and on no other.
func TestReposHaveAHost(t *testing.T) {
	const other = "/api/v1/repos/me/other/issues"
	for _, c := range []struct {
		repos, remote, path string
		want                bool
	}{
		{"me/other", "https://github.com/alice/work", "api.github.com/repos/me/other/issues", true},
		{"github.com/me/other", "https://github.com/alice/work", "api.github.com/repos/me/other/issues", true},
		{"GitHub.com:443/me/other", "https://github.com/alice/work", "api.github.com/repos/me/other/issues", true},
		{"lab.test/me/other", "https://github.com/alice/work", "api.github.com/repos/me/other/issues", false},
		{"me/other", "https://lab.test/alice/work", "lab.test" + other, false},
		{"lab.test/me/other", "https://lab.test/alice/work", "lab.test" + other, true},
		{"lab.test:8443/me/other", "https://lab.test/alice/work", "lab.test" + other, false},
		{"github.com/me/other", "https://lab.test/alice/work", "lab.test" + other, false},
		{"a.lab.test/me/other", "https://lab.test/alice/work", "lab.test" + other, false},
	} {
		s := newStand(t)
		s.environ = append(s.environ, "LAB="+realMark+"-lab-0123456789abcdef")
		s.policy(allowed([]string{"lab.test"}) + fmt.Sprintf("[broker]\nrepos = [%q]\n[secret.hub]\nuse = \"github\"\nfrom = \"env:LAB\"\n[secret.lab]\nuse = \"gitea\"\nhosts = [\"lab.test\"]\nfrom = \"env:LAB\"\n", c.repos))
		s.git("[remote \"origin\"]\n\turl = " + c.remote + "\n")
		p, err := s.open()
		if err != nil {
			t.Fatal(err)
		}
		host, path, _ := strings.Cut(c.path, "/")
		came := p.ask(asking{host: host, method: "POST", path: "/" + path, body: `{"title":"x"}`})
		if (len(hosts(came)) > 0) != c.want {
			t.Errorf("%s with %s: %s went %+v", c.repos, c.remote, c.path, came)
		}
		if all := strings.Join(p.Notices, "\n"); c.repos == "me/other" && !c.want && !strings.Contains(all, "policy.toml:4: [broker] repos: me/other is not taken for a repository on lab.test; if it is one: write lab.test/me/other") {
			t.Errorf("said: %s", all)
		}
		p.close()
	}
	s := newStand(t)
	s.policy("[broker]\nrepos = [\"me/other\"]\n")
	s.git("[remote \"a\"]\n\turl = https://github.com/alice/work\n[remote \"b\"]\n\turl = https://gitlab.com/alice/work\n")
	if _, err := s.open(); err == nil || !strings.Contains(err.Error(), `policy.toml:2: [broker] repos: "me/other" is on two forges`) {
		t.Errorf("on two forges: %v", err)
	}
}
