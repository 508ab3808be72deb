package mirrors

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"sync"

	"ringfence.dev/ringfence/internal/file/settings"
)

var plain = settings.Rules{Depth: 16, Nodes: 1 << 14}

// ReadGemrc reads the sources of a .gemrc; their addresses may hold logins.
func ReadGemrc(data []byte) (out []string, err error) {
	root, err := plain.YAML(data)
	if err != nil {
		return nil, err
	}
	n := root.Get(":sources")
	if n == nil {
		n = root.Get("sources")
	}
	if n == nil || n.Kind == settings.Word && n.Text == "" {
		return nil, nil
	}
	for _, k := range n.Items() {
		if k.Kind != settings.String {
			return nil, fmt.Errorf("line %d: a source is no plain text", k.Line)
		}
		if len(out) < most {
			out = append(out, k.Text)
		}
	}
	if n.Kind != settings.Array {
		return nil, fmt.Errorf("line %d: the sources are no plain list", n.Line)
	}
	return out, nil
}

// WriteGemrc has gem ask these sources alone, as the host does.
func WriteGemrc(sources []string) []byte {
	var b strings.Builder
	b.WriteString(":sources:\n")
	for _, s := range sources {
		fmt.Fprintf(&b, "- %q\n", s)
	}
	return []byte(b.String())
}

// Bundle is what bundler's settings say of mirrors, by their own names, and of logins, by
// hosts.
type Bundle struct {
	Mirrors map[string]string
	Logins  map[string]Login
}

var (
	bundleMirror = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^BUNDLE_MIRROR__(ALL|HTTPS?://[A-Z0-9_.:/-]{1,255})$`)
	})
	bundleHost = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^BUNDLE_([A-Z0-9]+(_+[A-Z0-9]+)*)$`) })
)

// ReadBundle adds a file of bundler's settings.
func (b *Bundle) ReadBundle(data []byte) error {
	root, err := plain.YAML(data)
	if err != nil {
		return err
	}
	for _, n := range root.Members() {
		if n.Kind == settings.String {
			b.Set(n.Name, n.Text)
		} else if bundleMirror().MatchString(n.Name) {
			return fmt.Errorf("line %d: a mirror is no plain text", n.Line)
		}
	}
	return nil
}

// Set adds one setting, as files and variables name it. "__" stands for a dot and "___" for
// a dash.
func (b *Bundle) Set(name, value string) {
	if b.Mirrors == nil {
		b.Mirrors, b.Logins = map[string]string{}, map[string]Login{}
	}
	if len(b.Mirrors)+len(b.Logins) >= most {
		return
	}
	if bundleMirror().MatchString(name) {
		if !strings.HasSuffix(name, "__FALLBACK_TIMEOUT") && !strings.HasSuffix(name, "__FALLBACK_TIMEOUT/") {
			b.Mirrors[name] = value
		}
		return
	}
	m, user := bundleHost().FindStringSubmatch(name), ""
	word, ok := "", false
	if user, word, ok = strings.Cut(value, ":"); m == nil || !ok || !strings.Contains(m[1], "__") {
		return
	}
	if u, err := url.PathUnescape(user); err == nil {
		user = u
	}
	if p, err := url.PathUnescape(word); err == nil {
		word = p
	}
	host := strings.ReplaceAll(strings.ReplaceAll(strings.ToLower(m[1]), "___", "-"), "__", ".")
	b.Logins[host] = Login{User: user, Password: word}
}

// WriteBundle is bundler's settings with these mirrors.
func WriteBundle(names, urls []string) []byte {
	var b strings.Builder
	b.WriteString("---\n")
	for i, name := range names {
		fmt.Fprintf(&b, "%s: %q\n", name, urls[i])
	}
	return []byte(b.String())
}
