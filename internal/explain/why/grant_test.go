package why_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/explain/why"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/session/launch"
)

// ask finds the answer for a subject as a person writes it.
func ask(t *testing.T, w *why.World, subject string) *why.Answer {
	t.Helper()
	kind, rest, _ := strings.Cut(subject, " ")
	switch kind {
	case "host":
		to, err := why.Target(rest)
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
		"path " + r.at("notes/plan.txt"): why.Read,
		"path " + r.at("notes"):          why.Read,
		"path " + r.at(".bashrc"):        why.Write,
		"path " + r.at(".ssh/id_rsa"):    why.Read,
		"path " + r.at("project/.env"):   why.Read,
		"host db.internal.test:5432":     why.Connect,
		"host plain.test":                why.Resolve,
		"host pastebin.com:443":          why.Connect,
		"host 10.2.3.4:22":               why.Connect,
		"host 127.0.0.1:8080":            why.Connect,
		"env FLAVOUR":                    why.Pass,
		"env GITHUB_TOKEN":               why.Pass,
		"push main":                      why.ToPush,
		"push refs/tags/v1":              why.ToPush,
	} {
		if err := os.RemoveAll(file); err != nil {
			t.Fatal(err)
		}
		f := ask(t, r.world(t, nil), subject).Of(access)
		if f == nil || f.Verdict == why.Allowed || f.Grant == nil || f.Grant.Policy == "" {
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
		if now.Verdict != why.Allowed || now.By != why.WallBranch && !strings.Contains(now.Source, "policy.toml:") {
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
			if f.Access == why.Write || f.Access == why.Execute {
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
	w := r.world(t, func(o *launch.Options) {
		o.Flags.Files.Mask = rules("sub")
		o.Flags.Network.Deny = rules("*.evil.test")
		o.Flags.Broker.Protected = rules("release/*")
	})
	for subject, access := range map[string]string{
		"path /usr/bin/env":                     why.Write,
		"path /proc/sys/kernel/hostname":        why.Write,
		"path " + r.home:                        why.Read,
		"path " + r.at("project/sub/deep/file"): why.Read,
		"path /dev/x":                           why.Write,
		"path /.ringfence/x":                    why.Write,
		"host api.evil.test:443":                why.Connect,
		"host 169.254.169.254:80":               why.Connect,
		"push release/1":                        why.ToPush,
		"push refs/notes/x":                     why.ToPush,
	} {
		if f := ask(t, w, subject).Of(access); f == nil || f.Grant != nil || f.Help == "" || f.Verdict == why.Allowed {
			t.Errorf("%s: %+v", subject, f)
		}
	}
	w.With = func(why.Grant) (*why.World, error) { return nil, errors.New("the ceiling says no") }
	if f := ask(t, w, "host plain.test").Of(why.Connect); f.Grant != nil || !strings.Contains(f.Help, "the ceiling says no") {
		t.Errorf("refused: %+v", f)
	}
	w.With = func(why.Grant) (*why.World, error) { return w, nil }
	if f := ask(t, w, "host plain.test").Of(why.Connect); f.Grant != nil || !strings.Contains(f.Help, "still be denied") {
		t.Errorf("in vain: %+v", f)
	}
	w.With = nil
	if f := ask(t, w, "host plain.test").Of(why.Connect); f.Grant != nil || f.Verdict != why.Denied {
		t.Errorf("without a way to try: %+v", f)
	}
}

func TestClosedNetwork(t *testing.T) {
	r := newRoom(t)
	w := r.world(t, func(o *launch.Options) {
		o.Flags.Network.Mode = &policy.Rule{Value: "none", Source: policy.Source{File: "flag --net"}}
	})
	f := ask(t, w, "host api.github.com").Of(why.Connect)
	if f.Verdict != why.Denied || f.By != why.WallClosed || f.Source != "flag --net" ||
		f.Grant == nil || !slices.Equal(f.Grant.Flags, []string{"--net", "locked", "--allow-host", "api.github.com:443"}) {
		t.Errorf("%+v", f)
	}
	if f := ask(t, w, "push topic").Of(why.ToPush); f.Verdict != why.Denied || f.By != why.WallClosed {
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
		_, write := w.With(why.Grant{Layer: &policy.Policy{Files: policy.Files{Write: rules(path), Expose: rules(path)}}})
		_, read := w.With(why.Grant{Layer: &policy.Policy{Files: policy.Files{Read: rules(path), Expose: rules(path)}}})
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
