// Package policyimport reads the settings of other tools that fence agents in, or ask
// before they act, and says what of them is policy here: Claude Code's settings,
// Codex' configuration, and those of Anthropic's sandbox runtime (srt).
//
// Every value of the input ends in exactly one of two places: it is carried over, or
// it is listed with the reason why not. Nothing is dropped in silence.
//
// Carried over is what it means, not how it was done: a rule of a tool that is asked
// before it reads a file becomes a path that every program inside does not see. Where
// the two meanings differ the tighter one is taken, or none.
//
// Left at risk: settings may be written by strangers, in a project. What allows
// something is carried over from them as from any other file; who saves it has read it.
package policyimport

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/policy"
)

// Place is where settings were found, and what paths in them are relative to.
type Place struct {
	File string // as it is to be named
	Home string
	Dir  string   // the project
	PATH []string // where the host finds its programs
}

// Left is a value that is not carried over.
type Left struct {
	Key   string `json:"key"`
	Value string `json:"value"` // "" where it could be a secret
	Line  int    `json:"line"`
	Why   string `json:"why"`
}

// Result is what became of a file.
type Result struct {
	Policy  *policy.Policy
	Carried []string // keys of the input, in its order
	Changed []string // what is written in another way here, for people
	Left    []Left
}

// Tools are what can be imported.
func Tools() []string { return []string{"claude", "codex", "srt"} }

// Read reads the settings of a tool.
func Read(tool string, data []byte, at Place) (Result, error) {
	parse, judge := readJSON, (*reader).claude
	switch tool {
	case "claude":
	case "codex":
		parse, judge = readTOML, (*reader).codex
	case "srt":
		judge = (*reader).srt
	default:
		return Result{}, fmt.Errorf("there is no tool %q: %s", tool, strings.Join(Tools(), ", "))
	}
	leaves, err := parse(data)
	if err != nil {
		return Result{}, fmt.Errorf("%s: %w", at.File, err)
	}
	r := &reader{at: at, Result: Result{Policy: &policy.Policy{}}}
	for _, l := range leaves {
		r.leaf = l
		if why := judge(r); why != "" {
			r.Left = append(r.Left, Left{l.key, l.shown(), l.line, why})
		} else {
			r.Carried = append(r.Carried, l.key)
		}
	}
	r.settle()
	return r.Result, nil
}

// reader is one file while it is read.
type reader struct {
	Result
	at   Place
	leaf leaf
}

func (r *reader) source() policy.Source {
	return policy.Source{File: r.at.File + " " + r.leaf.key, Line: r.leaf.line}
}

// put adds a value to a list; a reason comes back if no policy could hold it.
func (r *reader) put(list *policy.List, section, key, value string) string {
	if err := policy.Admit(section, key, value); err != nil {
		return err.Error()
	}
	if !slices.ContainsFunc(*list, func(have policy.Rule) bool { return have.Value == value }) {
		*list = append(*list, policy.Rule{Value: value, Source: r.source()})
	}
	return ""
}

// settle takes back what the whole makes needless or contradicts: here a policy says one
// thing, and no rule that does nothing.
func (r *reader) settle() {
	n, f := &r.Policy.Network, &r.Policy.Files
	r.takeBack(&n.Allow, "the same settings deny it", func(a policy.Rule) bool {
		return slices.ContainsFunc(n.Deny, func(d policy.Rule) bool { return d.Value == a.Value })
	})
	shown := policy.Grants(r.Policy, r.at.Home)
	r.takeBack(&f.Mask, hidden, func(m policy.Rule) bool {
		abs := policy.Expand(m.Value, r.at.Home)
		return path.IsAbs(abs) && !slices.ContainsFunc(shown, func(g policy.Grant) bool { return file.Within(abs, g.Path) })
	})
}

// takeBack moves rules from what is carried over to what is left.
func (r *reader) takeBack(list *policy.List, why string, needless func(policy.Rule) bool) {
	*list = slices.DeleteFunc(*list, func(rule policy.Rule) bool {
		if !needless(rule) {
			return false
		}
		_, key, _ := strings.Cut(rule.Source.File, r.at.File+" ")
		r.Carried = slices.DeleteFunc(r.Carried, func(k string) bool { return k == key })
		r.Left = append(r.Left, Left{key, rule.Value, rule.Source.Line, why})
		return true
	})
	if len(*list) == 0 {
		*list = nil
	}
}

// stat tells whether something is there, and whether it is a directory.
func stat(p string) (dir, ok bool) {
	st, err := os.Stat(p)
	return err == nil && st.IsDir(), err == nil && (st.IsDir() || st.Mode().IsRegular())
}
