package mirrors

import (
	"encoding/json"
	"strings"

	"ringfence.dev/ringfence/internal/file/settings"
)

// Composer is what composer's config.json says of repositories.
type Composer struct {
	Repositories []ComposerRepository
	NoPackagist  bool // the public one is not asked
	Left         int  // repositories of other kinds
}

// ComposerRepository is one of composer's own kind.
type ComposerRepository struct{ Name, URL string }

// ReadComposer reads a config.json.
func ReadComposer(data []byte) (c Composer, err error) {
	root, err := plain.JSON(data)
	if err != nil {
		return c, err
	}
	repos := root.Get("repositories")
	for _, n := range append(repos.Items(), repos.Members()...) {
		c.add(n)
	}
	return c, nil
}

func (c *Composer) add(n *settings.Node) {
	switch at := n.Get("url").Str(); {
	case n.IsFalse() && isPackagist(n.Name), n.Get("packagist").IsFalse(), n.Get("packagist.org").IsFalse():
		c.NoPackagist = true
	case n.Kind == settings.Object && n.Get("type").Is("composer") && at != "" && len(c.Repositories) < most:
		r := ComposerRepository{URL: at}
		if word().MatchString(n.Name) {
			r.Name = n.Name
		}
		c.Repositories = append(c.Repositories, r)
	default:
		c.Left++
	}
}

func isPackagist(name string) bool { return name == "packagist" || name == "packagist.org" }

// ReadComposerAuth reads an auth.json: logins by hosts.
func ReadComposerAuth(data []byte) (map[string]Login, error) {
	root, err := plain.JSON(data)
	if err != nil {
		return nil, err
	}
	out := map[string]Login{}
	for _, n := range root.Get("http-basic").Members() {
		if l := (Login{User: n.Get("username").Str(), Password: n.Get("password").Str()}); l.Password != "" && len(out) < most {
			out[n.Name] = l
		}
	}
	for _, n := range root.Get("bearer").Members() {
		if n.Str() != "" && len(out) < most {
			out[n.Name] = Login{Bearer: true, Password: n.Str()}
		}
	}
	return out, nil
}

// Write is settings of the same meaning, without logins.
func (c Composer) Write() []byte {
	list := []any{}
	for _, r := range c.Repositories {
		list = append(list, map[string]string{"type": "composer", "url": r.URL})
	}
	if c.NoPackagist {
		list = append(list, map[string]bool{"packagist.org": false})
	}
	plainHTTP := false
	for _, r := range c.Repositories {
		plainHTTP = plainHTTP || strings.HasPrefix(r.URL, "http:")
	}
	out := map[string]any{"repositories": list}
	if plainHTTP {
		out["config"] = map[string]bool{"secure-http": false}
	}
	text, err := json.Marshal(out)
	if err != nil {
		return nil // nothing of it can fail to be written
	}
	return append(text, '\n')
}
