package scan

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"ringfence.dev/ringfence/internal/file/settings"
	"ringfence.dev/ringfence/internal/workspace/hostexec"
)

// pattern compiles an expression when it is first used: most processes never do.
func pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

func itoa(n int) string { return strconv.Itoa(n) }

// plainProgram is a program by its name, with plain arguments: what people set for
// an editor or a pager.
var plainProgram = pattern(`^[A-Za-z0-9_][A-Za-z0-9_.+-]*( +-{0,2}[A-Za-z0-9_=,.+-]+)*$`)

// gitConfig judges a configuration of git. What a person sets, and what only leads to
// files of the tree that are run when asked, is a note or nothing.
func gitConfig(rules *hostexec.Rules, data []byte, bare bool) judged {
	found, err := rules.GitSettings(data)
	if err != nil {
		return judged{hits: []hit{unclear(err)}, neutral: []byte{}, mended: true}
	}
	var out judged
	out.unlogged, out.hits = gitLogins(data)
	if out.unlogged != nil {
		data = out.unlogged
		if found, err = rules.GitSettings(data); err != nil {
			return judged{hits: []hit{unclear(err)}, neutral: []byte{}, mended: true}
		}
	}
	gone := map[[2]string]bool{}
	for _, s := range found {
		k, ok := gitKind(strings.ToLower(s.Key), s.Value)
		if bare && k.level == Danger {
			k = kBare
		} else if bare {
			continue
		}
		if !ok {
			continue
		}
		gone[[2]string{s.Key, s.Value}] = k.level == Danger
		out.mended = out.mended || k.level == Danger
		out.hits = append(out.hits, hit{kind: k, line: s.Line, what: quote(s.Key) + " is " + quote(s.Value), seed: s.Key + "\x00" + s.Value, runs: s.Value, full: s.Value})
	}
	if out.mended {
		out.neutral, err = hostexec.GitWithout(data, func(key, value string) bool { return gone[[2]string{key, value}] })
		if err != nil {
			out.neutral = []byte{}
		}
	}
	return out
}

// gitLogins takes the credentials out of a configuration of git. No finding quotes them.
func gitLogins(data []byte) ([]byte, []hit) {
	clean, found, err := settings.WithoutGitLogins(data)
	if err != nil {
		return nil, nil // it is not clear anyway
	}
	var out []hit
	for _, l := range found {
		out = append(out, hit{kind: kLogin, line: l.Line, what: quote(l.Key) + " holds a login", seed: l.Key})
	}
	return clean, out
}

// usual are settings that lead nowhere, or that git itself and its tools write.
var usual = []string{
	"extensions.worktreeconfig", "maintenance.", "core.notesref", "notes.", "submodule.alternate", "rebase.", "sequencer.", "core.worktree",
	"core.excludesfile", "protocol.", "difftool.guidefault", "instaweb.", "fsmonitor.",
}

func gitKind(key, value string) (kind, bool) {
	for _, u := range usual {
		if strings.HasPrefix(key, u) {
			return kind{}, false
		}
	}
	switch {
	case strings.HasPrefix(key, "filter.lfs.") && strings.HasPrefix(value, "git-lfs ") && plainFilter(value),
		key == "core.fsmonitor" && boolean(value), key == "http.sslverify" && boolean(value) && value != "false" && value != "0" && value != "off" && value != "no":
		return kind{}, false
	case key == "core.hookspath":
		if local(value) || value == "/dev/null" {
			return kGitLocal, value != "/dev/null"
		}
	case strings.HasPrefix(key, "credential.") && (value == "" || plainProgram().MatchString(value)):
		return kind{}, false
	case strings.HasPrefix(key, "sendemail.") || strings.HasPrefix(key, "gpg.") || strings.HasPrefix(key, "core.editor") || strings.HasPrefix(key, "core.pager") ||
		strings.HasPrefix(key, "pager.") || strings.HasSuffix(key, ".driver") || strings.HasPrefix(key, "sequence.") || strings.HasPrefix(key, "diff.") || strings.HasPrefix(key, "interactive."):
		if plainProgram().MatchString(value) {
			return kind{}, false
		}
	case strings.HasPrefix(key, "alias."):
		return kGitLocal, true
	}
	return kGit, true
}

// plainFilter: what git-lfs installs has nothing else in it.
func plainFilter(value string) bool {
	return plainProgram().MatchString(strings.TrimSuffix(strings.ReplaceAll(value, " -- %f", ""), " %f"))
}

func boolean(v string) bool {
	switch strings.ToLower(v) {
	case "", "true", "false", "yes", "no", "on", "off", "0", "1":
		return true
	}
	return false
}

// modules judges .gitmodules by what hostexec says of it.
func modules(rules *hostexec.Rules, rel string, data []byte) []hit {
	var out []hit
	for _, f := range rules.Inspect(rel, nil, data) {
		if f.Rank == hostexec.Unasked {
			out = append(out, hit{kind: kModule, line: f.Line, what: f.Why, seed: f.Why})
		}
	}
	return out
}
