package policy

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"ringfence.dev/ringfence/internal/address"
)

// Common is a host on which anybody can write with a credential of his own, or with
// none: a forge, a registry that takes packages, a site with accounts, a playground
// that keeps what it is given. To let such a host be reached is to let anybody be
// written to; so in every mode but internet the broker alone speaks to it. There it
// can be read, and what [broker] open names can be done.
type Common struct {
	Rule address.Rule // NAME or *.NAME
	Why  string       // what can be written there
	Git  bool         // it is a forge: git is led there by https
}

// commons are the hosts, whichever rule opens them. A test holds every host of every
// group against this table and against the list of those that only hand out files.
// The hosts that are in no group stand here because people allow them by name.
var commons = []struct {
	why   string
	git   bool
	hosts string
}{
	{"repositories, issues and gists", true, "github.com gist.github.com gitlab.com bitbucket.org codeberg.org git.sr.ht salsa.debian.org"},
	{"the API of a forge", false, "api.github.com uploads.github.com api.bitbucket.org"},
	{"large files of repositories", false, "github-cloud.githubusercontent.com"},
	{"repositories, lists, tickets and pastes", false, "sr.ht *.sr.ht"},

	{"packages", false, "*.npmjs.org *.yarnpkg.com jsr.io npm.jsr.io pypi.org upload.pypi.org crates.io plugins.gradle.org rubygems.org index.rubygems.org " +
		"packagist.org api.nuget.org hackage.haskell.org casa.stackage.org hex.pm pub.dev conda.anaconda.org www.cpan.org cpan.metacpan.org"},
	{"an account, and marks on packages", false, "metacpan.org fastapi.metacpan.org"},
	{"images", false, "registry-1.docker.io auth.docker.io ghcr.io quay.io *.quay.io"},
	{"bugs, wikis, repositories and an account", false, "*.debian.org gcc.gnu.org"},
	{"shared snippets of a playground", false, "golang.org *.golang.org go.dev pkg.go.dev svelte.dev developer.mozilla.org"},
	{"questions, comments or feedback", false, "learn.microsoft.com www.php.net sqlite.org www.sqlite.org www.postgresql.org www.w3.org docs.aws.amazon.com " +
		"docs.oracle.com docs.github.com docs.gitlab.com docs.docker.com developer.hashicorp.com docs.npmjs.com redis.io nextjs.org laravel.com www.stackage.org www.rfc-editor.org cmake.org pytorch.org tailwindcss.com"},
	// Their servers answer for every host of the owner, scripts and forms among them, whatever name TLS was begun for.
	{"what else the same servers serve", false, "dl.google.com maven.google.com"},
}

var readCommons = sync.OnceValue(func() []Common {
	var out []Common
	for _, c := range commons {
		for h := range strings.FieldsSeq(c.hosts) {
			out = append(out, Common{Rule: plainRule(h), Why: c.why, Git: c.git})
		}
	}
	return out
})

// Commons are the common hosts as a policy leaves them to the broker.
type Commons struct {
	List  []Common
	Back  []address.Rule // given back whole by [broker] open
	Opens []Opening      // what else it opens
}

// Commons reads which hosts are common under p: none in modes internet and open, where every
// public host can be written to, and none without a network.
func (p *Policy) Commons() (Commons, error) {
	if p.Network.Mode == nil || Wide(p.Network.Mode.Value) || p.Network.Mode.Value == modes[0] {
		return Commons{}, nil
	}
	out := Commons{List: readCommons()}
	for _, r := range p.Broker.Open {
		o, err := ParseOpening(r.Value)
		switch {
		case err != nil:
			return Commons{}, fmt.Errorf("%s: %w", r.Source, err)
		case o.Whole():
			out.Back = append(out.Back, o.Host)
		default:
			out.Opens = append(out.Opens, o)
		}
	}
	return out, nil
}

// Has reports whether a host is common.
func (c *Commons) Has(n address.Name) bool {
	return slices.ContainsFunc(c.List, func(h Common) bool { return h.Rule.Covers(n) }) &&
		!slices.ContainsFunc(c.Back, func(r address.Rule) bool { return r.Covers(n) })
}

// Opening is what may be asked of a common host besides reading it.
type Opening struct {
	Host    address.Rule // NAME or *.NAME
	Request string       // "POST,PUT /path/**", as a rule of the broker's services
}

// Whole holds for an opening that leaves nothing to judge.
func (o Opening) Whole() bool { return o.Request == "* /**" }

const patternOpen = `^(\*|[A-Z]+(,[A-Z]+)*) (\*\.)?[^*/:\s]+/\S*$`

// ParseOpening reads "POST api.example.org/path/**".
func ParseOpening(s string) (Opening, error) {
	methods, rest, _ := strings.Cut(s, " ")
	at := strings.IndexByte(rest, '/')
	if at < 0 || strings.Contains(rest, " ") || strings.ContainsAny(rest, "?#%;\\") {
		return Opening{}, fmt.Errorf(`%q is not of the form "METHOD HOST/PATH": POST api.example.org/things, or * HOST/** for all of a host`, s)
	}
	for m := range strings.SplitSeq(methods, ",") {
		if m != "*" && !slices.Contains(openMethods, m) || m == "*" && methods != "*" {
			return Opening{}, fmt.Errorf("%q: %q is no method: use %s, or *", s, m, strings.Join(openMethods, ", "))
		}
	}
	r, err := address.ParseRule(rest[:at])
	if err != nil {
		return Opening{}, err
	}
	if r.Port != 0 || r.Proto != "" {
		return Opening{}, fmt.Errorf("%q: a host is opened by its name alone", s)
	}
	for seg := range strings.SplitSeq(strings.Trim(rest[at:], "/"), "/") {
		if rest[at:] != "/" && (seg == "" || seg == "." || seg == ".." || seg != "**" && strings.Contains(seg, "**") || strings.ContainsAny(seg, "{}")) {
			return Opening{}, fmt.Errorf("%q: %q is no part of a path; * stands within one part, ** for whole parts", s, seg)
		}
	}
	return Opening{Host: r, Request: methods + " " + rest[at:]}, nil
}

var openMethods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}

func checkOpen(v string) error {
	if err := checkText(v); err != nil {
		return err
	}
	_, err := ParseOpening(v)
	return err
}
