package hostexec

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/pelletier/go-toml/v2/unstable"
)

// data is hostexec.toml, which says what the fields mean.
type data struct {
	git      gitData
	env      envData
	rules    []ruleData
	contents []contentData
}

type gitData struct{ hooks []string }

type envData struct{ names, but []string }

type ruleData struct {
	rank           Rank
	hold, links    bool
	push           bool
	within         string
	who, when, why string
	paths          []string
}

type contentData struct {
	form, within, who string
	hide              bool
	files             []string
	keys              []keyData
	// For a scan.
	code                 string
	shown, partly, early bool
	above                int
	marks                []string
	find, known, pass    []scanRow
}

type keyData struct {
	rank         Rank
	when, why    string
	keys, values []string
}

// decode reads the data strictly: a mistake is an error that names file, line and
// key. It works on the parser below the decoder of go-toml, which is several times
// as fast: every session waits for this.
func decode(source string, text []byte) (*data, error) {
	d := &decoder{source: source, text: text, all: string(text), out: new(data)}
	d.parser.Reset(text)
	for d.parser.NextExpression() {
		e := d.parser.Expression()
		name, at := d.name(e.Key())
		if e.Kind != unstable.KeyValue {
			if !d.open(name, e.Kind == unstable.ArrayTable) {
				return nil, d.fail(at, "unknown table %q", name)
			}
			continue
		}
		if slices.Contains(d.seen, name) {
			return nil, d.fail(at, "key %q is there twice", d.table+"."+name)
		}
		d.seen = append(d.seen, name)
		field := d.field(name)
		if field == nil {
			return nil, d.fail(at, "unknown key %q", d.table+"."+name)
		}
		if err := d.assign(field, e.Value()); err != nil {
			return nil, d.fail(at, "key %q: %w", d.table+"."+name, err)
		}
	}
	if err := d.parser.Error(); err != nil {
		at := len(text)
		var bad *unstable.ParserError
		if errors.As(err, &bad) {
			at = int(d.parser.Range(bad.Highlight).Offset)
		}
		return nil, d.fail(at, "not TOML: %w", err)
	}
	return d.out, nil
}

type decoder struct {
	source string
	text   []byte
	all    string // the same: strings of the data are parts of it
	parser unstable.Parser
	out    *data
	table  string   // the one that is open
	seen   []string // its keys
}

func (d *decoder) fail(at int, format string, args ...any) error {
	line := bytes.Count(d.text[:min(at, len(d.text))], []byte{'\n'}) + 1
	return fmt.Errorf("%s:%d: "+format, append([]any{d.source, line}, args...)...)
}

// name returns a dotted key, and where it stands.
func (d *decoder) name(it unstable.Iterator) (name string, at int) {
	for first := true; it.Next(); first = false {
		if first {
			name, at = d.str(it.Node()), int(it.Node().Raw.Offset)
		} else {
			name += "." + d.str(it.Node())
		}
	}
	return name, at
}

// open begins a table, and reports whether it may be there.
func (d *decoder) open(name string, list bool) bool {
	d.seen = d.seen[:0]
	once := d.table == "" && name == "git" || d.table == "git" && name == "env"
	d.table = name
	if !list {
		return once || len(d.out.contents) > 0 && slices.Contains([]string{"content.find", "content.known", "content.pass"}, name)
	}
	switch name {
	case "rule":
		d.out.rules = append(d.out.rules, ruleData{})
	case "content":
		d.out.contents = append(d.out.contents, contentData{})
	case "content.key":
		if len(d.out.contents) == 0 {
			return false
		}
		c := &d.out.contents[len(d.out.contents)-1]
		c.keys = append(c.keys, keyData{})
	default:
		return false
	}
	return true
}

// field returns where the value of a key belongs, nil if it is not known.
func (d *decoder) field(name string) any {
	switch d.table {
	case "git":
		g := &d.out.git
		return map[string]any{"hooks": &g.hooks}[name]
	case "env":
		return map[string]any{"names": &d.out.env.names, "but": &d.out.env.but}[name]
	case "rule":
		return d.out.rules[len(d.out.rules)-1].field(name)
	case "content":
		return d.out.contents[len(d.out.contents)-1].field(name)
	case "content.find", "content.known", "content.pass":
		return d.out.contents[len(d.out.contents)-1].row(d.table, name)
	case "content.key":
		keys := d.out.contents[len(d.out.contents)-1].keys
		return keys[len(keys)-1].field(name)
	}
	return nil
}

func (r *ruleData) field(name string) any {
	switch name {
	case "rank":
		return &r.rank
	case "hold":
		return &r.hold
	case "links":
		return &r.links
	case "push":
		return &r.push
	case "within":
		return &r.within
	case "who":
		return &r.who
	case "when":
		return &r.when
	case "why":
		return &r.why
	case "paths":
		return &r.paths
	}
	return nil
}

func (c *contentData) field(name string) any {
	switch name {
	case "form":
		return &c.form
	case "within":
		return &c.within
	case "who":
		return &c.who
	case "hide":
		return &c.hide
	case "files":
		return &c.files
	case "code":
		return &c.code
	case "shown":
		return &c.shown
	case "partly":
		return &c.partly
	case "early":
		return &c.early
	case "above":
		return &c.above
	case "marks":
		return &c.marks
	}
	return nil
}

func (k *keyData) field(name string) any {
	switch name {
	case "rank":
		return &k.rank
	case "when":
		return &k.when
	case "why":
		return &k.why
	case "keys":
		return &k.keys
	case "values":
		return &k.values
	}
	return nil
}

// str is a name or a string: a part of the text, if it is written without escapes.
func (d *decoder) str(v *unstable.Node) string {
	n := len(v.Data)
	switch quotes := int(v.Raw.Length) - n; quotes {
	case 0, 2:
		return d.all[int(v.Raw.Offset)+quotes/2:][:n]
	}
	return string(v.Data)
}

func (d *decoder) assign(field any, v *unstable.Node) error {
	switch f := field.(type) {
	case *bool:
		if v.Kind != unstable.Bool {
			return errors.New("neither true nor false")
		}
		*f = string(v.Data) == "true"
	case *int:
		if v.Kind != unstable.Integer || len(v.Data) != 1 {
			return errors.New("not a digit")
		}
		*f = int(v.Data[0] - '0')
	case *string:
		if v.Kind != unstable.String {
			return errors.New("not a string")
		}
		*f = d.str(v)
	case *Rank:
		if v.Kind != unstable.String {
			return errors.New("not a string")
		}
		return f.UnmarshalText(v.Data)
	case *[]string:
		if v.Kind != unstable.Array {
			return errors.New("not a list")
		}
		count := 0
		for it := v.Children(); it.Next(); {
			count++
		}
		*f = make([]string, 0, count)
		for it := v.Children(); it.Next(); {
			switch n := it.Node(); n.Kind {
			case unstable.Comment:
			case unstable.String:
				*f = append(*f, d.str(n))
			default:
				return errors.New("not a list of strings")
			}
		}
	}
	return nil
}
