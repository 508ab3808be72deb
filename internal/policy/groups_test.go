package policy

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/fault"
)

func TestGroupsAreWellFormed(t *testing.T) {
	seen := map[string]bool{}
	for _, g := range Groups() {
		if seen[g.Name] || g.About == "" || len(g.Hosts) == 0 || strings.Trim(g.Name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			t.Errorf("%+v", g)
		}
		seen[g.Name] = true
		hosts := map[string]bool{}
		for _, h := range g.Hosts {
			r, err := address.ParseRule(h)
			if err != nil {
				t.Errorf("%s: %v", g.Name, err)
			}
			if d := cmp.Diff(r, g.rule(h)); d != "" || r.String() != h || hosts[h] {
				t.Errorf("%s: %q is twice there, not plain or not canonical\n%s", g.Name, h, d)
			}
			hosts[h] = true
			if !public(r) {
				t.Errorf("%s: %q is not of the public network", g.Name, h)
			}
		}
	}
	for _, g := range Groups() {
		if !slices.ContainsFunc([][]string{nil, {"dev", "internet", "open"}, {"locked", "dev", "internet", "open"}}, func(m []string) bool { return slices.Equal(m, g.Modes) }) ||
			g.Deny != slices.Contains(g.Modes, "locked") {
			t.Errorf("%s is on in %q", g.Name, g.Modes)
		}
	}
}

// What is allowed by default lets nobody send to a place of their own.
func TestGroupsAllowNobodysHosts(t *testing.T) {
	deny := denying(&Policy{})
	for _, g := range Groups() {
		for _, h := range g.Hosts {
			r := g.rule(h)
			if g.Deny {
				continue
			}
			if registry, shared := r.Shared(); shared {
				t.Errorf("%s: anybody can have a name below %s", g.Name, registry)
			}
			if e, denied := deny.of(r); denied {
				t.Errorf("%s: %s is denied by %s", g.Name, h, e.Group)
			}
			for _, bad := range []string{"sentry", "statsig", "segment", "telemetry", "analytics", "datadog", "posthog", "mixpanel",
				"amazonaws.com", "storage.googleapis", "blob.core", "upload", "gist.git"} {
				if strings.Contains(h, bad) {
					t.Errorf("%s: %s", g.Name, h)
				}
			}
			for _, suffix := range []address.Name{"npmjs.org", "golang.org", "debian.org"} {
				if r.Name.Under(suffix) {
					t.Errorf("%s: %s is to be named by its suffix alone", g.Name, h)
				}
			}
		}
	}
}

func TestGroupsOn(t *testing.T) {
	const usual = "github gitlab bitbucket codeberg npm python rust go java ruby php dotnet debian ubuntu docs"
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"mode = 'none'\ngroups = ['+rust', '+doh']", ""},
		{"mode = 'locked'\ngroups = ['+rust', '-tunnels']", "doh drops"},
		{"mode = 'dev'", usual + " doh tunnels drops"},
		{"mode = 'internet'", usual + " doh tunnels drops"},
		{"mode = 'dev'\ngroups = ['+haskell', '-docs', '-drops', '+rust']", "github gitlab bitbucket codeberg npm python rust go java ruby php dotnet debian ubuntu haskell doh tunnels"},
	} {
		var got []string
		for _, g := range mustDecode(t, "[network]\n"+c.text+"\n").GroupsOn() {
			if g.On {
				got = append(got, g.Name)
			}
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%q:\n got %s\nwant %s", c.text, s, c.want)
		}
	}
	for _, g := range mustDecode(t, "[network]\nmode = 'dev'\ngroups = ['+haskell', '-docs']\n").GroupsOn() {
		if want := map[string]int{"haskell": 3, "docs": 3}[g.Name]; want != 0 && g.Source.Line != want || want == 0 && g.Source.Line != 2 {
			t.Errorf("%s is decided by %s", g.Name, g.Source)
		}
	}
}

func TestParseNet(t *testing.T) {
	for _, c := range []struct {
		in, mode string
		groups   string
	}{
		{"dev", "dev", ""}, {"dev,+rust,-docs", "dev", "+rust -docs"}, {"+rust", "", "+rust"}, {"-doh,+haskell", "", "-doh +haskell"},
		{"locked,-docs,+doh", "locked", "-docs +doh"}, {"none", "none", ""},
	} {
		mode, groups, err := ParseNet(c.in)
		if err != nil || mode != c.mode || strings.Join(groups, " ") != c.groups {
			t.Errorf("%q: %q %q %v", c.in, mode, groups, err)
		}
	}
	for _, c := range []struct{ in, want, hint string }{
		{"", `--net: "" is no switch: write +NAME or -NAME`, ""},
		{"dev,", `--net: "" is no switch: write +NAME or -NAME`, ""},
		{"dve", `--net: there is no mode "dve"`, `did you mean "dev"?`},
		{"host", `--net: there is no mode "host"`, "the modes are: none, locked, dev, internet, open"},
		{"rust", `--net: there is no mode "rust"`, "a group is switched by +rust or -rust"},
		{"dev,rust", `--net: "rust" is no switch: write +NAME or -NAME`, `did you mean "+rust"?`},
		{"+rust,dev", `--net: "dev" is no switch: write +NAME or -NAME`, ""},
		{"dev,+rsut", `--net: there is no group "rsut"; ringfence policy groups lists them`, `did you mean "+rust"?`},
		{"+rust,-rust", `--net: the group "rust" is switched twice`, ""},
		{"locked,+rust", `--net: mode locked has no groups to switch on`, "--net dev,+rust"},
	} {
		mode, groups, err := ParseNet(c.in)
		if err == nil || err.Error() != c.want || fault.HintOf(err) != c.hint || fault.KindOf(err) != fault.Usage || mode != "" || groups != nil {
			t.Errorf("%q: %q %q\n%v\nhint %q", c.in, mode, groups, err, fault.HintOf(err))
		}
	}
}
