package cli

import (
	"fmt"
	"strings"

	"ringfence.dev/ringfence/internal/cli/command"
)

// shells lists those that there is a completion for.
func shells() []string { return []string{"bash", "zsh", "fish"} }

// completionOf is the script for a shell, "" for one that is not known.
func completionOf(shell string, all []*command.Command) string {
	switch shell {
	case "bash":
		return bash(all)
	case "zsh":
		return zsh(all)
	case "fish":
		return fish(all)
	}
	return ""
}

// completeArg is the argument that makes the program tell what there is of a kind.
const completeArg = "__complete"

// dynamic reports whether the program has to be asked.
func dynamic(kind string) bool {
	switch kind {
	case kindSessions, kindAgents, kindSecrets, kindDrills:
		return true
	}
	return false
}

// each visits all commands and subcommands.
func each(all []*command.Command, do func(*command.Command)) {
	for _, c := range all {
		do(c)
		each(c.Subs, do)
	}
}

// quoted is one word for any of the shells.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

func flagWords(flags []command.Option) string {
	words := []string{"--help"}
	for _, f := range flags {
		words = append(words, f.Dashed())
	}
	return strings.Join(words, " ")
}

// valued lists the flags whose next word is theirs.
func valued(flags []command.Option) (words []string) {
	for _, f := range flags {
		if f.Arg != "" {
			words = append(words, f.Dashed())
		}
	}
	return words
}

func subWords(subs []*command.Command) string {
	var words []string
	for _, s := range subs {
		words = append(words, s.Word())
	}
	return strings.Join(words, " ")
}

// splitKinds parts what an argument may be into kinds and words.
func splitKinds(takes []string) (kinds, words []string) {
	for _, t := range takes {
		if w, ok := strings.CutPrefix(t, "="); ok {
			words = append(words, w)
		} else {
			kinds = append(kinds, t)
		}
	}
	return kinds, words
}

// caseTable is a function of a shell of the kind of sh that prints a row for its arguments.
func caseTable(b *strings.Builder, name, head string, rows [][2]string) {
	fmt.Fprintf(b, "%s() {\n\tcase %s in\n", name, head)
	for _, r := range rows {
		if r[1] != "" {
			fmt.Fprintf(b, "\t%s) echo %s ;;\n", quoted(r[0]), quoted(r[1]))
		}
	}
	b.WriteString("\tesac\n}\n\n")
}
