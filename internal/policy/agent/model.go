package agent

import (
	"encoding/json"
	"fmt"
	"net/url"
	"sort"
	"strings"

	"ringfence.dev/ringfence/internal/address"
)

// Model is an API of a model that the agent speaks to through the broker: the agent
// is told the broker's address and a phantom, the host keeps the key.
type Model struct {
	API      string            `toml:"api"`       // anthropic, openai or gemini: the rules for its requests
	Upstream string            `toml:"upstream"`  // the vendor's URL
	Base     []string          `toml:"base"`      // variables of the launcher that name another upstream; the first that is set
	Trim     string            `toml:"trim"`      // what paths begin with at the broker and not at the upstream
	Headers  string            `toml:"headers"`   // variable of the launcher with further headers for that upstream
	Keys     []Key             `toml:"key"`       // variables of the launcher that hold a key; the first that is set
	Login    string            `toml:"login"`     // whose login of the host serves if there is no key
	Hint     string            `toml:"hint"`      // what to run if there is neither
	Env      map[string]string `toml:"env"`       // set inside; @URL@ stands for the broker's address
	KeyEnv   map[string]string `toml:"key-env"`   // set inside too where there is a key; @PHANTOM@ stands for it
	LoginEnv map[string]string `toml:"login-env"` // the same for a login; @NAME@ is what the login says, and empty is not set
	Args     []string          `toml:"args"`      // put before the user's own arguments
	// Settings is a file of the agent's, in JSON, in which the dotted keys of KeySet,
	// or of LoginSet, stand inside; whatever else it says stays.
	SettingsFile string            `toml:"settings"`
	KeySet       map[string]string `toml:"key-set"`
	LoginSet     map[string]string `toml:"login-set"`
}

// Key is a variable that holds a key.
type Key struct {
	Env string `toml:"env"`
	As  string `toml:"as"` // how it is sent: key, token or oauth
}

// The marks in values of Model.Env and Model.Args.
const (
	urlMark     = "@URL@"
	phantomMark = "@PHANTOM@"
)

func (m Model) check() error {
	switch m.API {
	case "anthropic", "openai", "gemini":
	default:
		return fmt.Errorf("api is %q, not anthropic, openai or gemini", m.API)
	}
	u, err := url.Parse(m.Upstream)
	if err != nil || u.Scheme != "https" || u.User != nil || u.RawQuery != "" {
		return fmt.Errorf("upstream is %q, not an https:// URL", m.Upstream)
	}
	if _, err := address.ParseName(u.Hostname()); err != nil {
		return fmt.Errorf("upstream: %w", err)
	}
	for _, k := range m.Keys {
		switch k.As {
		case "key", "token", "oauth":
		default:
			return fmt.Errorf("key %s: as is %q, not key, token or oauth", k.Env, k.As)
		}
	}
	if m.SettingsFile != "" {
		if err := checkPath(m.SettingsFile); err != nil {
			return err
		}
	}
	for _, set := range []map[string]string{m.Env, m.KeyEnv, m.LoginEnv} {
		if err := (Env{Set: set}).check(); err != nil {
			return err
		}
	}
	return nil
}

// Host is the vendor's host.
func (m Model) Host() address.Name {
	u, _ := url.Parse(m.Upstream) // checked
	n, _ := address.ParseName(u.Hostname())
	return n
}

// Settings lists the variables that lead the agent to the broker, sorted by name.
// facts is what a login says; nil for a key.
func (m Model) Settings(url, phantom string, facts map[string]string) []Setting {
	set := map[string]string{}
	fill := func(from map[string]string) {
		for name, value := range from {
			if v := fillModel(value, url, phantom, facts); v != "" {
				set[name] = v
			}
		}
	}
	fill(m.Env)
	if facts != nil && len(m.LoginEnv) > 0 {
		fill(m.LoginEnv)
	} else {
		fill(m.KeyEnv)
	}
	var list []Setting
	for name, value := range set {
		list = append(list, Setting{name, value})
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Name < list[j].Name })
	return list
}

// Overlay is what the agent's settings say inside.
func (m Model) Overlay(url, phantom string, facts map[string]string) map[string]any {
	set := m.KeySet
	if facts != nil && len(m.LoginSet) > 0 {
		set = m.LoginSet
	}
	out := map[string]any{}
	for key, value := range set {
		out[key] = fillModel(value, url, phantom, facts)
	}
	return out
}

// Overlaid puts values at dotted keys of a JSON text; an empty one is an empty object.
func Overlaid(data []byte, set map[string]any) ([]byte, error) {
	top := map[string]any{}
	if len(data) > 0 {
		if err := json.Unmarshal(data, &top); err != nil {
			return nil, err
		}
	}
	for key, value := range set {
		at, parts := top, strings.Split(key, ".")
		for _, p := range parts[:len(parts)-1] {
			next, ok := at[p].(map[string]any)
			if !ok {
				next = map[string]any{}
				at[p] = next
			}
			at = next
		}
		at[parts[len(parts)-1]] = value
	}
	return json.MarshalIndent(top, "", "  ")
}

// Arguments are those that lead the agent to the broker.
func (m Model) Arguments(url, phantom string) []string {
	var list []string
	for _, a := range m.Args {
		list = append(list, fillModel(a, url, phantom, nil))
	}
	return list
}

func fillModel(s, url, phantom string, facts map[string]string) string {
	s = strings.NewReplacer(urlMark, url, phantomMark, phantom).Replace(s)
	if name, ok := strings.CutPrefix(s, "@"); ok {
		if name, ok = strings.CutSuffix(name, "@"); ok {
			return facts[name]
		}
	}
	return s
}
