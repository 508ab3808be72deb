package reason_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/reason"
	"ringfence.dev/ringfence/internal/run"
)

// ask finds the answer for a subject as a person writes it.
func ask(t *testing.T, w *reason.World, subject string) *reason.Answer {
	t.Helper()
	kind, rest, _ := strings.Cut(subject, " ")
	switch kind {
	case "host":
		to, err := reason.Target(rest)
		if err != nil {
			t.Fatal(err)
		}
		return w.AboutHost(to)
	case "env":
		return w.AboutEnv(rest)
	case "push":
		return w.AboutPush(rest)
	}
	return w.AboutPath(rest)
}

// What is said to help does, from a policy file as well as from flags: the very lines
// are written to the user's policy, and the session is prepared anew.
func TestPolicyLinesHelp(t *testing.T) {
	r := newRoom(t)
	r.write(t, ".config/keep", "")
	file := r.at(".config/ringfence/policy.toml")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	for subject, access := range map[string]string{
		"path " + r.at("notes/plan.txt"): reason.Read,
		"path " + r.at("notes"):          reason.Read,
		"path " + r.at(".bashrc"):        reason.Write,
		"path " + r.at(".ssh/id_rsa"):    reason.Read,
		"path " + r.at("project/.env"):   reason.Read,
		"host db.internal.test:5432":     reason.Connect,
		"host plain.test":                reason.Resolve,
		"host pastebin.com:443":          reason.Connect,
		"host 10.2.3.4:22":               reason.Connect,
		"host 127.0.0.1:8080":            reason.Connect,
		"env FLAVOUR":                    reason.Pass,
		"env GITHUB_TOKEN":               reason.Pass,
		"push main":                      reason.ToPush,
		"push refs/tags/v1":              reason.ToPush,
	} {
		if err := os.RemoveAll(file); err != nil {
			t.Fatal(err)
		}
		f := ask(t, r.world(t, nil), subject).Of(access)
		if f == nil || f.Verdict == reason.Allowed || f.Grant == nil || f.Grant.Policy == "" {
			t.Errorf("%s: %+v: no grant with lines of policy", subject, f)
			continue
		}
		if len(f.Grant.Also) == 0 {
			t.Errorf("%s: what else the grant allows is not said", subject)
		}
		if err := os.WriteFile(file, []byte(f.Grant.Policy), 0o644); err != nil {
			t.Fatal(err)
		}
		now := ask(t, r.world(t, nil), subject).Of(access)
		if now.Verdict != reason.Allowed || now.By != reason.WallBranch && !strings.Contains(now.Source, "policy.toml:") {
			t.Errorf("%s with\n%s is %+v", subject, f.Grant.Policy, now)
		}
	}
}

func TestFlagsOfGrants(t *testing.T) {
	r := newRoom(t)
	w := r.world(t, nil)
	for subject, want := range map[string][]string{
		"path " + r.at("notes/plan.txt"): {"--ro", r.at("notes/plan.txt")},
		"path " + r.at(".ssh/id_rsa"):    {"--ro", r.at(".ssh/id_rsa"), "--expose", r.at(".ssh/id_rsa")},
		"path " + r.at("project/.env"):   {"--reveal", r.at("project/.env")},
		"host plain.test":                {"--allow-host", "plain.test:443"},
		"host 10.2.3.4:22":               {"--allow-ip", "10.2.3.4:22"},
		"host [fd00::1]:22":              {"--allow-ip", "[fd00::1]:22"},
		"env GITHUB_TOKEN":               {"--force-env", "GITHUB_TOKEN"},
		"push main":                      nil,
	} {
		a := ask(t, w, subject)
		for _, f := range a.Findings {
			if f.Access == reason.Write || f.Access == reason.Execute {
				continue
			}
			if f.Grant == nil || !slices.Equal(f.Grant.Flags, want) {
				t.Errorf("%s %s: %+v, want %q", f.Access, subject, f.Grant, want)
			}
		}
	}
}

// Where a launch with the grant would be refused, that is said, and no grant named.
func TestNoGrantHelps(t *testing.T) {
	r := newRoom(t)
	w := r.world(t, func(o *run.Options) {
		o.Flags.Files.Mask = rules("sub")
		o.Flags.Network.Deny = rules("*.evil.test")
		o.Flags.Broker.Protected = rules("release/*")
	})
	for subject, access := range map[string]string{
		"path /usr/bin/env":                     reason.Write,
		"path /proc/sys/kernel/hostname":        reason.Write,
		"path " + r.home:                        reason.Read,
		"path " + r.at("project/sub/deep/file"): reason.Read,
		"path /dev/x":                           reason.Write,
		"path /.ringfence/x":                    reason.Write,
		"host api.evil.test:443":                reason.Connect,
		"host 169.254.169.254:80":               reason.Connect,
		"push release/1":                        reason.ToPush,
		"push refs/notes/x":                     reason.ToPush,
	} {
		if f := ask(t, w, subject).Of(access); f == nil || f.Grant != nil || f.Help == "" || f.Verdict == reason.Allowed {
			t.Errorf("%s: %+v", subject, f)
		}
	}
	w.With = func(reason.Grant) (*reason.World, error) { return nil, errors.New("the ceiling says no") }
	if f := ask(t, w, "host plain.test").Of(reason.Connect); f.Grant != nil || !strings.Contains(f.Help, "the ceiling says no") {
		t.Errorf("refused: %+v", f)
	}
	w.With = func(reason.Grant) (*reason.World, error) { return w, nil }
	if f := ask(t, w, "host plain.test").Of(reason.Connect); f.Grant != nil || !strings.Contains(f.Help, "still be denied") {
		t.Errorf("in vain: %+v", f)
	}
	w.With = nil
	if f := ask(t, w, "host plain.test").Of(reason.Connect); f.Grant != nil || f.Verdict != reason.Denied {
		t.Errorf("without a way to try: %+v", f)
	}
}

func TestClosedNetwork(t *testing.T) {
	r := newRoom(t)
	w := r.world(t, func(o *run.Options) {
		o.Flags.Network.Mode = &policy.Rule{Value: "none", Source: policy.Source{File: "flag --net"}}
	})
	f := ask(t, w, "host api.github.com").Of(reason.Connect)
	if f.Verdict != reason.Denied || f.By != reason.WallClosed || f.Source != "flag --net" ||
		f.Grant == nil || !slices.Equal(f.Grant.Flags, []string{"--net", "locked", "--allow-host", "api.github.com:443"}) {
		t.Errorf("%+v", f)
	}
	if f := ask(t, w, "push topic").Of(reason.ToPush); f.Verdict != reason.Denied || f.By != reason.WallClosed {
		t.Errorf("%+v", f)
	}
}

// A launch that takes a path to be written takes it to be read: an answer tries only
// the first of the two.
func TestWhatIsWrittenCanBeRead(t *testing.T) {
	r := newRoom(t)
	w := r.world(t, nil)
	taken := 0
	for _, path := range []string{r.at("notes"), r.at("notes/plan.txt"), r.at(".bashrc"), r.at(".ssh"), r.at(".ssh/id_rsa"), r.home, "/", "/tmp", "/etc/hosts",
		"/usr/bin/env", "/var/tmp", r.at("project"), r.at("project/main.go"), "/proc/version", r.at(".config")} {
		_, write := w.With(reason.Grant{Layer: &policy.Policy{Files: policy.Files{Write: rules(path), Expose: rules(path)}}})
		_, read := w.With(reason.Grant{Layer: &policy.Policy{Files: policy.Files{Read: rules(path), Expose: rules(path)}}})
		if write == nil && read != nil {
			t.Errorf("%s can be written and not read: %v", path, read)
		}
		if write == nil {
			taken++
		}
	}
	if taken < 5 {
		t.Errorf("only %d were taken", taken)
	}
}
