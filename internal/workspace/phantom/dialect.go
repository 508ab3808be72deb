package phantom

import (
	"strings"
)

// dialect is a way to write settings, one a line.
type dialect struct {
	key      form   // what may stand before a key, the key, the separator
	blanks   string // what a line is indented with
	comments string // what begins a line of comment; the first is for what is hidden
	inline   string // what begins one after a value and a blank
	quotes   string // what a value may be in
	sections bool   // [name]
	brackets bool   // lists, maps and here-documents over several lines
	indented bool   // it is YAML: what belongs together is indented alike
}

var (
	dotenv = &dialect{
		key:    lazily(`^((?:export[ \t]+)?)([A-Za-z_][A-Za-z0-9_.-]*)([ \t]*=[ \t]*|:[ \t]+)`),
		blanks: " \t", comments: "#", inline: "#", quotes: "\"'`"}
	ini = &dialect{
		key:    lazily(`^()([^=:\s\[#;!][^=:]*?|//[^=\s]+)([ \t]*[=:][ \t]*)`),
		blanks: " \t", comments: "#;!", inline: "#;", quotes: "\"'", sections: true}
	npmrc = &dialect{
		key:    lazily(`^()([^=\s\[#;][^=]*?)([ \t]*=[ \t]*)`),
		blanks: " \t", comments: "#;", quotes: "\"'", sections: true}
	hcl = &dialect{
		key:    lazily(`^()("[^"\\]*"|[A-Za-z0-9_.-]+)([ \t]*[=:][ \t]*)`),
		blanks: " \t", comments: "#/", inline: "#/", quotes: "\"'", sections: true, brackets: true}
	yaml = &dialect{
		key: lazily(`^()("[^"\\]*"|'[^']*'|[A-Za-z0-9_.$/@<*(-][^:#"'{}\[\]]*?|[A-Za-z0-9_.$/@-][A-Za-z0-9_.$/@:-]*?)` +
			`([ \t]*:(?:[ \t]+|$))`),
		blanks: " ", comments: "#", inline: "#", quotes: "\"'", indented: true}
)

func (m *masker) dotenvFile(s string) (string, Kind) { return m.settings(dotenv, s), Values }
func (m *masker) iniFile(s string) (string, Kind)    { return m.settings(ini, s), Values }
func (m *masker) hclFile(s string) (string, Kind)    { return m.settings(hcl, s), Values }
func (m *masker) npmrcFile(s string) (string, Kind)  { return m.withLogin(npmrc, s) }
func (m *masker) yarnFile(s string) (string, Kind)   { return m.withLogin(yaml, s) }

const vaultHeader = "$ANSIBLE_VAULT;"

// yamlFile is for all YAML. A file that ansible-vault encrypted is no secret.
func (m *masker) yamlFile(s string) (string, Kind) {
	if strings.HasPrefix(s, vaultHeader) {
		head, body, _ := strings.Cut(s, "\n")
		if len(head) < 80 && allIn(head, alnums+"$;._-\r") && allIn(body, hexes+"\r\n") {
			return s, None
		}
		return "", Empty
	}
	return m.settings(yaml, s), Values
}

// withLogin is for files of tools: without a login such a file is configuration and stays.
func (m *masker) withLogin(d *dialect, s string) (string, Kind) {
	for line := range strings.Lines(s) {
		line = strings.TrimLeft(strings.TrimSpace(line), " -")
		f := d.key().FindStringSubmatch(line)
		if f == nil {
			continue
		}
		name, v := f[2], line[len(f[0]):]
		if !d.indented {
			name = name[strings.LastIndexByte(name, ':')+1:]
		}
		if (key{}).child(name).secret && (v != "" || d.indented) && !reference().MatchString(v) && !switches().MatchString(v) {
			return m.settings(d, s), Values
		}
	}
	return s, None
}

// reader goes over settings line by line. It knows what people write; of all else it
// shows that a line was there.
type reader struct {
	edit
	*dialect
	above  []level
	sealed bool // it is a Secret of Kubernetes: all data is secret
	limit  int  // where a list or a map ends, at the latest
}

// level is a key with values below it, and how far it is indented.
type level struct {
	indent int
	key    key
}

// settings replaces the values of a text.
func (m *masker) settings(d *dialect, s string) string {
	r := &reader{edit: edit{masker: m, in: s}, dialect: d, sealed: d.indented && strings.Contains(s, "kind: Secret")}
	for r.at < len(s) && !m.spent() {
		r.entry()
		r.endLine()
	}
	return string(r.out)
}

// entry shows a line, and what belongs to its value of the following ones.
func (r *reader) entry() {
	from, line := r.at, r.line(r.at)
	r.at += len(line)
	indent := len(line) - len(strings.TrimLeft(line, r.blanks))
	bare := strings.TrimRight(line[indent:], " \t")
	if bare == "" {
		return
	}
	r.write(line[:indent])
	if strings.IndexByte(r.comments, bare[0]) >= 0 {
		r.commented(bare)
		return
	}
	if r.asItIs(bare) {
		r.write(bare)
		return
	}
	dashes := 0
	if r.indented {
		dashes = r.dashes(bare, indent)
	}
	r.write(bare[:dashes])
	around, f := r.around(), r.dialect.key().FindStringSubmatch(bare[dashes:])
	switch start := from + indent + dashes; {
	case bare[dashes:] == "":
	case f != nil:
		k := r.child(around, f[2])
		if r.indented {
			r.above = append(r.above, level{indent + dashes, k})
		}
		r.write(f[1], r.shownKey(around, f[2]), f[3])
		r.right(k, start+len(f[0]), indent+dashes)
	case dashes > 0 || len(r.above) > 0 && r.brackets:
		r.right(around, start, indent)
	default:
		r.write(r.comments[:1]) // the rest of a value, or what is not understood
	}
}

// asItIs holds for lines that have no value: the name of a section, a bracket.
func (r *reader) asItIs(bare string) bool {
	switch {
	case r.indented:
		return yamlMark().MatchString(bare) || reference().MatchString(bare)
	case len(r.above) == 0:
		name := strings.Trim(bare, "[]")
		return r.sections && bare[0] == '[' && strings.HasSuffix(bare, "]") && proper(strings.ReplaceAll(name, `"`, "")) && r.keep(name)
	case bare == "{" || bare == "[":
		r.above = append(r.above, level{key: r.around()})
		return true
	case strings.Trim(bare, "}])") == "" || strings.Trim(bare, "}]),") == "" && strings.HasSuffix(bare, ","):
		r.above = r.above[:max(len(r.above)-len(strings.TrimRight(bare, ",")), 0)]
		return true
	}
	return false
}

// around is the key that the line at hand is below.
func (r *reader) around() key {
	if len(r.above) == 0 {
		return key{}
	}
	return r.above[len(r.above)-1].key
}

// name is a key without its quotes.
func (r *reader) name(raw string) string {
	if r.indented {
		return strings.Trim(raw, `"'`)
	}
	return strings.Trim(raw, `"`)
}

func (r *reader) child(around key, raw string) key {
	name := r.name(raw)
	k := around.child(name)
	k.below = k.below || r.sealed && (name == "data" || name == "stringData")
	return k
}

func (r *reader) shownKey(around key, raw string) string {
	name := r.name(raw)
	switch {
	case raw == "<<" || proper(name):
		return raw
	case r.indented:
		return quoteJSON(r.opaque(around, name))
	}
	return r.opaque(around, name)
}

// commented is a line of comment. A setting that was taken out stays one.
func (r *reader) commented(line string) {
	body := strings.TrimLeft(line, " \t"+r.comments)
	r.write(line[:len(line)-len(body)])
	f := r.dialect.key().FindStringSubmatch(body)
	setting := f != nil && (r.indented || strings.Contains(f[3], "=")) && !strings.Contains(f[2], " ") && proper(r.name(f[2]))
	if setting && r.indented { // "Note: this is prose"
		v, _ := cutComment(body[len(f[0]):], r.inline)
		setting = v != "" && ((key{}).child(f[2]).secret || !strings.Contains(v, " "))
	}
	if !setting {
		r.write(r.comment(body))
		return
	}
	out := &reader{edit: edit{masker: r.masker, in: body}, dialect: r.dialect}
	out.entry()
	r.write(string(out.out))
}
