package cli

import (
	"fmt"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/cli/command"
)

// section is a part of the first page that no command tells.
type section struct {
	title string
	text  string // paragraphs, with an empty line between them
}

// manualPages makes all pages, by the name of their files.
func manualPages(all []*command.Command, short, about string, more []section) map[string]string {
	pages := map[string]string{"ringfence.1": firstPage(all, short, about, more)}
	for _, c := range all {
		pages[pageFile(c)] = manual(c)
	}
	return pages
}

func pageFile(c *command.Command) string { return "ringfence-" + c.Name + ".1" }

// roff is a page that is being written.
type roff struct{ strings.Builder }

func newPage(name, short string) *roff {
	r := &roff{}
	fmt.Fprintf(r, ".\\\" Made by `ringfence man`; changes belong into the program.\n")
	fmt.Fprintf(r, ".TH %s 1 \"\" ringfence \"ringfence manual\"\n", strings.ToUpper(escaped(name)))
	r.section("NAME")
	r.WriteString(fold(escaped(name) + " \\- " + escaped(short)))
	return r
}

func (r *roff) section(title string) { fmt.Fprintf(r, ".SH %s\n", title) }

// text writes paragraphs.
func (r *roff) text(text string) {
	for i, para := range strings.Split(text, "\n\n") {
		if i > 0 {
			r.WriteString(".PP\n")
		}
		r.WriteString(folded(para))
	}
}

// folded is text in lines of input that people can read too.
func folded(text string) string { return fold(escaped(text)) }

func fold(text string) (lines string) {
	for line := range strings.SplitSeq(command.Wrap(text, 0, 78), "\n") {
		lines += guarded(line)
	}
	return lines
}

// roffLine is one line of input of its own.
func roffLine(text string) string { return guarded(escaped(text)) }

// guarded keeps a line from being taken for a request.
func guarded(text string) string {
	if strings.HasPrefix(text, ".") {
		text = `\&` + text
	}
	return text + "\n"
}

// escaped keeps roff from taking signs for its own, and dashes and quotes what they are.
func escaped(text string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`, "^", `\(ha`, "~", `\(ti`, "`", `\(ga`, "'", `\(aq`).Replace(text)
}

func (r *roff) synopsis(c *command.Command) {
	fmt.Fprintf(r, "\\fBringfence %s\\fR", escaped(c.Name))
	if c.Args != "" {
		fmt.Fprintf(r, " %s", escaped(c.Args))
	}
	r.WriteString("\n")
}

func (r *roff) options(flags []command.Option) {
	title := ""
	for i, f := range flags {
		if f.Group != title {
			title = f.Group
			if i > 0 { // a section begins a paragraph by itself
				r.WriteString(".PP\n")
			}
			fmt.Fprintf(r, "\\fBFlags %s:\\fR\n", escaped(title))
		}
		fmt.Fprintf(r, ".TP\n\\fB%s\\fR", escaped(f.Dashed()))
		if f.Arg != "" {
			fmt.Fprintf(r, " \\fI%s\\fR", escaped(f.Arg))
		}
		r.WriteString("\n" + folded(f.Text))
	}
}

// examples are commands as they are typed, one a line.
func (r *roff) examples(c *command.Command) {
	var list []string
	for _, s := range append([]*command.Command{c}, c.Subs...) {
		for _, e := range s.Examples {
			if !slices.Contains(list, e) {
				list = append(list, e)
			}
		}
	}
	if len(list) == 0 {
		return
	}
	r.section("EXAMPLES")
	r.WriteString(".nf\n")
	for _, e := range list {
		r.WriteString(roffLine(e))
	}
	r.WriteString(".fi\n")
}

func manual(c *command.Command) string {
	r := newPage("ringfence-"+c.Name, c.Short)
	r.section("SYNOPSIS")
	all := c.Subs
	if len(c.Flags.Options()) > 0 || len(c.Subs) == 0 {
		all = append([]*command.Command{c}, all...)
	}
	for i, s := range all {
		if i > 0 {
			r.WriteString(".br\n")
		}
		r.synopsis(s)
	}
	r.section("DESCRIPTION")
	r.text(c.Long)
	if len(c.Flags.Options()) > 0 {
		r.section("OPTIONS")
		r.options(c.Flags.Options())
	}
	if len(c.Subs) > 0 {
		r.section("SUBCOMMANDS")
	}
	for _, s := range c.Subs {
		fmt.Fprintf(r, ".SS %s\n", escaped(s.Word()))
		r.text(s.Long)
		r.options(s.Flags.Options())
	}
	r.examples(c)
	r.section("SEE ALSO")
	r.WriteString("\\fBringfence\\fR(1)\n")
	return r.String()
}

// firstPage is the page of the program itself.
func firstPage(all []*command.Command, short, about string, more []section) string {
	r := newPage("ringfence", short)
	r.section("SYNOPSIS")
	r.WriteString("\\fBringfence\\fR COMMAND [ARGS]\n")
	r.section("DESCRIPTION")
	r.text(about)
	r.section("COMMANDS")
	for _, c := range all {
		fmt.Fprintf(r, ".TP\n\\fBringfence\\-%s\\fR(1)\n%s", escaped(c.Name), roffLine(c.Short))
	}
	for _, s := range more {
		r.section(s.title)
		r.text(s.text)
	}
	r.section("SEE ALSO")
	for i, c := range all {
		end := ","
		if i == len(all)-1 {
			end = ""
		}
		fmt.Fprintf(r, "\\fBringfence\\-%s\\fR(1)%s\n", escaped(c.Name), end)
	}
	return r.String()
}
