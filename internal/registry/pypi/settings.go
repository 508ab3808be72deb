package pypi

import (
	"errors"
	"net/url"
	"strings"

	"ringfence.dev/ringfence/internal/file/settings"
)

// Index is one that the host's settings name.
type Index struct {
	Name     string // "": it has none
	URL      string
	Default  bool // the one that stands in for the public one
	Explicit bool // for packages that name it, and for no others
}

// Conf is what the files of pip say, by section and key.
type Conf map[string]string

// maxKeys bounds what is read of settings.
const maxKeys = 4096

// Read adds a pip.conf, as Python's reader of such files has it: what is said later counts,
// and what stands further in belongs to the line above.
func (c Conf) Read(data []byte) {
	section, key := "", ""
	for line := range strings.Lines(string(data)) {
		text := strings.TrimSpace(line)
		switch {
		case text == "" || text[0] == '#' || text[0] == ';':
		case line[0] == ' ' || line[0] == '\t':
			if key != "" && len(c[key]) < 1<<16 {
				c[key] += "\n" + text
			}
		case text[0] == '[':
			section, key = strings.TrimSuffix(text[1:], "]"), ""
		default:
			key = ""
			if at := strings.IndexAny(text, "=:"); at > 0 && len(c) < maxKeys {
				name := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(text[:at])), "_", "-")
				key = section + "." + name
				c[key] = strings.TrimSpace(text[at+1:])
			}
		}
	}
}

// get is what the file says to pip install.
func (c Conf) get(name string) string {
	if v, ok := c["install."+name]; ok {
		return v
	}
	return c["global."+name]
}

// Cert is the file of authorities that pip believes; "": none is named.
func (c Conf) Cert() string { return c.get("cert") }

// Keyring holds where pip asks a program of the host for logins.
func (c Conf) Keyring() bool {
	v := c.get("keyring-provider")
	return v != "" && v != "auto" && v != "disabled"
}

// Indexes are those that pip would install from, the first one first.
func (c Conf) Indexes() (out []Index) {
	if v := c.get("index-url"); v != "" {
		out = append(out, Index{URL: v, Default: true})
	}
	for v := range strings.FieldsSeq(c.get("extra-index-url")) {
		out = append(out, Index{URL: v})
	}
	return out
}

// ParseUV reads uv.toml, or with a path the part of another file that is uv's.
func ParseUV(data []byte, path ...string) ([]Index, error) {
	root, _, err := settings.Rules{Depth: 32, Nodes: 1 << 16}.TOML(data)
	if err != nil {
		return nil, err
	}
	if root = root.Get(path...); root == nil {
		return nil, nil
	}
	var out []Index
	for _, n := range root.Get("index").Items() {
		i := Index{Name: n.Get("name").Str(), URL: n.Get("url").Str(), Default: n.Get("default").IsTrue(), Explicit: n.Get("explicit").IsTrue()}
		if !projectName().MatchString(i.Name) {
			i.Name = ""
		}
		if i.URL != "" && len(out) < maxKeys {
			out = append(out, i)
		}
	}
	for _, at := range [][]string{{"extra-index-url"}, {"pip", "extra-index-url"}} {
		for _, n := range root.Get(at...).Items() {
			out = append(out, Index{URL: n.Text})
		}
	}
	for _, at := range [][]string{{"index-url"}, {"pip", "index-url"}} {
		if v := root.Get(at...).Str(); v != "" {
			out = append(out, Index{URL: v, Default: true})
		}
	}
	return out, nil
}

// UVKeyring holds where uv.toml has uv ask a program of the host for logins.
func UVKeyring(data []byte) bool {
	root, _, err := settings.Rules{Depth: 32, Nodes: 1 << 16}.TOML(data)
	return err == nil && (root.Get("keyring-provider").Is("subprocess") || root.Get("pip", "keyring-provider").Is("subprocess"))
}

// ParseNamed reads one word of UV_INDEX: a URL, or NAME=URL.
func ParseNamed(word string) Index {
	if name, at, ok := strings.Cut(word, "="); ok && projectName().MatchString(name) {
		return Index{Name: name, URL: at}
	}
	return Index{URL: word}
}

var errURL = errors.New("not an http:// or https:// URL without a query")

// ParseURL reads the address of an index; it may hold a login.
func ParseURL(text string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, errURL // never with the text: it may hold a password
	}
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), ""
	return u, nil
}
