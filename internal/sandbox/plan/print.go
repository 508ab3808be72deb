package plan

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Text prints the plan for people: what is in the view, which walls stand, what
// runs. Names are quoted where they hold anything but plain characters.
func (p *Plan) Text(w io.Writer) {
	fmt.Fprintf(w, "session  %s\nuser     %d:%d, the same as outside\n", p.Session, p.UID, p.GID)
	fmt.Fprintf(w, "walls    %s\n", wrap(wallNames(p.Walls), 9, 80))
	fmt.Fprintf(w, "limits   processes %s, open files %s\n\nview, from an empty root:\n", number(p.Limits.Pids), number(p.Limits.Open))
	for _, op := range p.Ops {
		mode := op.mode()
		if slices.ContainsFunc(p.Trees, func(t Tree) bool { return t.Path == op.Dst }) && op.Do == DoBind {
			mode = string(Live)
		}
		fmt.Fprintf(w, "  %-5s %-42s %s\n", mode, op.what(), op.Why)
	}
	fmt.Fprintf(w, "\nenvironment (names): %s\n", wrap(envNames(p.Process.Env), 21, 80))
	fmt.Fprintf(w, "directory  %s\ncommand   ", Show(string(p.Process.Dir)))
	for _, a := range p.Process.Argv {
		fmt.Fprintf(w, " %s", Show(string(a)))
	}
	fmt.Fprintln(w)
}

func (o Op) mode() string {
	switch o.Do {
	case DoBind:
		if o.Write {
			return "rw"
		}
		return "ro"
	case DoCache:
		return "rw"
	case DoCover:
		return "ro"
	case DoLayer:
		return "cow"
	case DoTmpfs:
		return "tmpfs"
	case DoSymlink:
		return "link"
	case DoDevice:
		return "dev"
	case DoReadOnly:
		return "seal"
	case DoPts:
		return "pts"
	}
	return string(o.Do)
}

func (o Op) what() string {
	s := Show(string(o.Dst))
	switch {
	case o.Do == DoSymlink, (o.Do == DoBind || o.Do == DoCache) && o.Src != o.Dst:
		arrow := " -> "
		if o.Do != DoSymlink {
			arrow = " <- "
		}
		s += arrow + Show(string(o.Src))
	case o.Do == DoTmpfs:
		s += " " + Size(o.Size)
	case o.Do == DoFile:
		s += fmt.Sprintf(" (%d bytes)", len(o.Data))
	}
	return s
}

// Show quotes a name that could confuse a person or a terminal.
func Show(s string) string {
	for _, r := range s {
		if r <= ' ' || r == 0x7f || r == '\'' || r == '"' || r == '\\' || r > 0x7e {
			return fmt.Sprintf("%+q", s)
		}
	}
	if s == "" {
		return `""`
	}
	return s
}

// Size shows a number of bytes as people say it.
func Size(n int64) string {
	for _, u := range []struct {
		n    int64
		name string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n >= u.n && n%u.n == 0 {
			return fmt.Sprintf("%d %s", n/u.n, u.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}

func number(n uint64) string {
	if n == 0 {
		return "unlimited"
	}
	return fmt.Sprint(n)
}

func wallNames(walls []Wall) []string {
	var out []string
	for _, w := range walls {
		out = append(out, string(w))
	}
	return out
}

func envNames(env []Raw) []string {
	var out []string
	for _, e := range env {
		name, _, _ := strings.Cut(string(e), "=")
		out = append(out, Show(name))
	}
	return out
}

// wrap joins words into lines of at most width, continued at indent.
func wrap(words []string, indent, width int) string {
	var b strings.Builder
	col := indent
	for i, w := range words {
		if i > 0 {
			if col+1+len(w) > width {
				b.WriteString("\n" + strings.Repeat(" ", indent))
				col = indent
			} else {
				b.WriteByte(' ')
				col++
			}
		}
		b.WriteString(w)
		col += len(w)
	}
	return b.String()
}

// Forget drops the contents of files, once they stand inside.
func (p *Plan) Forget() {
	for i := range p.Ops {
		p.Ops[i].Data = nil
	}
}

// Redacted returns a copy fit to be shown: variables by name, without values.
func (p *Plan) Redacted() *Plan {
	c := *p
	c.Process.Env = nil
	for _, n := range p.Process.Env {
		name, _, _ := strings.Cut(string(n), "=")
		c.Process.Env = append(c.Process.Env, Raw(name))
	}
	return &c
}
