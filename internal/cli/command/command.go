package command

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/fault"
)

// Command is one command or subcommand. Help, the manual and the shells' completion are
// made of it, and of nothing else; it is not run for that.
type Command struct {
	Name     string   // as typed after "ringfence": "policy show"
	Args     string   // "[SESSION] [PATH...] [flags]"
	Short    string   // one line
	Long     string   // paragraphs
	Examples []string // each begins with "ringfence"
	Flags    FlagSet
	Subs     []*Command
	Instead  string // the name to use now, of a name that goes with the next release

	Takes  Takes
	Cut    bool // what stands behind -- is kept apart, in behind
	Status int  // of wrong usage, where 2 could come from what it runs
	Run    func(c *Console, args []string) (int, error)

	Typed, Behind []string // once it is parsed
}

// Takes says which arguments a command has besides its flags.
type Takes int

const (
	None Takes = iota
	One        // or none, before the flags or behind them
	Many       // with flags between them
	Rest       // from the first on, all are arguments
	Raw        // run reads them itself
)

// Word is the last word of the name: "show" of "policy show".
func (cmd *Command) Word() string { return cmd.Name[strings.LastIndexByte(cmd.Name, ' ')+1:] }

// Family makes a command of its subcommands, that does nothing without one.
func Family(cmd *Command, subs ...*Command) *Command {
	cmd.Subs, cmd.Takes = subs, Rest
	var names []string
	for _, s := range subs {
		names = append(names, s.Word())
	}
	cmd.Args = strings.Join(names, "|")
	cmd.Run = func(c *Console, args []string) (int, error) {
		list := strings.Join(names, ", ")
		if len(args) == 0 {
			return 2, cmd.misused("%s needs one of %s", cmd.Name, list)
		}
		return 2, cmd.misused("%s needs one of %s, not %q%s", cmd.Name, list, args[0], Suggest(args[0], names))
	}
	return cmd
}

// misused is the error of a command line that the command does not have.
func (cmd *Command) misused(format string, args ...any) error {
	return fault.New(fault.Usage, fmt.Sprintf("run `ringfence %s --help`", cmd.Name), format, args...)
}

// sub finds the subcommand that arguments begin with, or the command itself.
func (cmd *Command) sub(args []string) (*Command, []string) {
	if len(args) > 0 {
		for _, s := range cmd.Subs {
			if s.Word() == args[0] {
				return s.sub(args[1:])
			}
		}
	}
	return cmd, args
}

// parse reads the flags and returns the arguments.
func (cmd *Command) parse(args []string) ([]string, error) {
	cmd.Typed = args
	if i := slices.Index(args, "--"); cmd.Cut && i >= 0 {
		args, cmd.Behind = args[:i], args[i+1:]
	}
	var first []string
	switch cmd.Takes {
	case Raw:
		return args, nil
	case Rest:
		err := cmd.ParseFlags(args)
		return cmd.Flags.Args(), err
	case Many:
		return cmd.ParseMixed(args)
	case One:
		if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
			first, args = args[:1], args[1:]
		}
	}
	if err := cmd.ParseFlags(args); err != nil {
		return nil, err
	}
	rest := cmd.Flags.Args()
	if cmd.Takes == One && first == nil && len(rest) == 1 {
		return rest, nil
	}
	if len(rest) > 0 {
		return nil, cmd.misused("%s takes no argument %q", cmd.Name, rest[0])
	}
	return first, nil
}

// ParseMixed reads flags that may stand between arguments.
func (cmd *Command) ParseMixed(args []string) (rest []string, err error) {
	for {
		if err := cmd.ParseFlags(args); err != nil {
			return nil, err
		}
		more := cmd.Flags.Args()
		if len(more) == 0 {
			return rest, nil
		}
		if at := len(args) - len(more); at > 0 && args[at-1] == "--" {
			return append(rest, more...), nil
		}
		rest, args = append(rest, more[0]), more[1:]
	}
}

// ParseFlags reads flags up to the first argument; a wrong one is a usage error that
// names the command's help.
func (cmd *Command) ParseFlags(args []string) error {
	cmd.Flags.SetOutput(io.Discard)
	cmd.Flags.Usage = func() {}
	cmd.Flags.Also("yes", "y")
	err := cmd.Flags.Parse(args)
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return err
	}
	// The flag package names flags with one dash; people type two.
	text := strings.ReplaceAll(err.Error(), ": -", ": --")
	text = strings.ReplaceAll(text, "flag -", "flag --")
	if _, typed, unknown := strings.Cut(text, "not defined: "); unknown {
		var names []string
		for _, o := range cmd.Flags.Options() {
			names = append(names, o.Dashed())
		}
		slices.Sort(names)
		return cmd.misused("%s: %w", cmd.Name, UnknownFlag("there is no flag "+typed+Suggest(typed, names)))
	}
	return cmd.misused("%s: %s", cmd.Name, text)
}

// UnknownFlag says that the command has no such flag; another program may have it.
type UnknownFlag string

func (u UnknownFlag) Error() string { return string(u) }

// First is the only argument, or "".
func First(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// Execute runs a command, or the subcommand that the arguments name.
func (c *Console) Execute(cmd *Command, args []string) (int, error) {
	cmd, args = cmd.sub(args)
	args, err := cmd.parse(args)
	status := max(cmd.Status, 2)
	if err == nil {
		status, err = cmd.Run(c, args)
	}
	if errors.Is(err, flag.ErrHelp) {
		c.help(cmd)
	}
	return status, err
}

// FlagSet are the flags of a command, in groups.
type FlagSet struct {
	flag.FlagSet
	titles []string       // of the groups
	Group  map[string]int // of a flag, by its name: the number of its title
}

// Begin says what the flags are about that are declared from now on.
func (f *FlagSet) Begin(title string) {
	f.settle()
	f.titles = append(f.titles, title)
}

// settle puts into the last group what is in none. Flags before the first are in group 0,
// which has no title.
func (f *FlagSet) settle() {
	if f.Group == nil {
		f.Group = map[string]int{}
	}
	f.VisitAll(func(fl *flag.Flag) {
		if _, known := f.Group[fl.Name]; !known {
			f.Group[fl.Name] = len(f.titles)
		}
	})
}

// Also lets a flag be given by another name, which no list shows.
func (f *FlagSet) Also(name, other string) {
	if fl := f.Lookup(name); fl != nil && f.Lookup(other) == nil {
		f.Var(fl.Value, other, "")
	}
}

// IsSet reports whether a flag was given.
func (f *FlagSet) IsSet(name string) (set bool) {
	f.Visit(func(fl *flag.Flag) { set = set || fl.Name == name })
	return set
}

// Option is what is told of a flag.
type Option struct {
	Name  string
	Arg   string // what stands for its value; "" if it has none
	Text  string
	Group string // the title of its group, or ""
}

// Dashed is the flag as it is typed.
func (o Option) Dashed() string {
	if len(o.Name) == 1 {
		return "-" + o.Name
	}
	return "--" + o.Name
}

// Options are all flags, group by group.
func (f *FlagSet) Options() (all []Option) {
	f.settle()
	for n := range len(f.titles) + 1 {
		title := ""
		if n > 0 {
			title = f.titles[n-1]
		}
		f.VisitAll(func(fl *flag.Flag) {
			if f.Group[fl.Name] == n && fl.Usage != "" {
				arg, text := flag.UnquoteUsage(fl)
				all = append(all, Option{fl.Name, arg, text, title})
			}
		})
	}
	return all
}
