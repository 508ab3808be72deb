package hook

import (
	"slices"
	"strings"
)

// codeOptions are the letters that code follows; the others have -c.
var codeOptions = map[string]string{"perl": "eE", "ruby": "e", "lua": "e", "Rscript": "e", "osascript": "e", "node": "ep", "nodejs": "ep", "bun": "ep", "php": "r"}

// interpreter is a language that runs code: what is in its quotes may be a command.
func interpreter(l *look, name string, args []string, in string) {
	lang := strings.TrimRight(name, "0123456789")
	letters := codeOptions[lang]
	if letters == "" {
		letters = "c"
	}
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case strings.HasSuffix(lang, "awk"):
			if a == "-f" || a == "-v" || a == "-F" {
				i++
			} else if !strings.HasPrefix(a, "-") {
				l.language(a)
				return
			}
		case a == "eval" && (name == "deno" || name == "bun"):
		case a == "--eval" || a == "--print" || a == "--run" || a == "-Command" || !strings.HasPrefix(a, "--") && value(a, letters):
			if i+1 < len(args) {
				l.language(args[i+1])
			}
			return
		case a == "-m":
			return
		case a == "-" || !strings.HasPrefix(a, "-"):
			l.language(l.contents(a, in))
			return
		}
	}
	l.language(in)
}

// What code of other languages calls to remove trees, and to run commands.
var (
	removers = strings.Fields("rmtree rmSync rm_rf removedirs remove_tree rimraf RemoveAll rmdirSync")
	runners  = strings.Fields("system exec popen Popen subprocess spawn child_process qx shell `")
)

func containsAny(s string, words []string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(s, word) })
}

// language judges code of another language by the texts in it.
func (l *look) language(code string) {
	if code == remote {
		l.find(Deny, "pipe-to-shell", remoteReason)
		return
	}
	removes, runs := containsAny(code, removers), containsAny(code, runners)
	if !removes && !runs {
		return
	}
	for i, text := range strings.FieldsFunc(code, func(r rune) bool { return r == '"' || r == '\'' || r == '`' }) {
		if i%2 == 0 {
			continue
		}
		trial := *l
		trial.verdict, trial.scripts = Verdict{}, l.scripts+1
		if runs {
			trial.inShell(text, "")
		}
		if home, ok := strings.CutPrefix(text, "~"); ok {
			text = l.sh.where.Home + home
		}
		if removes && trial.sh.reaches(text) == much {
			trial.find(Deny, "rm", "This removes "+say(text)+" and all below it.")
		}
		l.steps = max(l.steps, trial.steps)
		if trial.verdict.Decision != Pass {
			l.find(Ask, trial.verdict.Rule, "This code seems to do what a command may not: "+trial.verdict.Reason)
		}
	}
}
