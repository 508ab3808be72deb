package rules

import (
	"fmt"
	"io"
	"strings"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/explain/why"
	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// writeAnswer prints an answer for people, in 80 columns.
func writeAnswer(w io.Writer, a *why.Answer, file string) {
	fmt.Fprintf(w, "%s %s\n", a.Kind, plan.Show(a.Subject))
	var told *why.Grant
	for i := range a.Findings {
		f := &a.Findings[i]
		fmt.Fprintf(w, "\n  %-8s %s\n", f.Access, f.Verdict)
		if i > 0 && same(f, &a.Findings[i-1]) || i > 1 && same(f, &a.Findings[0]) {
			line(w, "", "for the same reason")
			continue
		}
		line(w, "", f.Reason)
		line(w, "wall", f.By)
		if f.Rule != "" {
			line(w, "rule", fmt.Sprintf("%s (%s)", f.Rule, f.Source))
		}
		if f.Help != "" {
			line(w, "help", f.Help)
		}
		switch {
		case f.Grant == nil:
		case f.Grant == told:
			line(w, "grant", "the same")
		default:
			writeGrant(w, f.Grant, file)
			told = f.Grant
		}
	}
	for _, n := range a.Notes {
		fmt.Fprintf(w, "\n%s\n", command.Wrap("note: "+command.Inert(n), 0, 80))
	}
}

// same holds for two accesses that are answered alike.
func same(a, b *why.Finding) bool {
	return a.Verdict == b.Verdict && a.By == b.By && a.Reason == b.Reason && a.Rule == b.Rule
}

// line prints a named line below an access.
func line(w io.Writer, name, text string) {
	if name != "" {
		name += ": "
	}
	fmt.Fprintf(w, "  %-8s %s\n", "", command.Wrap(name+command.Inert(text), 11, 80))
}

// writeGrant prints a grant as a flag and as lines of a file: these are not broken, so
// that they can be copied.
func writeGrant(w io.Writer, g *why.Grant, file string) {
	if len(g.Flags) > 0 {
		var words []string
		for _, f := range g.Flags {
			words = append(words, shellWord(f))
		}
		fmt.Fprintf(w, "  %-8s grant: %s\n", "", strings.Join(words, " "))
	}
	if g.Live != "" {
		fmt.Fprintf(w, "  %-8s while it runs: %s\n", "", command.Inert(g.Live))
	}
	if g.Policy != "" {
		fmt.Fprintf(w, "  %-8s in %s:\n", "", command.Inert(file))
		for l := range strings.Lines(g.Policy) {
			fmt.Fprintf(w, "  %-8s   %s\n", "", command.Inert(strings.TrimSuffix(l, "\n")))
		}
	}
	for _, also := range g.Also {
		line(w, "besides", also)
	}
}

// shellWord writes a word so that a shell reads it as it is.
func shellWord(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=,%+@-*[]") == "" && !strings.ContainsAny(s, "*[") {
		return s
	}
	if command.Inert(s) != s {
		return plan.Show(s) // no shell reads it so, but no terminal obeys it either
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// writeRefusal prints what was refused then, and what would become of it now.
func writeRefusal(w io.Writer, r *refusal, file string) {
	rec := &r.Record
	subject := "something without a name"
	if rec.Subject != "" {
		subject = plan.Show(rec.Subject)
	}
	fmt.Fprintf(w, "session %s, %s: %s %s\n", r.Session, rec.Time.Local().Format("2006-01-02 15:04:05"), subject, command.Inert(rec.Verdict))
	line(w, "by", rec.By)
	if rec.Reason != "" {
		line(w, "", rec.Reason)
	}
	if rec.Rule != "" {
		src := rec.Source
		if src == "" {
			src = why.BuiltIn
		}
		line(w, "rule then", fmt.Sprintf("%s (%s)", rec.Rule, src))
	}
	if rec.Command != "" {
		line(w, "asked by", fmt.Sprintf("%s (process %d inside)", plan.Show(rec.Command), rec.PID))
	}
	switch {
	case r.Now == nil:
		line(w, "", "there is nothing that a grant could change about it")
		return
	case r.Said:
		fmt.Fprintf(w, "\nThe host was allowed, and what was said to it was not. Of the host itself:\n\n")
	case r.Still:
		fmt.Fprintf(w, "\nA launch here and now would refuse it too:\n\n")
	default:
		fmt.Fprintf(w, "\nA launch here and now would not refuse it:\n\n")
	}
	writeAnswer(w, r.Now, file)
}
