package cli

import (
	_ "embed"
	"fmt"
	"strings"

	"ringfence.dev/ringfence/internal/cli/command"
)

// bash makes tables of what follows what, and a function that walks through the words
// typed so far. It needs nothing but bash itself.
func bash(all []*command.Command) string {
	b := &strings.Builder{}
	b.WriteString("# Completion of ringfence for bash. Made by `ringfence completion bash`.\n\n")
	subs := [][2]string{{"", subWords(all)}}
	var flags, values, kinds, args [][2]string
	each(all, func(c *command.Command) {
		subs = append(subs, [2]string{c.Name, subWords(c.Subs)})
		flags = append(flags, [2]string{c.Name, flagWords(c.Flags.Options())})
		values = append(values, [2]string{c.Name, strings.Join(valued(c.Flags.Options()), " ")})
		for _, f := range c.Flags.Options() {
			kinds = append(kinds, [2]string{c.Name + " " + f.Dashed(), valueOf(f)})
		}
		for n := range argumentCount(c) {
			args = append(args, [2]string{fmt.Sprintf("%s %d", c.Name, n), strings.Join(argumentsAt(c, n), " ")})
		}
	})
	caseTable(b, "_ringfence_subs", `"$1"`, subs)
	caseTable(b, "_ringfence_flags", `"$1"`, flags)
	caseTable(b, "_ringfence_values", `"$1"`, values)
	caseTable(b, "_ringfence_kind", `"$1 $2"`, kinds)
	caseTable(b, "_ringfence_args", `"$1 $2"`, args)
	b.WriteString(strings.ReplaceAll(bashWalk, "ASKED", completeArg))
	return b.String()
}

//go:embed walk.bash
var bashWalk string
