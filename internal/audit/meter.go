package audit

import (
	"fmt"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/policy"
)

// Level is how much of a leg is there.
type Level int

// The levels.
const (
	None Level = iota
	Some
	Full
)

var levelNames = [...]string{"none", "some", "full"}

func (l Level) String() string { return levelNames[l] }

// MarshalText writes the name of a level.
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText reads the name of a level.
func (l *Level) UnmarshalText(text []byte) error {
	for i, name := range levelNames {
		if name == string(text) {
			*l = Level(i)
			return nil
		}
	}
	return fmt.Errorf("no level is called %q", text)
}

// Leg is one of the three, with the reasons for its level.
type Leg struct {
	Level   Level    `json:"level"`
	Reasons []string `json:"reasons,omitempty"`
}

// raise adds a reason; the highest level stays.
func (l *Leg) raise(to Level, format string, args ...any) {
	l.Level = max(l.Level, to)
	l.Reasons = append(l.Reasons, fmt.Sprintf(format, args...))
}

// Trifecta is what the meter reads. With one leg missing an injected text can take
// nothing out; with all three it can take what the first leg names.
type Trifecta struct {
	Private   Leg `json:"private"`
	Untrusted Leg `json:"untrusted"`
	WayOut    Leg `json:"way_out"`
}

// Tainted says that text has come in which tries to give orders, so many times, and how the
// first one did.
func (t *Trifecta) Tainted(times int, kind string) {
	what := "a tool returned text that tries to give orders"
	if times > 1 {
		what = fmt.Sprintf("tools returned text that tries to give orders, %d times", times)
	}
	t.Untrusted.raise(Full, "%s (%s)", what, kind)
}

// Legs counts the legs that are there at all.
func (t Trifecta) Legs() int {
	n := 0
	for _, l := range []Leg{t.Private, t.Untrusted, t.WayOut} {
		if l.Level > None {
			n++
		}
	}
	return n
}

// Line is one line for a card. Without UTF-8 the levels are words.
func (t Trifecta) Line(utf8 bool) string {
	mark := func(l Leg) string {
		if utf8 {
			return [...]string{"○", "◐", "●"}[l.Level]
		}
		return l.Level.String()
	}
	return fmt.Sprintf("private %s  untrusted %s  way out %s", mark(t.Private), mark(t.Untrusted), mark(t.WayOut))
}

// UTF8 reports whether the locale of an environment can show more than ASCII.
func UTF8(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := getenv(name); v != "" {
			v = strings.ToLower(v)
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return false
}

// Exposure is what the meter looks at. Lists hold names for people, never values.
type Exposure struct {
	Bare bool // no sandbox: the whole home and the whole network are there

	// Private data.
	Workspaces []string // trees of the host
	Secrets    []string // credentials that are visible: exposed, revealed, passed by name
	Granted    []string // further paths of the host
	Brokered   []string // credentials that are used on the agent's behalf and not seen

	// Untrusted content.
	Foreign string   // why the repository is not the user's own; "" if it is, or none
	Servers []string // MCP servers
	Readers []string // tools and servers that bring in mail, issues or pages

	// Both: what is reached is also what is read.
	Network string   // "none", "locked", "dev", "internet"
	Hosts   []string // allowed besides the mode
	Anyone  []string // of what is allowed: hosts where anybody can publish
	Devices []string // internal addresses and ports of the host
	Publish []string // ports that the host can reach
	Push    []string // remotes that can be pushed to
	Model   bool     // a model's provider is spoken to

	// Provider is what a model's provider may do besides answering, in words of policy:
	// "search", "fetch", "code", "files", "mcp".
	Provider []string
}

// Meter reads the three legs off an exposure. It looks at nothing else.
func Meter(e Exposure) Trifecta {
	var t Trifecta
	e.private(&t.Private)
	e.untrusted(&t.Untrusted)
	e.wayOut(&t.WayOut)
	return t
}

func (e *Exposure) private(l *Leg) {
	if e.Bare {
		l.raise(Full, "the whole home directory can be read")
	}
	if len(e.Secrets) > 0 {
		l.raise(Full, "credentials in sight: %s", few(e.Secrets))
	}
	if len(e.Granted) > 0 {
		l.raise(Some, "paths of the host: %s", few(e.Granted))
	}
	if len(e.Workspaces) > 0 {
		l.raise(Some, "workspace: %s", few(e.Workspaces))
	}
	if len(e.Brokered) > 0 {
		l.raise(Some, "used for the agent, not seen by it: %s", few(e.Brokered))
	}
}

func (e *Exposure) untrusted(l *Leg) {
	if e.Foreign != "" {
		l.raise(Full, "%s", e.Foreign)
	}
	if len(e.Readers) > 0 {
		l.raise(Full, "brings in what strangers write: %s", few(e.Readers))
	}
	switch {
	case e.Bare, policy.Wide(e.Network):
		l.raise(Full, "any page of the internet can be read")
	case e.Network == "dev":
		l.raise(Some, "packages and their documentation come in")
	case e.Network == "locked" && len(e.Hosts) > 0:
		l.raise(Some, "what allowed hosts answer comes in: %s", few(e.Hosts))
	}
	if e.provides("search") {
		l.raise(Some, "the model's provider searches the web: what strangers wrote comes in")
	}
	if e.provides("fetch") {
		l.raise(Full, "the model's provider fetches any page")
	}
	if e.provides("mcp") {
		l.raise(Full, "the model's provider calls MCP servers that the agent names")
	}
	if len(e.Servers) > 0 {
		l.raise(Some, "MCP servers answer: %s", few(e.Servers))
	}
}

func (e *Exposure) wayOut(l *Leg) {
	switch {
	case e.Bare:
		l.raise(Full, "every host and port can be reached")
	case e.Network == "open":
		l.raise(Full, "every public address and port can be reached")
	case e.Network == "internet":
		l.raise(Full, "every public host can be reached")
	case e.Network == "dev":
		l.raise(Some, "hosts of registries and forges can be reached")
	}
	if len(e.Anyone) > 0 {
		l.raise(Full, "anybody can publish at: %s", few(e.Anyone))
	}
	if len(e.Devices) > 0 {
		l.raise(Full, "internal addresses can be reached: %s", few(e.Devices))
	}
	if e.Network != "none" && len(e.Hosts) > 0 {
		l.raise(Some, "allowed hosts: %s", few(e.Hosts))
	}
	if len(e.Push) > 0 {
		l.raise(Some, "can push to: %s", few(e.Push))
	}
	if len(e.Publish) > 0 {
		l.raise(Some, "servers inside are published: %s", few(e.Publish))
	}
	if e.Model {
		l.raise(Some, "the model's provider is spoken to")
	}
	if e.provides("fetch") || e.provides("mcp") {
		l.raise(Full, "the model's provider sends requests to addresses that the agent names")
	}
}

// provides holds for what a provider may do, where one is spoken to.
func (e *Exposure) provides(feature string) bool {
	return (e.Model || e.Bare) && slices.Contains(e.Provider, feature)
}

// few names some of a list.
func few(list []string) string {
	const most = 3
	if len(list) <= most {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), len(list)-most)
}
