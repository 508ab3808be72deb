package hook

import (
	"path"
	"strconv"
	"strings"

	"ringfence.dev/ringfence/internal/audit/shell"
)

// variable expands one. What was not set in this line comes from the environment, and
// is not known: it may even be empty.
func (w *walk) variable(p shell.Part) (values []string, list bool) {
	name := p.Text
	if p.Param == nil {
		if values, list, _ = w.lookup(name); !list && len(values) > 1 {
			values = values[:1] // of an array
		}
		return values, list
	}
	if p.Param.Indirect {
		v, _, _ := w.lookup(name)
		if name = strings.Join(v, " "); !known(name) || name == "" {
			return []string{string(some)}, false
		}
	}
	values, list, set := w.lookup(name)
	switch p.Param.Index {
	case "":
		if !list && len(values) > 1 {
			values = values[:1]
		}
	case "@", "*":
		list = true
	default:
		values, list = element(values, p.Param.Index), false
	}
	if p.Param.Length {
		if v := strings.Join(values, ""); known(v) && set {
			return []string{strconv.Itoa(len(v))}, false
		}
		return []string{string(some)}, false
	}
	return w.operate(name, p.Param, values, set), list
}

func element(values []string, index string) []string {
	n, err := strconv.Atoi(index)
	if err == nil && n < 0 {
		n += len(values)
	}
	if err != nil || n < 0 || n >= len(values) {
		return []string{string(some)}
	}
	return values[n : n+1]
}

// lookup returns what is known of a variable.
func (w *walk) lookup(name string) (values []string, list, set bool) {
	switch name {
	case "@", "*":
		return w.args, true, true
	case "HOME":
		if _, ok := w.vars[name]; !ok {
			return []string{w.where.Home}, false, true
		}
	case "IFS":
		return []string{w.ifs()}, false, true
	case "PWD":
		return []string{w.dir}, false, true
	case "0":
		return []string{"sh"}, false, true
	case "#", "?", "$", "!", "-", "RANDOM", "UID", "EUID", "SECONDS", "LINENO", "BASHPID", "PPID":
		return []string{string(some)}, false, true
	}
	if n, err := strconv.Atoi(name); err == nil {
		if n >= 1 && n <= len(w.args) {
			return w.args[n-1 : n], false, true
		}
		if w.args != nil {
			return []string{""}, false, false
		}
		return []string{string(unset)}, false, false
	}
	if v, ok := w.vars[name]; ok {
		return v, false, true
	}
	return []string{string(unset)}, false, false
}

// operate does what stands in the braces behind the name.
func (w *walk) operate(name string, op *shell.Param, values []string, set bool) []string {
	if op.Op == "" {
		return values
	}
	unknown := !set && len(values) == 1 && values[0] == string(unset)
	empty := set && strings.Join(values, "") == ""
	arg := func() string { return w.text(op.Arg) }
	switch op.Op {
	case ":-", "-", ":=", "=":
		if unknown || !set || empty && op.Op[0] == ':' {
			v := []string{arg()}
			if op.Op[len(op.Op)-1] == '=' {
				w.vars[name] = v
			}
			return v
		}
		return values
	case ":+", "+":
		if unknown || set && (!empty || op.Op == "+") {
			return []string{arg()}
		}
		return []string{""}
	case ":?", "?":
		if unknown {
			return []string{string(some)} // or the shell ends here
		}
		return values
	}
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = w.edit(v, op)
	}
	return out
}

// edit changes one value.
func (w *walk) edit(v string, op *shell.Param) string {
	arg := w.text(op.Arg)
	if !known(v) || !known(arg) {
		return hidden(v + arg)
	}
	switch op.Op {
	case "#", "##":
		return trim(v, arg, len(op.Op) == 2, true)
	case "%", "%%":
		return trim(v, arg, len(op.Op) == 2, false)
	case "/":
		return strings.Replace(v, arg, w.text(op.Arg2), 1)
	case "//":
		if arg == "" {
			return v
		}
		return short(strings.ReplaceAll(v, arg, w.text(op.Arg2)))
	case "/#":
		if rest, ok := strings.CutPrefix(v, arg); ok {
			return w.text(op.Arg2) + rest
		}
	case "/%":
		if rest, ok := strings.CutSuffix(v, arg); ok {
			return rest + w.text(op.Arg2)
		}
	case ":":
		return slice(v, strings.TrimSpace(arg), strings.TrimSpace(w.text(op.Arg2)))
	case "^^":
		return strings.ToUpper(v)
	case ",,":
		return strings.ToLower(v)
	case "^":
		return strings.ToUpper(v[:min(1, len(v))]) + v[min(1, len(v)):]
	case ",":
		return strings.ToLower(v[:min(1, len(v))]) + v[min(1, len(v)):]
	}
	return v
}

// slice is ${v:from:count}.
func slice(v, from, count string) string {
	a, err := strconv.Atoi(from)
	if err != nil {
		return string(some)
	}
	if a < 0 {
		a = max(0, a+len(v))
	}
	a = min(a, len(v))
	if count == "" {
		return v[a:]
	}
	n, err := strconv.Atoi(count)
	if err != nil {
		return string(some)
	}
	end := a + n
	if n < 0 {
		end = len(v) + n
	}
	return v[a:max(a, min(end, len(v)))]
}

// trim takes a pattern off an end, the shortest or the longest match.
func trim(v, pattern string, longest, front bool) string {
	if len(v) > 4096 || len(pattern) > 256 {
		return string(some)
	}
	best := v
	for i := 0; i <= len(v); i++ {
		n := i
		if longest {
			n = len(v) - i
		}
		piece, rest := v[:n], v[n:]
		if !front {
			piece, rest = v[len(v)-n:], v[:len(v)-n]
		}
		if globMatch(pattern, piece) {
			return rest
		}
	}
	return best
}

// globMatch matches without regard to slashes.
func globMatch(pattern, s string) bool {
	ok, err := path.Match(strings.ReplaceAll(pattern, "/", "\x1f"), strings.ReplaceAll(s, "/", "\x1f"))
	return ok && err == nil
}
