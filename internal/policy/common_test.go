package policy

import (
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/address"
)

// files are the hosts of groups that take nothing from anybody: who writes there does
// it elsewhere, or is the host's owner. Each line says why.
var files = map[string]string{
	"codeload.github.com raw.githubusercontent.com media.githubusercontent.com": "files of repositories, written by git alone",
	"objects.githubusercontent.com release-assets.githubusercontent.com":        "files of releases behind signed links; uploads have a host of their own",
	"files.pythonhosted.org bootstrap.pypa.io":                                  "files of PyPI; uploads have a host of their own",
	"index.crates.io static.crates.io static.rust-lang.org":                     "files of crates.io and rustup; publishing is at crates.io",
	"gopkg.in": "redirects to a forge that is common",
	"repo.maven.apache.org repo1.maven.org plugins-artifacts.gradle.org":                 "mirrors; publishing has hosts of its own",
	"services.gradle.org downloads.gradle.org":                                           "files of Gradle",
	"cache.ruby-lang.org repo.packagist.org getcomposer.org":                             "files",
	"globalcdn.nuget.org builds.dotnet.microsoft.com":                                    "files; packages are pushed elsewhere",
	"archive.ubuntu.com *.archive.ubuntu.com security.ubuntu.com ports.ubuntu.com":       "the archive; uploads go elsewhere, by another protocol",
	"changelogs.ubuntu.com dl-cdn.alpinelinux.org":                                       "the archive",
	"cache.nixos.org channels.nixos.org releases.nixos.org tarballs.nixos.org":           "files, written by the project",
	"downloads.haskell.org repo.hex.pm builds.hex.pm hexdocs.pm":                         "files; publishing is at the API's host",
	"swift.org www.swift.org download.swift.org cdn.cocoapods.org":                       "files; pods are pushed elsewhere",
	"repo.anaconda.com micro.mamba.pm":                                                   "files, written by the owner",
	"production.cloudflare.docker.com pkg-containers.githubusercontent.com":              "layers behind signed links; pushes go to the registry",
	"mcr.microsoft.com *.data.mcr.microsoft.com":                                         "images of the owner alone: nobody else has an account",
	"cdn.playwright.dev playwright.download.prss.microsoft.com":                          "files, written by the owner",
	"*.spec.whatwg.org json-schema.org nodejs.org":                                       "pages and files of the project",
	"typescriptlang.org www.typescriptlang.org react.dev vuejs.org angular.dev vite.dev": "pages: a playground keeps its text in the link",
	"vitest.dev eslint.org jestjs.io playwright.dev":                                     "pages",
	"docs.python.org peps.python.org packaging.python.org pip.pypa.io docs.pytest.org":   "pages",
	"docs.djangoproject.com flask.palletsprojects.com fastapi.tiangolo.com":              "pages",
	"docs.pydantic.dev numpy.org pandas.pydata.org docs.scipy.org scikit-learn.org":      "pages",
	"matplotlib.org docs.pytorch.org":                                                    "pages; the forum has a host of its own",
	"docs.rs doc.rust-lang.org www.rust-lang.org":                                        "pages that are made of published crates",
	"kotlinlang.org docs.spring.io docs.gradle.org maven.apache.org":                     "pages",
	"docs.ruby-lang.org guides.rubyonrails.org api.rubyonrails.org":                      "pages",
	"nginx.org kubernetes.io helm.sh git-scm.com man7.org docs.kernel.org":               "pages",
	"www.gnu.org llvm.org clang.llvm.org":                                                "pages; bugs and code have hosts of their own",
}

// Every host of every group that allows is either common, and so the broker's, or
// takes nothing from anybody, for a reason that stands here.
func TestEveryHostIsClassified(t *testing.T) {
	p := &Policy{Network: Network{Mode: &Rule{Value: dev}}}
	commons, err := p.Commons()
	if err != nil {
		t.Fatal(err)
	}
	reason := map[string]string{}
	for hosts, why := range files {
		for h := range strings.FieldsSeq(hosts) {
			if reason[h] != "" || why == "" {
				t.Errorf("%s is there twice, or without a reason", h)
			}
			reason[h] = why
		}
	}
	used := map[string]bool{}
	for _, g := range Groups() {
		for _, h := range g.Hosts {
			if g.Deny {
				continue
			}
			r := g.rule(h)
			name := strings.TrimSuffix(h, ":22")
			used[name] = true
			// Of a star all names below must be common; one of them stands for all.
			n := r.Name
			if r.Below {
				n = "any." + n
			}
			common := commons.Has(n)
			switch {
			case common == (reason[name] != ""):
				t.Errorf("group %s: %s is neither common nor among the hosts that only hand out files, or both", g.Name, h)
			case r.Port != 0 && r.Port != 443 && r.Port != 80 && !common:
				t.Errorf("group %s: %s takes who knows what", g.Name, h)
			}
		}
	}
	for h := range reason {
		if !used[h] {
			t.Errorf("%s is in no group", h)
		}
	}
}

func TestCommonsAreWellFormed(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range readCommons() {
		r, err := address.ParseRule(c.Rule.String())
		if err != nil || r.String() != c.Rule.String() || r.Port != 0 || c.Why == "" || seen[r.String()] {
			t.Errorf("%+v: %v", c, err)
		}
		seen[r.String()] = true
	}
}

func TestCommonsFollowThePolicy(t *testing.T) {
	for _, c := range []struct {
		mode, open   string
		common, back []address.Name
	}{
		{mode: "dev", common: []address.Name{"github.com", "api.github.com", "x.npmjs.org", "git.sr.ht"}, back: []address.Name{"example.org", "npmjs.org", "notgithub.com"}},
		{mode: "locked", common: []address.Name{"github.com"}},
		{mode: "internet", back: []address.Name{"github.com"}},
		{mode: "none", back: []address.Name{"github.com"}},
		{mode: "dev", open: "POST github.com/x", common: []address.Name{"github.com"}},
		{mode: "dev", open: "* github.com/**", common: []address.Name{"gist.github.com"}, back: []address.Name{"github.com"}},
		{mode: "dev", open: "* git.sr.ht/**", common: []address.Name{"hg.sr.ht"}, back: []address.Name{"git.sr.ht"}},
		{mode: "dev", open: "* *.github.com/**", common: []address.Name{"github.com"}, back: []address.Name{"api.github.com"}},
	} {
		p := &Policy{Network: Network{Mode: &Rule{Value: c.mode}}}
		if c.open != "" {
			p.Broker.Open = List{{Value: c.open}}
		}
		got, err := p.Commons()
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range slices.Concat(c.common, c.back) {
			if got.Has(n) != slices.Contains(c.common, n) {
				t.Errorf("mode %s, open %q: %s: common is %v", c.mode, c.open, n, got.Has(n))
			}
		}
	}
}

func TestOpenings(t *testing.T) {
	for text, want := range map[string]string{
		"POST api.github.com/gists":    "api.github.com POST /gists",
		"PUT,POST *.example.org/a/**":  "*.example.org PUT,POST /a/**",
		"* github.com/**":              "github.com * /**",
		"GET example.org/":             "example.org GET /",
		"POST example.org":             "",
		"post example.org/x":           "",
		"POST,* example.org/x":         "",
		"TRACE example.org/x":          "",
		"POST example.org:8443/x":      "",
		"POST https://example.org/x":   "",
		"POST example.org/a/../b":      "",
		"POST example.org/a//b":        "",
		"POST example.org/a?b":         "",
		"POST example.org/a%2fb":       "",
		"POST example.org/a**":         "",
		"POST example.org/{n}":         "",
		"POST 10.0.0.1/x":              "",
		"POST *.org/x":                 "",
		" example.org/x":               "",
		"POST example.org/x with more": "",
	} {
		o, err := ParseOpening(text)
		if got := o.Host.String() + " " + o.Request; err == nil != (want != "") || err == nil && got != want {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

// A project's own file opens nothing, and can take away what the user opened.
func TestOpenIsTightened(t *testing.T) {
	base := &Policy{Broker: Broker{Open: List{{Value: "POST a.test/x"}, {Value: "POST b.test/x"}}}}
	over := &Policy{Broker: Broker{Open: List{{Value: "POST b.test/x"}, {Value: "POST c.test/x"}}}}
	if got := Tighten(base, over).Broker.Open; len(got) != 1 || got[0].Value != "POST b.test/x" {
		t.Errorf("%v", got)
	}
	if got := Tighten(&Policy{}, over).Broker.Open; len(got) != 0 {
		t.Errorf("opened by who may only tighten: %v", got)
	}
	wider := Widens(base, over)
	if !slices.ContainsFunc(wider, func(c Change) bool { return c.Key == "open" && c.Value == "POST c.test/x" }) {
		t.Errorf("a wider list goes unsaid: %+v", wider)
	}
}
