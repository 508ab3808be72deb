package cli

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/cli/docgen"
	"ringfence.dev/ringfence/internal/fault"
)

// A command is described by itself: it is run until it would read its arguments, and
// what it has said of its flags and subcommands by then is the description. Help, the
// manual and the shells' completion are made of it, and of nothing else.

// describe asks all commands.
func (c *context) describe() ([]docgen.Command, error) {
	var all []docgen.Command
	for _, cmd := range commands() {
		d := docgen.Command{Name: cmd.name, Args: cmd.args, Short: cmd.short, Examples: cmd.examples}
		if err := c.ask(&d, func(c *context) (int, error) { return cmd.run(c, cmd.name, nil) }); err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	return all, nil
}

// ask runs a command as far as its arguments. One that comes further, or not so far, is
// wrong: it would do something when asked for help, or it says nothing of its flags.
func (c *context) ask(d *docgen.Command, run func(*context) (int, error)) error {
	asked := *c
	asked.asked = d
	_, err := run(&asked)
	if !errors.Is(err, flag.ErrHelp) {
		return fmt.Errorf("the command %q does not describe itself: %w", d.Name, err)
	}
	return nil
}

// tellFlags is what parse does while the command is only asked.
func (c *context) tellFlags(f *flag.FlagSet) error {
	if c.asked.About != "" || c.asked.Name != f.Name() {
		return fmt.Errorf("%q reads the flags of %q", c.asked.Name, f.Name())
	}
	c.asked.Args, c.asked.About = c.usageOf.args, c.usageOf.about
	c.asked.Launch = strings.Contains(c.usageOf.args, "-- ")
	f.VisitAll(func(fl *flag.Flag) {
		arg, text := flag.UnquoteUsage(fl)
		c.asked.Flags = append(c.asked.Flags, docgen.Flag{Name: fl.Name, Arg: arg, Text: text})
	})
	return flag.ErrHelp
}

// verb is a subcommand.
type verb struct {
	name, args, short string
	examples          []string // each begins with "ringfence"
	run               func(c *context, args []string) (int, error)
}

// verb runs the subcommand that the arguments begin with, if they do. It is the only
// way to have one: what goes through here is in the help, the manual and the completion.
func (c *context) verb(name string, args []string, verbs []verb) (status int, done bool, err error) {
	if c.asked != nil {
		for _, v := range verbs {
			d := docgen.Command{Name: name + " " + v.name, Args: v.args, Short: v.short, Examples: v.examples}
			if err := c.ask(&d, func(c *context) (int, error) { return v.run(c, nil) }); err != nil {
				return 2, true, err
			}
			c.asked.Subs = append(c.asked.Subs, d)
		}
		return 0, false, nil
	}
	if len(args) == 0 {
		return 0, false, nil
	}
	for _, v := range verbs {
		if v.name == args[0] {
			c.examples, c.verbs = v.examples, nil
			status, err := v.run(c, args[1:])
			return status, true, err
		}
	}
	c.verbs = verbs
	return 0, false, nil
}

// mustVerb is verb for commands that do nothing without one.
func (c *context) mustVerb(name, about string, args []string, verbs []verb) (int, error) {
	if status, done, err := c.verb(name, args, verbs); done {
		return status, err
	}
	var names []string
	for _, v := range verbs {
		names = append(names, v.name)
	}
	c.verbs = verbs
	f := c.flags(name, strings.Join(names, "|"), about)
	if err := c.parse(f, args); err != nil {
		return 2, err
	}
	hint := fmt.Sprintf("run `ringfence %s --help`", name)
	if f.NArg() == 0 {
		return 2, fault.New(fault.Usage, hint, "%s needs one of %s", name, strings.Join(names, ", "))
	}
	return 2, fault.New(fault.Usage, hint, "%s needs one of %s, not %q%s", name, strings.Join(names, ", "), f.Arg(0), suggest(f.Arg(0), names))
}

// longestWord bounds the work: what is longer is no slip of the fingers.
const longestWord = 64

// suggest names the word that was probably meant.
func suggest(typed string, words []string) string {
	if len(typed) > longestWord {
		return ""
	}
	best, least := "", max(1, len(typed)/3)+1
	for _, w := range words {
		n := distance(typed, w)
		if len(typed) > 2 && (strings.HasPrefix(w, typed) || strings.HasPrefix(typed, w)) {
			n = min(n, 1)
		}
		if n < least {
			best, least = w, n
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", best)
}

// distance is how many signs must be put in, taken out, changed or swapped with their
// neighbour to make one word of the other.
func distance(a, b string) int {
	before, row := []int(nil), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next := []int{i + 1}
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			n := min(row[j]+cost, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				n = min(n, before[j-1]+1)
			}
			next = append(next, n)
		}
		before, row = row, next
	}
	return row[len(b)]
}

// flagNames are the flags of a set, as they are typed.
func flagNames(f *flag.FlagSet) (names []string) {
	f.VisitAll(func(fl *flag.Flag) { names = append(names, docgen.Flag{Name: fl.Name}.Dashed()) })
	slices.Sort(names)
	return names
}
