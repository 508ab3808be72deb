package policy

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/pelletier/go-toml/v2/unstable"
	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file"
)

// Addition is one more value of a list, with what is said behind it.
type Addition struct {
	Section, Key, Value, Comment string
}

// Append writes values into the text of a policy file and changes nothing else of it:
// comments, order and layout stay. What a list has already is not added again. The
// result is read again, and must say exactly what the old text and the additions say
// together; a text that cannot be added to like that is an error, and is left alone.
func Append(data []byte, name string, add []Addition) ([]byte, error) {
	old, err := decode(data, name)
	if err != nil {
		return nil, err
	}
	want := &Policy{}
	var fresh []Addition
	for _, a := range add {
		k := findKey(a.Section, a.Key)
		if k == nil || k.list == nil || k.admit(a.Value) != nil {
			return nil, fmt.Errorf("[%s] %s cannot be %q", a.Section, a.Key, a.Value)
		}
		if !k.list(old).has(a.Value) && !k.list(want).has(a.Value) {
			*k.list(want) = append(*k.list(want), Rule{Value: a.Value})
			fresh = append(fresh, a)
		}
	}
	if len(fresh) == 0 {
		return data, nil
	}
	e := editor{text: data, arrays: map[string]int{}, headers: map[string]int{}}
	e.find()
	out := e.insert(fresh)
	got, err := decode(out, name)
	if err != nil || !sameRules(got, Merge(old, want)) {
		return nil, fault.New(fault.Failed, "write the lines into it by hand", "%s is written in a way that cannot be added to", printable(name))
	}
	return out, nil
}

// sameRules compares what two policies say, wherever they say it.
func sameRules(a, b *Policy) bool {
	var x, y bytes.Buffer
	if Write(&x, a.bare()) != nil || Write(&y, b.bare()) != nil {
		return false
	}
	return bytes.Equal(x.Bytes(), y.Bytes())
}

// bare is p without sources.
func (p *Policy) bare() *Policy {
	out := p.clone()
	for i := range keys {
		switch k := &keys[i]; {
		case k.list != nil:
			for j := range *k.list(out) {
				(*k.list(out))[j].Source = Source{}
			}
		case k.table != nil:
			for j := range *k.table.at(out) {
				(*k.table.at(out))[j].Source = Source{}
			}
		case k.limit != nil && *k.limit(out) != nil:
			*k.limit(out) = &Limit{Value: (*k.limit(out)).Value}
		case k.word != nil && *k.word(out) != nil:
			*k.word(out) = &Rule{Value: (*k.word(out)).Value}
		case k.flag != nil && *k.flag(out) != nil:
			*k.flag(out) = &Flag{Value: (*k.flag(out)).Value}
		}
	}
	return out
}

// editor knows where in a text things are.
type editor struct {
	text    []byte
	arrays  map[string]int // "section.key": where its bracket opens
	headers map[string]int // section: where the line after its header begins
}

func (e *editor) find() {
	var p unstable.Parser
	p.Reset(e.text)
	var table []string
	for p.NextExpression() {
		x := p.Expression()
		var names []string
		end := 0
		for it := x.Key(); it.Next(); {
			names = append(names, string(it.Node().Data))
			end = int(it.Node().Raw.Offset + it.Node().Raw.Length)
		}
		switch x.Kind {
		case unstable.Table:
			table = names
			if len(names) == 1 {
				e.headers[names[0]] = e.nextLine(end)
			}
		case unstable.KeyValue:
			full := append(slices.Clone(table), names...)
			if len(full) == 2 && x.Value().Kind == unstable.Array {
				e.arrays[full[0]+"."+full[1]] = end + bytes.IndexByte(e.text[end:], '[')
			}
		}
	}
}

func (e *editor) nextLine(at int) int {
	if i := bytes.IndexByte(e.text[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(e.text)
}

// insertion is text that goes in at a place.
type insertion struct {
	at   int
	text string
}

func (e *editor) insert(add []Addition) []byte {
	lists := map[string]string{}
	var order []Addition // one for each list
	for _, a := range add {
		id := a.Section + "." + a.Key
		if lists[id] == "" {
			order = append(order, a)
		}
		lists[id] += "  " + quote(a.Value) + ","
		if c := commentText(a.Comment); c != "" {
			lists[id] += "  # " + c
		}
		lists[id] += "\n"
	}
	var in []insertion
	tail := map[string]string{}
	var tails []string
	for _, a := range order {
		lines := lists[a.Section+"."+a.Key]
		whole := a.Key + " = [\n" + lines + "]\n"
		if open, ok := e.arrays[a.Section+"."+a.Key]; ok {
			in = append(in, e.inArray(open, lines)...)
		} else if at, ok := e.headers[a.Section]; ok {
			in = append(in, insertion{at, e.newline(at) + whole})
		} else {
			if tail[a.Section] == "" {
				tails = append(tails, a.Section)
			}
			tail[a.Section] += whole
		}
	}
	for _, s := range tails {
		gap := e.newline(len(e.text))
		if len(e.text) > 0 || s != tails[0] {
			gap += "\n"
		}
		in = append(in, insertion{len(e.text), gap + "[" + s + "]\n" + tail[s]})
	}
	return e.apply(in)
}

// newline ends the line before a place, if it has no end.
func (e *editor) newline(at int) string {
	if at > 0 && e.text[at-1] != '\n' {
		return "\n"
	}
	return ""
}

func (e *editor) apply(in []insertion) []byte {
	slices.SortStableFunc(in, func(a, b insertion) int { return cmp.Compare(a.at, b.at) })
	var out bytes.Buffer
	last := 0
	for _, i := range in {
		out.Write(e.text[last:i.at])
		out.WriteString(i.text)
		last = i.at
	}
	out.Write(e.text[last:])
	return out.Bytes()
}

// inArray adds lines at the end of the list whose bracket opens at open.
func (e *editor) inArray(open int, lines string) []insertion {
	value, end := e.closing(open)
	var in []insertion
	if value >= 0 && e.text[value] != ',' {
		in = append(in, insertion{value + 1, ","})
	}
	start := bytes.LastIndexByte(e.text[:end], '\n') + 1
	if start > open && len(bytes.TrimSpace(e.text[start:end])) == 0 {
		return append(in, insertion{start, lines})
	}
	return append(in, insertion{end, "\n" + lines})
}

// closing finds the bracket that closes a list, and the last byte before it that is
// neither space nor comment: -1 if the list is empty.
func (e *editor) closing(open int) (value, end int) {
	value, depth := -1, 0
	for i := open; i < len(e.text); i++ {
		switch c := e.text[i]; c {
		case '[':
			if depth++; depth > 1 {
				value = i
			}
		case ']':
			if depth--; depth == 0 {
				return value, i
			}
			value = i
		case '#':
			i = e.nextLine(i) - 1
		case '"', '\'':
			i = e.stringEnd(i)
			value = i
		case ' ', '\t', '\r', '\n':
		default:
			value = i
		}
	}
	return value, len(e.text)
}

// stringEnd is the last byte of the string that begins at i.
func (e *editor) stringEnd(i int) int {
	c := e.text[i]
	if long := strings.Repeat(string(c), 3); bytes.HasPrefix(e.text[i:], []byte(long)) {
		for j := i + 3; j < len(e.text); j++ {
			if c == '"' && e.text[j] == '\\' {
				j++
			} else if bytes.HasPrefix(e.text[j:], []byte(long)) {
				for j+3 < len(e.text) && e.text[j+3] == c { // up to two more belong to the text
					j++
				}
				return j + 2
			}
		}
		return len(e.text) - 1
	}
	for j := i + 1; j < len(e.text); j++ {
		switch {
		case c == '"' && e.text[j] == '\\':
			j++
		case e.text[j] == c:
			return j
		}
	}
	return len(e.text) - 1
}

// commentText keeps a comment on its line.
func commentText(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}

// ErrChanged says that a file is not what it was when it was looked at.
var ErrChanged = errors.New("the file has changed meanwhile")

// Save replaces the policy file at path, as a whole or not at all, if it still holds
// what was read of it; old is nil where there was none. A link is followed in the
// user's own directory, and never in a project, whose links strangers make.
func Save(path string, old, data []byte, project bool) error {
	flags, mode := 0, fs.FileMode(0o600)
	if project {
		flags, mode = unix.O_NOFOLLOW, 0o644
	}
	unlock, err := lockDir(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer unlock()
	now, err := readRegular(path, flags)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if (err == nil) != (old != nil) || !bytes.Equal(now, old) {
		return ErrChanged
	}
	if old == nil {
		// The lock binds only ringfence. An editor's new file stays all the same.
		if err := file.Create(path, data, mode); !errors.Is(err, fs.ErrExist) {
			return err
		}
		return ErrChanged
	}
	if st, err := os.Stat(path); err == nil {
		mode = st.Mode().Perm()
	}
	return replace(path, data, mode)
}

// ReadFile reads the text of a policy file, nil if there is none.
func ReadFile(path string, project bool) ([]byte, error) {
	flags := 0
	if project {
		flags = unix.O_NOFOLLOW
	}
	data, err := readRegular(path, flags)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && data == nil {
		data = []byte{}
	}
	return data, err
}
