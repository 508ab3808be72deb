package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/fault"
)

// command is one command or subcommand. Help, the manual and the shells' completion are
// made of it, and of nothing else; it is not run for that.
type command struct {
	name     string   // as typed after "ringfence": "policy show"
	args     string   // "[SESSION] [PATH...] [flags]"
	short    string   // one line
	long     string   // paragraphs
	examples []string // each begins with "ringfence"
	flags    flagSet
	subs     []*command
	instead  string // the name to use now, of a name that goes with the next release

	takes  takes
	cut    bool // what stands behind -- is kept apart, in behind
	status int  // of wrong usage, where 2 could come from what it runs
	run    func(c *console, args []string) (int, error)

	typed, behind []string // once it is parsed
}

// takes says which arguments a command has besides its flags.
type takes int

const (
	takesNone takes = iota
	takesOne        // or none, before the flags or behind them
	takesMany       // with flags between them
	takesRest       // from the first on, all are arguments
	takesRaw        // run reads them itself
)

// word is the last word of the name: "show" of "policy show".
func (cmd *command) word() string { return cmd.name[strings.LastIndexByte(cmd.name, ' ')+1:] }

// family makes a command of its subcommands, that does nothing without one.
func family(cmd *command, subs ...*command) *command {
	cmd.subs, cmd.takes = subs, takesRest
	var names []string
	for _, s := range subs {
		names = append(names, s.word())
	}
	cmd.args = strings.Join(names, "|")
	cmd.run = func(c *console, args []string) (int, error) {
		list := strings.Join(names, ", ")
		if len(args) == 0 {
			return 2, cmd.misused("%s needs one of %s", cmd.name, list)
		}
		return 2, cmd.misused("%s needs one of %s, not %q%s", cmd.name, list, args[0], suggest(args[0], names))
	}
	return cmd
}

// misused is the error of a command line that the command does not have.
func (cmd *command) misused(format string, args ...any) error {
	return fault.New(fault.Usage, fmt.Sprintf("run `ringfence %s --help`", cmd.name), format, args...)
}

// sub finds the subcommand that arguments begin with, or the command itself.
func (cmd *command) sub(args []string) (*command, []string) {
	if len(args) > 0 {
		for _, s := range cmd.subs {
			if s.word() == args[0] {
				return s.sub(args[1:])
			}
		}
	}
	return cmd, args
}

// parse reads the flags and returns the arguments.
func (cmd *command) parse(args []string) ([]string, error) {
	cmd.typed = args
	if i := slices.Index(args, "--"); cmd.cut && i >= 0 {
		args, cmd.behind = args[:i], args[i+1:]
	}
	var first []string
	switch cmd.takes {
	case takesRaw:
		return args, nil
	case takesRest:
		err := cmd.parseFlags(args)
		return cmd.flags.Args(), err
	case takesMany:
		return cmd.parseMixed(args)
	case takesOne:
		if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
			first, args = args[:1], args[1:]
		}
	}
	if err := cmd.parseFlags(args); err != nil {
		return nil, err
	}
	rest := cmd.flags.Args()
	if cmd.takes == takesOne && first == nil && len(rest) == 1 {
		return rest, nil
	}
	if len(rest) > 0 {
		return nil, cmd.misused("%s takes no argument %q", cmd.name, rest[0])
	}
	return first, nil
}

// parseMixed reads flags that may stand between arguments.
func (cmd *command) parseMixed(args []string) (rest []string, err error) {
	for {
		if err := cmd.parseFlags(args); err != nil {
			return nil, err
		}
		more := cmd.flags.Args()
		if len(more) == 0 {
			return rest, nil
		}
		if at := len(args) - len(more); at > 0 && args[at-1] == "--" {
			return append(rest, more...), nil
		}
		rest, args = append(rest, more[0]), more[1:]
	}
}

// parseFlags reads flags up to the first argument; a wrong one is a usage error that
// names the command's help.
func (cmd *command) parseFlags(args []string) error {
	cmd.flags.SetOutput(io.Discard)
	cmd.flags.Usage = func() {}
	err := cmd.flags.Parse(args)
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return err
	}
	// The flag package names flags with one dash; people type two.
	text := strings.ReplaceAll(err.Error(), ": -", ": --")
	text = strings.ReplaceAll(text, "flag -", "flag --")
	if _, typed, unknown := strings.Cut(text, "not defined: "); unknown {
		var names []string
		for _, o := range cmd.flags.options() {
			names = append(names, o.dashed())
		}
		slices.Sort(names)
		text += suggest(typed, names)
	}
	return cmd.misused("%s: %s", cmd.name, text)
}

// first is the only argument, or "".
func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// execute runs a command, or the subcommand that the arguments name.
func (c *console) execute(cmd *command, args []string) (int, error) {
	cmd, args = cmd.sub(args)
	args, err := cmd.parse(args)
	status := max(cmd.status, 2)
	if err == nil {
		status, err = cmd.run(c, args)
	}
	if errors.Is(err, flag.ErrHelp) {
		c.explainCommand(cmd)
	}
	return status, err
}

// flagSet are the flags of a command, in groups.
type flagSet struct {
	flag.FlagSet
	titles []string       // of the groups
	group  map[string]int // of a flag, by its name: the number of its title
}

// begin says what the flags are about that are declared from now on.
func (f *flagSet) begin(title string) {
	f.settle()
	f.titles = append(f.titles, title)
}

// settle puts into the last group what is in none. Flags before the first are in group 0,
// which has no title.
func (f *flagSet) settle() {
	if f.group == nil {
		f.group = map[string]int{}
	}
	f.VisitAll(func(fl *flag.Flag) {
		if _, known := f.group[fl.Name]; !known {
			f.group[fl.Name] = len(f.titles)
		}
	})
}

// isSet reports whether a flag was given.
func (f *flagSet) isSet(name string) (set bool) {
	f.Visit(func(fl *flag.Flag) { set = set || fl.Name == name })
	return set
}

// option is what is told of a flag.
type option struct {
	name  string
	arg   string // what stands for its value; "" if it has none
	text  string
	group string // the title of its group, or ""
}

// dashed is the flag as it is typed.
func (o option) dashed() string {
	if len(o.name) == 1 {
		return "-" + o.name
	}
	return "--" + o.name
}

// options are all flags, group by group.
func (f *flagSet) options() (all []option) {
	f.settle()
	for n := range len(f.titles) + 1 {
		title := ""
		if n > 0 {
			title = f.titles[n-1]
		}
		f.VisitAll(func(fl *flag.Flag) {
			if f.group[fl.Name] == n {
				arg, text := flag.UnquoteUsage(fl)
				all = append(all, option{fl.Name, arg, text, title})
			}
		})
	}
	return all
}
