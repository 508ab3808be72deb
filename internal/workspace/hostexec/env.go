package hostexec

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/file/settings"
)

// Programs load .env and its like from the directory that they are started in, and put
// all of it into the environment of whatever they start: a variable there is a way to run
// code. So such a file is judged by content: what sets one of those variables waits.

// Env reports whether programs load a file of this name by themselves. Examples are read
// by nobody.
func (r *Rules) Env(name string) bool {
	if name == "" || name[0] != '.' && name[0] < 0x80 {
		return false
	}
	var buf [128]byte
	folded := appendFold(buf[:0], name)
	return anyGlob(r.env.names, folded) && !anyGlob(r.env.but, folded)
}

func anyGlob(patterns []string, name []byte) bool {
	for _, p := range patterns {
		if file.Star(p, name) {
			return true
		}
	}
	return false
}

// byEnv judges a path by that. A link there shows whatever it leads to, which may be of
// any name and change at any time: it is held.
func (r *Rules) byEnv(v Verdict, rel string, kind Kind) Verdict {
	if v.Hold || v.Form != FormAny || kind != KindFile && kind != KindLink || !r.Env(baseName(rel)) {
		return v
	}
	v.Form = FormEnv
	if kind == KindLink {
		v.Hold, v.Rank, v.Root, v.Who, v.When, v.Rule = true, Unasked, rel, EnvReaders, EnvWhen, "a link in the place of .env"
		v.Why = "it may lead to a file that sets any variable"
	}
	return v
}

// Who obeys such a file, and when.
const (
	EnvReaders = "Gemini CLI, and other programs that load it"
	EnvWhen    = "when they are started there"
)

// Leads reports whether a link that the verdict holds may be made after all: the name at
// its end is one whose content is judged itself.
func (r *Rules) Leads(v Verdict, target string) bool {
	return v.Form == FormEnv && !strings.HasPrefix(target, "/") && r.Env(baseName(target))
}

// EnvDanger says why a variable of such a file is dangerous, "" if it is not.
func EnvDanger(name, value string) string {
	switch {
	case name == "":
		return ""
	case name == "?":
		return "a name that cannot be read for sure"
	case LeadsAstray(name):
		return "a variable that makes a program run or trust something else"
	case runs(value):
		return whyRuns
	}
	return ""
}

const whyRuns = "a value that some readers run as a command"

// runs holds for a value that may become one with $( in it. Ruby's dotenv takes away
// backslashes first and puts in variables, and then runs what it finds: $\(, ${A}(.
func runs(value string) bool {
	_, rest, ok := strings.Cut(value, "$")
	return ok && strings.Contains(rest, "(")
}

// fitsEnv says whether a file of variables may be on the host without a person. old is
// what was there, nil for nothing or if it is not known: what is dangerous and was there
// in the same way was a person's.
func fitsEnv(old, new []byte) error {
	now, err := envDangers(new)
	if err != nil || len(now) == 0 {
		return err
	}
	was, err := envDangers(old)
	same := err == nil && slices.EqualFunc(was, now, func(a, b envDanger) bool { return a.line.Text == b.line.Text })
	if same && plainEnv(old) && plainEnv(new) && !slices.ContainsFunc(now, envDanger.expands) {
		return nil
	}
	return fmt.Errorf("line %d: %s: %q", now[0].line.N, now[0].why, short(now[0].line.Name))
}

type envDanger struct {
	line Line
	why  string
}

// expands: the value depends on other variables, which may be others by now.
func (d envDanger) expands() bool { return strings.Contains(d.line.Value, "$") }

// MaxEnv bounds such a file. A larger one waits.
const MaxEnv = maxLook

func envDangers(text []byte) (out []envDanger, err error) {
	if len(text) > MaxEnv {
		return nil, errors.New("too large to be judged")
	}
	if err := settings.OneReading(text); err != nil {
		return nil, err
	}
	lines, err := Lines(text)
	if err != nil {
		return nil, err
	}
	plain, opens := plainEnv(text), false
	for l := range lines {
		opens = opens || (!plain || l.Name != "") && strings.Contains(l.Text, "(")
	}
	for l := range lines {
		if l.Err != nil {
			return nil, fmt.Errorf("line %d: %w", l.N, l.Err)
		}
		why := EnvDanger(l.Name, l.Value)
		if why == "" && (!plain && runs(l.Text) || opens && joins(l.Value)) {
			why = whyRuns // no comment but a part of a value; or $ and ( of two variables
		}
		if why != "" {
			out = append(out, envDanger{l, why})
		}
	}
	return out, nil
}

// joins holds for a value that puts two variables together, or a $ and a variable.
func joins(value string) bool { return strings.Count(value, "$") > 1 }

// plainEnv: every line is a setting by itself. A line that was within quotes, where it sets
// nothing, must not be taken for the same line outside of them.
func plainEnv(text []byte) bool {
	lines, err := Lines(text)
	if err != nil {
		return false
	}
	for l := range lines {
		v := l.Value
		if len(v) > 1 && strings.IndexByte("\"'`", v[0]) >= 0 && v[len(v)-1] == v[0] {
			v = v[1 : len(v)-1]
		}
		if strings.ContainsAny(v, "\"'`\\") || strings.ContainsAny(l.Name, "\"'`") {
			return false
		}
	}
	return true
}

// envSettings reads a file of variables for people: those that are dangerous.
func envSettings(b []byte) ([]setting, error) {
	found, err := envDangers(b)
	if len(found) > maxSettings {
		return nil, errMany
	}
	var out []setting
	for _, d := range found {
		out = append(out, setting{key: fold(d.line.Name), shown: d.line.Name, value: d.line.Value, line: d.line.N})
	}
	return out, err
}
