package npm

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"sync"

	"ringfence.dev/ringfence/internal/file/settings"
)

// ParseYarn1 reads a .yarnrc, which is lines of a name and a value. What it says of
// registries it says in the words of an .npmrc.
func ParseYarn1(data []byte) RC {
	rc := RC{}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == '-' { // the last are flags of commands
			continue
		}
		key, value, ok := yarnWord(line)
		if !ok {
			continue
		}
		if value, _, ok = yarnWord(strings.TrimSpace(value)); ok && len(rc) < 4096 {
			rc[strings.TrimSuffix(key, ":")] = value
		}
	}
	return rc
}

// yarnWord takes the first word of a line, which may be quoted.
func yarnWord(line string) (word, rest string, ok bool) {
	if strings.HasPrefix(line, `"`) {
		word, rest, ok = strings.Cut(line[1:], `"`)
		return word, rest, ok && word != "" && !strings.Contains(word, `\`)
	}
	word, rest, _ = strings.Cut(line, " ")
	return word, rest, word != ""
}

var yarnVariable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{([A-Za-z0-9_]+)(?:(:?)-([^}]*))?\}`) })

// ParseYarn reads a .yarnrc.yml, and says what it says of registries in the words of an
// .npmrc. expand is as in ParseRC.
func ParseYarn(data []byte, expand func(string) string) (RC, error) {
	root, err := settings.Rules{Depth: 16, Nodes: 1 << 14}.YAML(data)
	if err != nil {
		return nil, err
	}
	y := yarnFile{rc: RC{}, expand: expand}
	if err := y.registry("registry", root); err != nil {
		return nil, err
	}
	for _, name := range []string{"npmScopes", "npmRegistries"} {
		if err := mapping(name, root.Get(name)); err != nil {
			return nil, err
		}
	}
	for _, n := range root.Get("npmScopes").Members() {
		if err := y.registry("@"+n.Name+":registry", n); err != nil {
			return nil, err
		}
	}
	for _, n := range root.Get("npmRegistries").Members() {
		if err := y.login(strings.TrimRight(n.Name[strings.Index(n.Name, "//")+1:], "/"), n); err != nil {
			return nil, err
		}
	}
	if y.rc["cafile"], err = y.text(root, "httpsCaFilePath"); err != nil {
		return nil, err
	}
	return y.rc, nil
}

// mapping refuses what should be one, of ones, and cannot be read.
func mapping(name string, n *settings.Node) error {
	if n == nil {
		return nil
	}
	for _, k := range append(n.Members(), n) {
		if k.Kind != settings.Object && k.Text != "" {
			return fmt.Errorf("line %d: %s is no plain mapping", k.Line, name)
		}
	}
	return nil
}

type yarnFile struct {
	rc     RC
	expand func(string) string
}

// text is a value with its variables. One that is there and cannot be read is an error.
func (y *yarnFile) text(in *settings.Node, name string) (string, error) {
	n := in.Get(name)
	if n == nil {
		return "", nil
	}
	if n.Kind != settings.String {
		return "", fmt.Errorf("line %d: %s is no plain text", n.Line, name)
	}
	if y.expand == nil {
		return n.Text, nil
	}
	return yarnVariable().ReplaceAllStringFunc(n.Text, func(s string) string {
		m := yarnVariable().FindStringSubmatch(s)
		if v := y.expand(m[1]); v != "" {
			return v
		}
		return m[3]
	}), nil
}

// registry reads one with its login, which stands beside it.
func (y *yarnFile) registry(key string, n *settings.Node) error {
	at, err := y.text(n, "npmRegistryServer")
	if err != nil || at == "" {
		return err
	}
	y.rc[key] = at
	u, err := url.Parse(at)
	if err != nil || u.Host == "" {
		return nil // who asks for the registry says so
	}
	return y.login("/"+u.Host+strings.TrimRight(u.Path, "/"), n)
}

// login reads what is sent to a place, "/HOST/PATH".
func (y *yarnFile) login(at string, n *settings.Node) error {
	token, err := y.text(n, "npmAuthToken")
	if err != nil {
		return err
	}
	ident, err := y.text(n, "npmAuthIdent")
	if err != nil {
		return err
	}
	if token != "" {
		y.rc["/"+at+"/:_authToken"] = token
	}
	if strings.Contains(ident, ":") {
		ident = base64.StdEncoding.EncodeToString([]byte(ident))
	}
	if ident != "" {
		y.rc["/"+at+"/:_auth"] = ident
	}
	return nil
}
