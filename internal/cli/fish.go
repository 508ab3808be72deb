package cli

import (
	_ "embed"
	"fmt"
	"strings"

	"ringfence.dev/ringfence/internal/cli/command"
)

// fish makes one line a flag, each under the condition that its command was typed.
func fish(all []*command.Command) string {
	b := &strings.Builder{}
	b.WriteString("# Completion of ringfence for fish. Made by `ringfence completion fish`.\n\n")
	fishWalk(b, all)
	b.WriteString("complete -c ringfence -f\n")
	b.WriteString("complete -c ringfence -n '__ringfence_at \"\"' -a '(ringfence " + completeArg + " agents)'\n")
	b.WriteString("complete -c ringfence -n __ringfence_beyond -F\n")
	for _, c := range all {
		fishSub(b, "", c)
	}
	each(all, func(c *command.Command) {
		for _, s := range c.Subs {
			fishSub(b, c.Name, s)
		}
		fishFlag(b, c.Name, command.Option{Name: "help", Text: "explain it"})
		for _, f := range c.Flags.Options() {
			fishFlag(b, c.Name, f)
		}
		for n := range argumentCount(c) {
			fishArgs(b, c, n)
		}
	})
	return b.String()
}

// fishWalk is what knows the command that the words so far name, and how many
// arguments it has.
func fishWalk(b *strings.Builder, all []*command.Command) {
	b.WriteString("function __ringfence_subs\n\tswitch \"$argv[1]\"\n")
	fmt.Fprintf(b, "\t\tcase ''\n\t\t\tstring split ' ' %s\n", quoted(subWords(all)))
	each(all, func(c *command.Command) {
		if len(c.Subs) > 0 {
			fmt.Fprintf(b, "\t\tcase %s\n\t\t\tstring split ' ' %s\n", quoted(c.Name), quoted(subWords(c.Subs)))
		}
	})
	b.WriteString("\tend\nend\n\nfunction __ringfence_values\n\tswitch \"$argv[1]\"\n")
	each(all, func(c *command.Command) {
		if words := valued(c.Flags.Options()); len(words) > 0 {
			fmt.Fprintf(b, "\t\tcase %s\n\t\t\tstring split ' ' -- %s\n", quoted(c.Name), quoted(strings.Join(words, " ")))
		}
	})
	b.WriteString("\tend\nend\n\n" + fishState)
}

//go:embed walk.fish
var fishState string

func fishAt(name string, more ...string) string {
	return quoted(strings.Join(append([]string{`__ringfence_at "` + name + `"`}, more...), " "))
}

func fishSub(b *strings.Builder, parent string, c *command.Command) {
	fmt.Fprintf(b, "complete -c ringfence -n %s -a %s -d %s\n", fishAt(parent, "0"), quoted(c.Word()), quoted(c.Short))
}

func fishFlag(b *strings.Builder, name string, f command.Option) {
	form := "-l " + f.Name
	if len(f.Name) == 1 {
		form = "-s " + f.Name
	}
	value := ""
	if f.Arg != "" {
		value = " -r" + fishFrom([]string{valueOf(f)})
	}
	fmt.Fprintf(b, "complete -c ringfence -n %s %s%s -d %s\n", fishAt(name), form, value, quoted(f.Text))
}

func fishArgs(b *strings.Builder, c *command.Command, n int) {
	from := fishFrom(argumentsAt(c, n))
	if from == "" {
		return
	}
	at := []string{fmt.Sprint(n)}
	if places(c)[n].repeated {
		at = append(at, "more")
	}
	fmt.Fprintf(b, "complete -c ringfence -n %s%s\n", fishAt(c.Name, at...), from)
}

// fishFrom says where candidates come from.
func fishFrom(takes []string) (out string) {
	kinds, words := splitKinds(takes)
	for _, k := range kinds {
		switch {
		case k == kindFiles:
			out += " -F"
		case k == kindCommands:
			words = append(words, "(__ringfence_subs \"\")")
		case k != "":
			words = append(words, "(ringfence "+completeArg+" "+k+")")
		}
	}
	if len(words) > 0 {
		out += " -a " + quoted(strings.Join(words, " "))
	}
	return out
}
