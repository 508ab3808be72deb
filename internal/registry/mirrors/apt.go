package mirrors

import (
	"cmp"
	"errors"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Source is a line of apt's sources.
type Source struct {
	Type       string   // deb or deb-src
	Options    []string // those that are known: arch, signed-by, trusted
	URL        string
	Suite      string
	Components []string
}

var (
	errSource = errors.New("a source of apt is of a kind that is not known")
	errKey    = errors.New("a key of apt's sources does not stand in a file of its own")
)

// ReadSources reads a sources.list, in which a source is a line.
func ReadSources(data []byte) (out []Source, err error) {
	for line := range strings.Lines(string(data)) {
		line, _, _ = strings.Cut(line, "#")
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		s := Source{Type: f[0]}
		f = f[1:]
		if len(f) > 0 && strings.HasPrefix(f[0], "[") {
			end := slices.IndexFunc(f, func(w string) bool { return strings.HasSuffix(w, "]") })
			if end < 0 {
				return out, errSource
			}
			for w := range strings.FieldsSeq(strings.Trim(strings.Join(f[:end+1], " "), "[]")) {
				name, value, _ := strings.Cut(w, "=")
				err = cmp.Or(err, s.option(strings.ToLower(name), value))
			}
			f = f[end+1:]
		}
		if len(f) < 2 {
			return out, errSource
		}
		s.URL, s.Suite, s.Components = f[0], f[1], f[2:]
		out, err = appendSource(out, s, err)
	}
	return out, err
}

func appendSource(out []Source, s Source, err error) ([]Source, error) {
	ok := (s.Type == "deb" || s.Type == "deb-src") && aptWord().MatchString(s.Suite) && len(out) < most
	for _, c := range s.Components {
		ok = ok && aptWord().MatchString(c)
	}
	if !ok {
		return out, errSource
	}
	return append(out, s), err
}

var aptWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9./][A-Za-z0-9./_+~-]{0,127}$`) })

// option keeps what is known; what is not is passed over, but for a key in place of its file.
func (s *Source) option(name, value string) error {
	switch name {
	case "arch", "architectures":
		if strings.Trim(value, "abcdefghijklmnopqrstuvwxyz0123456789, -") == "" {
			s.Options = append(s.Options, "arch="+strings.Join(strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' }), ","))
		}
	case "signed-by":
		if !filepath.IsAbs(value) || strings.ContainsAny(value, " \n[]\"") {
			return errKey
		}
		s.Options = append(s.Options, "signed-by="+value)
	case "trusted":
		if value == "yes" {
			s.Options = append(s.Options, "trusted=yes")
		}
	}
	return nil
}

// ReadSources822 reads a file whose name ends in .sources: paragraphs of fields.
func ReadSources822(data []byte) (out []Source, err error) {
	for part := range strings.SplitSeq(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n\n") {
		fields, last := map[string]string{}, ""
		for line := range strings.Lines(part) {
			switch name, value, ok := strings.Cut(line, ":"); {
			case strings.HasPrefix(line, "#"):
			case line[0] == ' ' || line[0] == '\t':
				fields[last] += " " + strings.TrimSpace(line)
			case ok:
				last = strings.ToLower(strings.TrimSpace(name))
				fields[last] = strings.TrimSpace(value)
			}
		}
		if fields["uris"] == "" || fields["enabled"] == "no" {
			continue
		}
		all, one := source822(fields)
		if err = cmp.Or(err, one); len(out)+len(all) <= most {
			out = append(out, all...)
		}
	}
	return out, err
}

func source822(fields map[string]string) (out []Source, err error) {
	base := Source{Components: strings.Fields(fields["components"])}
	for _, name := range []string{"architectures", "signed-by", "trusted"} {
		if fields[name] != "" {
			err = cmp.Or(err, base.option(name, fields[name]))
		}
	}
	for kind := range strings.FieldsSeq(fields["types"]) {
		for at := range strings.FieldsSeq(fields["uris"]) {
			for suite := range strings.FieldsSeq(fields["suites"]) {
				s := base
				s.Type, s.URL, s.Suite = kind, at, suite
				if out, err = appendSource(out, s, err); errors.Is(err, errSource) {
					return out, err // there may be as many as all three multiplied
				}
			}
		}
	}
	return out, err
}

// String is the line of a source.
func (s Source) String() string {
	line := s.Type
	if len(s.Options) > 0 {
		line += " [" + strings.Join(s.Options, " ") + "]"
	}
	return strings.Join(append([]string{line, s.URL, s.Suite}, s.Components...), " ")
}

// AptLogin finds the login of an address in an auth.conf, whose machines may have a scheme
// and a path.
func AptLogin(data []byte, u *url.URL) (Login, bool) {
	words := strings.Fields(string(data))
	for i := 0; i+1 < len(words); i++ {
		if words[i] != "machine" || !aptMachine(words[i+1], u) {
			continue
		}
		var l Login
		for j := i + 2; j+1 < len(words) && words[j] != "machine"; j += 2 {
			switch words[j] {
			case "login":
				l.User = words[j+1]
			case "password":
				l.Password = words[j+1]
			}
		}
		return l, l.Password != ""
	}
	return Login{}, false
}

// aptMachine: a name alone is for https, as apt has it.
func aptMachine(text string, u *url.URL) bool {
	scheme := "https"
	if s, rest, ok := strings.Cut(text, "://"); ok {
		scheme, text = s, rest
	}
	host, path, _ := strings.Cut(text, "/")
	path = strings.TrimRight("/"+path, "/")
	return scheme == u.Scheme && strings.EqualFold(host, u.Host) && (u.Path == path || strings.HasPrefix(u.Path, path+"/") || path == "")
}
