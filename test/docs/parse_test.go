package docs

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// typed is one command of a page.
type typed struct {
	line int
	text string
	exit int
	also []int // other statuses that are as good
}

// document is what a page says that can be wrong.
type document struct {
	commands []typed
	spans    []typed  // inline code
	wrong    []string // commands that would never be executed
}

// The tags of blocks whose content is not typed.
var notTyped = map[string]bool{"text": true, "toml": true, "json": true}

var (
	exitMark = regexp.MustCompile(`\s*# exit (\d+)$`)
	spanMark = regexp.MustCompile("`([^`]+)`")
	ourWord  = regexp.MustCompile(`\bringfence\b`)
)

// parse reads a page.
func parse(text string) (d document) {
	fence, tag := "", ""
	complain := func(n int, why string) { d.wrong = append(d.wrong, fmt.Sprintf("line %d: %s", n, why)) }
	for i, line := range strings.Split(text, "\n") {
		n, bare := i+1, strings.TrimLeft(line, " ")
		if mark := fenceOf(bare); mark != "" && (fence == "" || strings.HasPrefix(mark, fence) && bare == mark) {
			if fence != "" {
				fence = ""
				continue
			}
			fence, tag = mark, strings.TrimSpace(strings.TrimPrefix(bare, mark))
			continue
		}
		switch {
		case fence != "" && tag == "console":
			d.console(n, bare)
		case fence != "" && notTyped[tag]:
			if strings.HasPrefix(bare, "$ ") {
				complain(n, "a command in a block of "+tag+" is never executed")
			}
		case fence != "":
			if ourWord.MatchString(line) {
				complain(n, "a block that is tagged "+strconv.Quote(tag)+" speaks of ringfence: tag it console, text, toml or json")
			}
		case strings.HasPrefix(line, "    ") && ourWord.MatchString(line) && !strings.Contains(line, "`"):
			complain(n, "an indented block speaks of ringfence: fence and tag it")
		default:
			for _, m := range spanMark.FindAllStringSubmatch(line, -1) {
				d.spans = append(d.spans, typed{line: n, text: m[1]})
			}
		}
	}
	if fence != "" {
		d.wrong = append(d.wrong, "a block does not end")
	}
	return d
}

// fenceOf is the row of signs that begins or ends a block.
func fenceOf(line string) string {
	for _, sign := range []string{"`", "~"} {
		if n := len(line) - len(strings.TrimLeft(line, sign)); n >= 3 {
			return line[:n]
		}
	}
	return ""
}

// console takes a line of a block: typed, continued, or printed.
func (d *document) console(n int, line string) {
	if text, ok := strings.CutPrefix(line, "$ "); ok {
		c := typed{line: n, text: text}
		if m := exitMark.FindStringSubmatch(text); m != nil {
			c.exit, _ = strconv.Atoi(m[1])
			c.text = strings.TrimSuffix(text, m[0])
		}
		d.commands = append(d.commands, c)
		return
	}
	if text, ok := strings.CutPrefix(line, ">"); ok && len(d.commands) > 0 && d.commands[len(d.commands)-1].line+continued(d.commands) == n {
		d.commands[len(d.commands)-1].text += "\n" + strings.TrimPrefix(text, " ")
	}
}

// continued is how many lines the last command has so far.
func continued(all []typed) int { return 1 + strings.Count(all[len(all)-1].text, "\n") }

// manual reads the examples of a page of the manual.
func manual(text string) (out []typed) {
	_, rest, ok := strings.Cut(text, ".SH EXAMPLES\n.nf\n")
	if !ok {
		return nil
	}
	rest, _, _ = strings.Cut(rest, "\n.fi\n")
	unroff := strings.NewReplacer(`\&`, "", `\-`, "-", `\(ha`, "^", `\(ti`, "~", `\(ga`, "`", `\(aq`, "'", `\e`, `\`)
	for i, line := range strings.Split(rest, "\n") {
		out = append(out, typed{line: i + 1, text: unroff.Replace(line)})
	}
	return out
}

func TestParse(t *testing.T) {
	page := "Try `ringfence run -- true`.\n\n```console\n$ one\nsays so\n$ two <<'X' # exit 3\n$ cat <<'X'\n> a\n> b\n> X\n> not typed? it is\nout\n> shown\n```\n" +
		"```text\nringfence run\n$ ringfence run\n```\n```sh\nringfence ps\n```\n```\nnothing of ours\n```\n\n    ringfence shell\n"
	want := document{
		commands: []typed{{4, "one", 0, nil}, {6, "two <<'X'", 3, nil}, {7, "cat <<'X'\na\nb\nX\nnot typed? it is", 0, nil}},
		spans:    []typed{{1, "ringfence run -- true", 0, nil}},
		wrong: []string{"line 17: a command in a block of text is never executed",
			`line 20: a block that is tagged "sh" speaks of ringfence: tag it console, text, toml or json`,
			"line 26: an indented block speaks of ringfence: fence and tag it"},
	}
	if diff := cmp.Diff(want, parse(page), cmp.AllowUnexported(document{}, typed{})); diff != "" {
		t.Error(diff)
	}
	if got := parse("```console\n$ x\n").wrong; len(got) != 1 {
		t.Errorf("a block that does not end: %q", got)
	}
}

func TestParseManual(t *testing.T) {
	got := manual(".SH EXAMPLES\n.nf\nringfence claude \\-\\- \\-p \\(aqfix it\\(aq\n\\&.x \\e\n.fi\n.SH SEE ALSO\n")
	want := []typed{{1, "ringfence claude -- -p 'fix it'", 0, nil}, {2, `.x \`, 0, nil}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(typed{})); diff != "" {
		t.Error(diff)
	}
}
