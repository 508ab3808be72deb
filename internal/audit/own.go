package audit

import (
	"path/filepath"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/policy/knownsecrets"
)

// ownChecks: ringfence itself.
var ownChecks = []Check{
	{ID: "AU-160", Severity: Critical, Title: "Others can replace ringfence",
		Gets: "the next sandbox is theirs", Fix: "chmod go-w {}", probe: openBinary},
	{ID: "AU-161", Severity: High, Title: "Others can write ringfence's policy",
		Gets: "the next sandbox is as wide as they like", Fix: "chmod go-w {}", probe: openPolicy},
	{ID: "AU-162", Severity: Medium, Title: "Policy does without a wall",
		Gets: "nothing: ringfence starts no session with it", Fix: "take `walls` out of [require] in {}", probe: waived},
	{ID: "AU-163", Severity: Medium, Title: "Policy shows a credential inside",
		Gets: "the credential: a misled agent reads it", Fix: "take it out of `expose` in {}, and: ringfence secret set NAME", probe: exposed},
	{ID: "AU-164", Severity: Medium, Title: "Policy passes a secret of the environment",
		Gets: "the secret, by `env` inside", Fix: "take it out of [env] in {}, and: ringfence secret set NAME", probe: passed},
	{ID: "AU-165", Severity: Low, Title: "Policy opens the whole internet",
		Gets: "a way out to every public host", Fix: `mode = "dev" under [network] in {}`, probe: openNetwork},
	{ID: "AU-166", Severity: High, Title: "Others can look into ringfence's records or keys",
		Gets: "what agents did, or a key by which a false record looks true", Fix: "chmod -R go-rwx {}", probe: openState},
}

// openBinary asks the program and the directory it lies in.
func openBinary(l *look) (hits []hit) {
	if l.Binary == "" {
		return nil
	}
	for _, p := range []string{l.Binary, filepath.Dir(l.Binary)} {
		st, ok := l.stat(p)
		sticky := ok && p != l.Binary && st.Mode&unix.S_ISVTX != 0 // there nobody takes another's file away
		if ok && l.everybody().writable(st) && !sticky {
			return []hit{{path: p, detail: modeWords(st)}}
		}
	}
	return nil
}

func (w *World) policyFiles() []string {
	files := []string{w.at(w.Ceiling), filepath.Join(filepath.Dir(w.at(w.Ceiling)), "defaults.toml")}
	if w.Config != "" {
		files = append(files, filepath.Join(w.Config, "policy.toml"), filepath.Join(w.Config, policy.SecretFile))
	}
	return files
}

func openPolicy(l *look) (hits []hit) {
	paths := l.policyFiles()
	if l.Config != "" {
		paths = append(paths, l.Config)
	}
	for _, p := range paths {
		if st, ok := l.stat(p); ok && l.everybody().writable(st) {
			hits = append(hits, hit{path: p, detail: modeWords(st)})
		}
	}
	return hits
}

// policies reads the user's policy. The project's counts only when it is trusted, and
// then somebody has read it.
func (l *look) policies() []*policy.Policy {
	if l.Config == "" {
		return nil
	}
	path := filepath.Join(l.Config, "policy.toml")
	p, err := policy.LoadNamed(path)
	if err != nil {
		l.broken = append(l.broken, hit{path: path, detail: "ringfence starts nothing until it is mended"})
	}
	if err != nil || p == nil {
		return nil
	}
	return []*policy.Policy{p}
}

func waived(l *look) (hits []hit) {
	for _, p := range l.policies() {
		if p.Require.Walls == nil || len(p.Require.Walls) >= len(policy.WallNames()) {
			continue
		}
		h := hit{path: filepath.Join(l.Config, "policy.toml"), detail: "not every wall is required"}
		if len(p.Require.Walls) > 0 {
			h.line = p.Require.Walls[0].Source.Line
		}
		hits = append(hits, h)
	}
	return hits
}

// listed makes hits of rules.
func listed(rules policy.List, detail func(string) string) (hits []hit) {
	for _, r := range rules {
		if d := detail(r.Value); d != "" {
			hits = append(hits, hit{path: r.Source.File, line: r.Source.Line, detail: d})
		}
	}
	return hits
}

func exposed(l *look) (hits []hit) {
	for _, p := range l.policies() {
		hits = append(hits, listed(p.Files.Expose, func(v string) string { return v })...)
	}
	return hits
}

func passed(l *look) (hits []hit) {
	secret := func(name string) string {
		if e, ok := knownsecrets.Env(name); ok && e.Class == knownsecrets.Secret {
			return name
		}
		return ""
	}
	for _, p := range l.policies() {
		hits = append(hits, listed(p.Env.Force, secret)...)
	}
	return hits
}

func openNetwork(l *look) (hits []hit) {
	for _, p := range l.policies() {
		if m := p.Network.Mode; m != nil && policy.Wide(m.Value) {
			hits = append(hits, hit{path: m.Source.File, line: m.Source.Line})
		}
	}
	return hits
}

// openState asks the directories, and the files in them that keep secrets.
func openState(l *look) (hits []hit) {
	for _, p := range []string{l.State, filepath.Join(l.Config, "secrets.age"), filepath.Join(l.State, "seal/key"), filepath.Join(l.State, "journal")} {
		var st unix.Stat_t
		if !filepath.IsAbs(p) || unix.Lstat(p, &st) != nil {
			continue
		}
		if st.Mode&0o007 != 0 || l.everybody().readable(st) {
			hits = append(hits, hit{path: p, detail: modeWords(st)})
		}
	}
	return hits
}
