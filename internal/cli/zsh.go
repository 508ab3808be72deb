package cli

import (
	"fmt"
	"strings"

	"ringfence.dev/ringfence/internal/cli/command"
)

// zsh makes one function a command, in the words of _arguments.
func zsh(all []*command.Command) string {
	b := &strings.Builder{}
	b.WriteString("#compdef ringfence\n# Completion of ringfence for zsh. Made by `ringfence completion zsh`.\n\n")
	b.WriteString(strings.ReplaceAll(zshAsk, "ASKED", completeArg))
	each(all, func(c *command.Command) { zshCommand(b, c) })
	zshGroup(b, "_ringfence", "", all, "command", "\t\t_ringfence_ask agents\n", "\t\t*) _ringfence_run ;;\n")
	b.WriteString("if [[ $funcstack[1] == _ringfence ]]; then\n\t_ringfence \"$@\"\nelse\n\tcompdef _ringfence ringfence\nfi\n")
	return b.String()
}

const zshAsk = `# _ringfence_ask offers what the program says there is of a kind.
_ringfence_ask() {
	local -a found
	found=(${(f)"$(_call_program $1 ringfence ASKED $1 2>/dev/null)"})
	(( $#found )) && compadd -a found
}

`

func zshName(name string) string {
	return "_ringfence_" + strings.NewReplacer(" ", "_", "-", "_").Replace(name)
}

// zshGroup offers subcommands, and goes on with the one that was typed.
func zshGroup(b *strings.Builder, name, own string, subs []*command.Command, what, more, other string) {
	fmt.Fprintf(b, "%s() {\n\tlocal curcontext=$curcontext state line\n\ttypeset -A opt_args\n", name)
	fmt.Fprintf(b, "\t_arguments -C %s '1: :->first' '*:: :->rest' && return 0\n\tcase $state in\n\tfirst)\n", own)
	fmt.Fprintf(b, "\t\tlocal -a list=(\n")
	for _, s := range subs {
		fmt.Fprintf(b, "\t\t\t%s\n", quoted(strings.ReplaceAll(s.Word(), ":", `\:`)+":"+s.Short))
	}
	fmt.Fprintf(b, "\t\t)\n\t\t_describe %s list\n%s\t\t;;\n\trest)\n\t\tcase $line[1] in\n", what, more)
	for _, s := range subs {
		fmt.Fprintf(b, "\t\t%s) %s ;;\n", s.Word(), zshName(s.Name))
	}
	fmt.Fprintf(b, "%s\t\tesac\n\t\t;;\n\tesac\n}\n\n", other)
}

func zshCommand(b *strings.Builder, c *command.Command) {
	if len(c.Subs) > 0 {
		more := ""
		for _, action := range zshActions(c, 0) {
			more += "\t\t" + action + "\n"
		}
		own := []string{zshFlag(command.Option{Name: "help", Text: "explain it"})}
		for _, f := range c.Flags.Options() {
			own = append(own, zshFlag(f))
		}
		zshGroup(b, zshName(c.Name), strings.Join(own, " "), c.Subs, "subcommand", more, "\t\t*) _files ;;\n")
		return
	}
	fmt.Fprintf(b, "%s() {\n\t_arguments -S \\\n", zshName(c.Name))
	fmt.Fprintf(b, "\t\t%s", zshFlag(command.Option{Name: "help", Text: "explain it"}))
	for _, f := range c.Flags.Options() {
		fmt.Fprintf(b, " \\\n\t\t%s", zshFlag(f))
	}
	repeated := false
	for n := range argumentCount(c) {
		place := fmt.Sprintf("%d", n+1)
		if places(c)[n].repeated {
			place, repeated = "*", true
		}
		fmt.Fprintf(b, " \\\n\t\t%s", quoted(fmt.Sprintf("%s: :{%s}", place, strings.Join(append(zshActions(c, n), "true"), "; "))))
	}
	if strings.Contains(c.Args, "-- ") && !repeated {
		fmt.Fprintf(b, " \\\n\t\t'*:: :_normal'")
	}
	b.WriteString("\n}\n\n")
}

// zshActions are the calls that offer what an argument may be.
func zshActions(c *command.Command, n int) (out []string) {
	kinds, words := splitKinds(argumentsAt(c, n))
	for _, k := range kinds {
		switch {
		case dynamic(k):
			out = append(out, "_ringfence_ask "+k)
		case k == kindCommands:
			out = append(out, "_ringfence_ask commands")
		default:
			out = append(out, "_files")
		}
	}
	if len(words) > 0 {
		out = append(out, "compadd "+strings.Join(words, " "))
	}
	return out
}

// zshFlag is the flag as _arguments wants it. All may be repeated.
func zshFlag(f command.Option) string {
	text := strings.NewReplacer("[", `\[`, "]", `\]`, ":", `\:`).Replace(f.Text)
	spec := fmt.Sprintf("*%s[%s]", f.Dashed(), text)
	if f.Arg == "" {
		return quoted(spec)
	}
	action := " "
	switch kind := valueOf(f); {
	case dynamic(kind):
		action = " _ringfence_ask " + kind
	case kind == kindFiles:
		action = "_files"
	}
	return quoted(fmt.Sprintf("%s:%s:%s", spec, strings.ReplaceAll(f.Arg, ":", `\:`), action))
}
