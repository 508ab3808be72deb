package hook

import (
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/audit/shell"
)

// fetchers bring something from a network.
var fetchers = strings.Fields("curl wget wget2 fetch http https xh curlie lynx w3m links aria2c axel nc ncat netcat socat telnet lwp-request lwp-download GET ftp tftp")

// prints says what a command prints, as far as that is written in the line.
func (w *walk) prints(name string, args []string, stdin string) string {
	switch name {
	case "echo":
		return echo(args)
	case "printf":
		return printf(args)
	case "cat", "bat", "head", "tail", "pv":
		return w.cat(args, stdin)
	case "base64", "base32", "openssl", "xxd", "basenc":
		return decoded(name, args, stdin)
	case "rev":
		return reversed(stdin)
	case "tr":
		return translated(args, stdin)
	case "pwd":
		return w.dir + "\n"
	case "which", "type", "whence":
		return strings.Join(operands(args, ""), "\n") + "\n"
	case "true", "false", ":", "exit", "return", "shift", "wait", "sleep", "test", "[", "mkdir", "touch":
		return ""
	}
	if slices.Contains(fetchers, name) {
		w.fetched(args)
		return string(remote)
	}
	return hidden(stdin)
}

// fetched remembers the files that hold what was fetched.
func (w *walk) fetched(args []string) {
	for i, a := range args {
		name := ""
		switch {
		case strings.HasPrefix(a, "--output="):
			name = a[len("--output="):]
		case strings.HasPrefix(a, "--output-document="):
			name = a[len("--output-document="):]
		case (a == "--output" || a == "--output-document" || len(a) > 1 && a[0] == '-' && a[1] != '-' && strings.ContainsAny(a[len(a)-1:], "oO")) && i+1 < len(args):
			name = args[i+1]
		case len(a) > 2 && (strings.HasPrefix(a, "-o") || strings.HasPrefix(a, "-O")):
			name = a[2:]
		}
		if name != "" && name != "-" {
			w.overwritten(name)
			w.write(name, string(remote), false)
		}
		if strings.Contains(a, "://") {
			if _, last, ok := strings.Cut(a, "://"); ok {
				last = last[strings.LastIndexByte(last, '/')+1:]
				if last != "" {
					w.write(last, string(remote), false)
				}
			}
		}
	}
}

func echo(args []string) string {
	escapes, newline := false, "\n"
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' && strings.Trim(args[0][1:], "neE") == "" {
		escapes = escapes || strings.Contains(args[0], "e")
		if strings.Contains(args[0], "n") {
			newline = ""
		}
		args = args[1:]
	}
	text := strings.Join(args, " ")
	if escapes {
		text = unescape(text)
	}
	return short(text + newline)
}

// unescape keeps what is not known as it is.
func unescape(s string) string {
	out := shell.Unescape(s)
	if out == s || strings.ContainsAny(s, marks) {
		return out
	}
	return read(out)
}

func printf(args []string) string {
	if len(args) > 1 && args[0] == "-v" {
		return ""
	}
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		return ""
	}
	format, values := unescape(literal(args[0])), args[1:]
	var out strings.Builder
	for range 64 {
		used := 0
		for i := 0; i < len(format); i++ {
			if format[i] != '%' || i+1 >= len(format) {
				out.WriteByte(format[i])
				continue
			}
			i++
			if format[i] == '%' {
				out.WriteByte('%')
				continue
			}
			for i < len(format)-1 && strings.IndexByte("-+ #0123456789.", format[i]) >= 0 {
				i++
			}
			v := ""
			if used < len(values) {
				v = values[used]
			}
			used++
			if format[i] == 'b' {
				v = unescape(v)
			}
			out.WriteString(v)
		}
		if values = values[min(used, len(values)):]; used == 0 || len(values) == 0 {
			break
		}
	}
	return short(out.String())
}

func (w *walk) cat(args []string, stdin string) string {
	names := operands(args, "ncs")
	if len(names) == 0 {
		return stdin
	}
	out := ""
	for _, n := range names {
		if n == "-" {
			out += stdin
		} else {
			out += w.contents(n)
		}
	}
	return short(out)
}

// decoded is what a decoder makes of what is written in the line. What it makes of
// something else is as good as from a network: nobody has read it.
func decoded(name string, args []string, stdin string) string {
	decodes := option(args, "dD", "decode") || name == "xxd" && option(args, "r", "") || name == "openssl" && slices.Contains(args, "-d")
	if !decodes {
		return hidden(stdin)
	}
	if !known(stdin) || stdin == "" {
		return string(remote)
	}
	text := strings.Join(strings.Fields(stdin), "")
	var out []byte
	var err error
	if name == "xxd" {
		out, err = hex.DecodeString(text)
	} else {
		out, err = base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
	}
	if err != nil {
		return string(remote)
	}
	return short(read(string(out)))
}

func reversed(stdin string) string {
	if !known(stdin) {
		return hidden(stdin)
	}
	lines := strings.Split(strings.TrimSuffix(stdin, "\n"), "\n")
	for i, l := range lines {
		r := []rune(l)
		slices.Reverse(r)
		lines[i] = string(r)
	}
	return strings.Join(lines, "\n") + "\n"
}

// translated is tr of two short sets.
func translated(args []string, stdin string) string {
	if !known(stdin) {
		return hidden(stdin)
	}
	words := operands(args, "")
	if option(args, "d", "delete") && len(words) == 1 {
		return strings.Map(func(r rune) rune {
			if strings.ContainsRune(set(words[0]), r) {
				return -1
			}
			return r
		}, stdin)
	}
	if len(words) != 2 {
		return hidden(stdin)
	}
	from, to := []rune(set(words[0])), []rune(set(words[1]))
	if len(to) == 0 {
		return stdin
	}
	return strings.Map(func(r rune) rune {
		if i := slices.Index(from, r); i >= 0 {
			return to[min(i, len(to)-1)]
		}
		return r
	}, stdin)
}

// set writes out the ranges of a set of tr.
func set(s string) string {
	s = shell.Unescape(literal(s))
	var out []rune
	r := []rune(s)
	for i := 0; i < len(r); i++ {
		if i+2 < len(r) && r[i+1] == '-' && r[i+2] >= r[i] && r[i+2]-r[i] < 128 {
			for c := r[i]; c <= r[i+2]; c++ {
				out = append(out, c)
			}
			i += 2
			continue
		}
		out = append(out, r[i])
	}
	return string(out)
}
