package hostexec

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Link judges a symbolic link: one that leaves the tree, or one in the place of
// something that the host executes. It returns nil for others.
func Link(rel, target string) *Finding {
	r, err := Builtin()
	if err != nil {
		return &Finding{Rank: Unasked, Who: "unknown", When: "unknown", Why: err.Error()}
	}
	var out *Finding
	if v := r.JudgeLink(rel); v.Rank != Source && !r.Leads(v, target) {
		out = &Finding{Rank: v.Rank, Who: v.Who, When: v.When, Why: v.Why}
	}
	if !leaves(rel, target) {
		return out
	}
	away := "a link that leads out of the tree, to " + strconv.Quote(short(target))
	if out != nil {
		out.Why += "; " + away
		return out
	}
	return &Finding{Rank: Asked, Who: "whoever writes or deletes through it", When: "when a tool follows it", Why: away}
}

// leaves reports whether a link at rel leads out of the tree, by what it says.
func leaves(rel, target string) bool {
	if path.IsAbs(target) {
		return true
	}
	to := path.Join(path.Dir(rel), target)
	return to == ".." || strings.HasPrefix(to, "../")
}

// Name judges how a path is spelt: names that a terminal obeys, that look like
// others, or that a command takes for an option. It returns nil for others.
func Name(rel string) *Finding {
	what := spelt(rel)
	if what != "" {
		return &Finding{Rank: Asked, Who: "the terminal, or a command that is given the name", When: "when names are listed or expanded", Why: what}
	}
	r, err := Builtin()
	if err != nil {
		return &Finding{Rank: Unasked, Who: "unknown", When: "unknown", Why: err.Error()}
	}
	if other := r.alias(rel); other != "" {
		return &Finding{
			Rank: Unasked, Who: "another file system", When: "when the tree is copied, or names are compared without case",
			Why: "another spelling of " + strconv.Quote(other),
		}
	}
	return nil
}

func spelt(rel string) string {
	if !utf8.ValidString(rel) {
		return "a name that is not UTF-8"
	}
	for _, r := range rel {
		switch {
		case r >= ' ' && r < 0x7f:
		case unicode.IsControl(r):
			return fmt.Sprintf("a control character in the name (%U)", r)
		case disguise(r), unicode.Is(unicode.Cf, r), ignorable(r) && r != 0xfe0f, r == '\u2028', r == '\u2029':
			return fmt.Sprintf("a character in the name that is not seen or turns others around (%U)", r)
		}
	}
	for name := range strings.SplitSeq(rel, "/") {
		if strings.HasPrefix(name, "-") {
			return "a name that begins with a dash: commands take it for an option"
		}
	}
	return ""
}

// alias returns the held name that a name of rel stands for, where letters of
// another case, or dots and spaces behind the name, do not count.
func (r *Rules) alias(rel string) string {
	if !strings.ContainsAny(rel, ":~. ") && !r.Judge(rel, false).Hold {
		return "" // as most: there is nothing to take off
	}
	names := strings.Split(rel, "/")
	plain := make([]string, len(names))
	for i, name := range names {
		plain[i] = bare(name)
	}
	if !r.Judge(strings.Join(plain, "/"), false).Hold {
		return ""
	}
	for i, name := range names {
		if usual := r.spelling(fold(plain[i])); usual != "" && usual != name {
			return usual
		}
	}
	return ""
}

// spelling returns how the data writes a name of a held path.
func (r *Rules) spelling(folded string) string {
	for _, rule := range r.rules {
		if !rule.verdict.Hold {
			continue
		}
		if at := slices.Index(rule.names, folded); at >= 0 {
			return strings.Split(strings.Trim(rule.text, "/"), "/")[at]
		}
	}
	return ""
}

// bare takes off what Windows does not count, and its short name of .git.
func bare(name string) string {
	name, _, _ = strings.Cut(name, ":")
	if name = strings.TrimRight(name, ". "); strings.EqualFold(name, "git~1") {
		return ".git"
	}
	return name
}

const (
	setuid     = 0o4000
	setgid     = 0o2000
	sticky     = 0o1000
	executable = 0o111
)

// Mode judges the permissions of a file that are new, as numbers of Unix. It
// returns nil if the file has gained nothing that counts.
func Mode(rel string, old, new uint32) *Finding {
	gained := new &^ old
	switch {
	case gained&(setuid|setgid) != 0:
		return &Finding{Rank: Unasked, Who: "anybody on this host", When: "when they run it", Why: "runs with the rights of its owner or group"}
	case gained&sticky != 0:
		return &Finding{Rank: Source, Who: "nobody", When: "never", Why: "the sticky bit is set"}
	case gained&executable != 0 && old&executable == 0:
		f := &Finding{Rank: Source, Who: "whoever starts it", When: "when it is started by name", Why: "became executable"}
		if v, ok := judged(rel); ok && v.Rank < Secret {
			f.Rank, f.Who, f.When = v.Rank, v.Who, v.When
		}
		return f
	}
	return nil
}
