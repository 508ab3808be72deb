package hook

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// input is what a command reads, after its redirections.
func (l *look) input(s *syntax.Stmt, in string) string {
	for _, r := range s.Redirs {
		switch r.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			in = l.text(r.Hdoc, true)
		case syntax.WordHdoc:
			in = l.text(r.Word, false) + "\n"
		case syntax.RdrIn:
			in = l.contents(l.text(r.Word, false), in)
		}
	}
	return in
}

// contents is what is known of a file: whether it comes from a network.
func (l *look) contents(name, in string) string {
	switch {
	case name == "/dev/stdin" || name == "/dev/fd/0" || name == "/proc/self/fd/0" || name == "-":
		return in
	case fromNetwork(name) || l.fetched[l.sh.abs(name)]:
		return remote
	}
	return some
}

// redirected judges the files that the shell opens.
func (l *look) redirected(r *syntax.Redirect) {
	if r.Op == syntax.Hdoc || r.Op == syntax.DashHdoc || r.Op == syntax.WordHdoc {
		return
	}
	name := l.text(r.Word, false)
	if strings.HasPrefix(name, "/dev/tcp/") || strings.HasPrefix(name, "/dev/udp/") {
		l.find(Deny, "network-shell", "This makes the shell itself speak to a network.")
	}
	if strings.Contains(r.Op.String(), ">") {
		l.overwritten(name)
	}
}

// saved remembers a file that takes what comes from a network.
func (l *look) saved(r *syntax.Redirect, s *syntax.Stmt, in string) {
	if strings.Contains(r.Op.String(), ">") && fromNetwork(l.output(s, in)) {
		l.fetched[l.sh.abs(l.text(r.Word, false))] = true
	}
}

func (l *look) outputs(list []*syntax.Stmt, in string) string {
	out := ""
	for _, s := range list {
		out += l.output(s, in)
	}
	return short(out)
}

// output is what a statement prints, as far as the line says it. Nothing is judged.
func (l *look) output(s *syntax.Stmt, in string) string {
	if l.steps++; l.steps > maxSteps {
		l.tooMuch()
		return some
	}
	in = l.input(s, in)
	switch c := s.Cmd.(type) {
	case nil:
		return in // $(<file)
	case *syntax.CallExpr:
		if args := l.fields(c.Args); len(args) > 0 {
			return l.prints(args, in)
		}
		return ""
	case *syntax.BinaryCmd:
		if c.Op == syntax.Pipe || c.Op == syntax.PipeAll {
			return l.output(c.Y, l.output(c.X, in))
		}
		return short(l.output(c.X, in) + l.output(c.Y, in))
	}
	out := some
	syntax.Walk(s.Cmd, func(n syntax.Node) bool {
		inner, ok := n.(*syntax.Stmt)
		if ok && fromNetwork(l.output(inner, in)) {
			out = remote
		}
		return !ok
	})
	return out
}

// fetchers bring something from a network.
var fetchers = strings.Fields("curl wget wget2 fetch http https xh curlie lynx w3m links aria2c axel nc ncat netcat socat telnet lwp-request lwp-download GET ftp tftp")

// decodes holds for a decoder: nobody has read what comes out of one.
func decodes(name string, args []string) bool {
	switch name {
	case "base64", "base32", "basenc":
		return option(args, "dD", "decode")
	case "xxd":
		return option(args, "r", "")
	case "openssl":
		return slices.Contains(args, "-d")
	}
	return name == "rev" || name == "uudecode"
}

// prints is what a command prints.
func (l *look) prints(args []string, in string) string {
	args = l.unwrap(args)
	if len(args) == 0 || !known(args[0]) {
		return hidden(in)
	}
	name, args := program(args[0]), args[1:]
	switch {
	case slices.Contains(fetchers, name), decodes(name, args):
		return remote
	case name == "echo":
		return echoed(args)
	case name == "printf" && len(args) > 0:
		if out, _, err := expand.Format(nil, args[0], args[1:]); err == nil {
			return short(unnul(out))
		}
	case (name == "cat" || name == "tee") && len(operands(args, "")) == 0, name == "tee":
		return in
	case name == "cat":
		return l.contents(operands(args, "")[0], in)
	case name == "pwd":
		return l.sh.dir
	case slices.Contains([]string{"which", "type", "whence"}, name) && len(operands(args, "")) > 0:
		return operands(args, "")[0]
	case slices.Contains([]string{"true", "false", ":", "exit", "return", "cd", "mkdir", "touch", "sleep", "test", "["}, name):
		return ""
	}
	return hidden(in)
}

func echoed(args []string) string {
	escapes := false
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' && strings.Trim(args[0][1:], "neE") == "" {
		escapes = escapes || strings.Contains(args[0], "e")
		args = args[1:]
	}
	text := strings.Join(args, " ")
	if out, _, err := expand.Format(nil, text, nil); escapes && err == nil {
		text = unnul(out)
	}
	return short(text + "\n")
}

// unnul: what reads words takes a NUL for a blank, as xargs -0 does.
func unnul(s string) string { return strings.ReplaceAll(s, "\x00", " ") }

// downloads remembers the files that hold what was fetched.
func downloads(l *look, _ string, args []string, _ string) {
	for i, a := range args {
		name := ""
		switch {
		case (a == "--output" || a == "--output-document" || value(a, "oO")) && i+1 < len(args):
			name = args[i+1]
		case strings.HasPrefix(a, "--output"):
			_, name, _ = strings.Cut(a, "=")
		case strings.HasPrefix(a, "-o") || strings.HasPrefix(a, "-O"):
			name = a[2:]
		case strings.Contains(a, "://"):
			l.fetched[l.sh.abs(path.Base(a))] = true
		}
		if name != "" && name != "-" {
			l.overwritten(name)
			l.fetched[l.sh.abs(name)] = true
		}
	}
}
