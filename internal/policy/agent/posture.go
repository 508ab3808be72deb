package agent

import (
	"fmt"
	"strings"
)

// Posture is what the agent is told of the network.
type Posture struct {
	Mode    string   // "none" or "", "locked", "dev", "internet"
	Groups  []Hosts  // what can be reached by name, under the name of its group
	Allowed []string // what the human allowed besides
	Granted []string // what they granted since the start, and still holds
	Denied  []Hosts  // what cannot be reached although the above says so
	Devices []string // internal addresses that are open all the same: ADDRESS:PORT
	Publish []string // ports of servers in here that the human can reach
	Host    []string // ports of 127.0.0.1 that lead to servers of the host
	Proxy   string   // where a tool that insists finds a proxy: HOST:PORT
	Session string   // for the command that grants
}

// Hosts is a named list of rules about hosts.
type Hosts struct {
	Name  string
	Rules []string
}

// maxShown bounds what of a group is spelt out. The name says the rest.
const maxShown = 5

func (p Posture) write(b *strings.Builder, agent string) {
	b.WriteString("## Network\n\n")
	if p.Mode == "" || p.Mode == "none" {
		b.WriteString("There is none. Only your own loopback works: a server you start here is reachable from here alone.\n" +
			"Downloads, installs from a registry, fetch and push cannot work; do not retry them.\n\n")
		return
	}
	p.open(b)
	groups(b, "Except these:", p.Denied)
	p.closed(b)
	p.ports(b)
	start, rest := again(agent)
	b.WriteString("If you need another host or a port shown, name it to the human with your reason, and give them one of:\n\n" +
		"- at once, while you run: `ringfence grant " + p.session() + " --host HOST[:PORT]`\n" +
		"- to open a server of yours on their machine: `ringfence publish " + p.session() + " PORT`\n" +
		"- from the next start on: `" + start + " --allow-host HOST[:PORT]" + rest + "`\n\n")
}

// open says what can be reached.
func (p Posture) open(b *strings.Builder) {
	what := "the model's own API, code forges, package registries and documentation"
	switch p.Mode {
	case "internet":
		b.WriteString("Mode internet: you can reach every public host, by name and over TCP. Every connection is recorded.\n\n")
		return
	case "open":
		b.WriteString("Mode open: you can reach every public host and address over TCP, at any port. Every connection is recorded.\n\n")
		return
	case "locked":
		what = "the model's own API and what the human allowed"
	}
	b.WriteString("Mode " + label(p.Mode) + ": " + what + ", by name and over TCP. Every connection is recorded.\n")
	if len(p.Groups)+len(p.Allowed)+len(p.Granted) == 0 {
		b.WriteString("Here that is nothing at all.\n\n")
		return
	}
	b.WriteString("Ports are 443 (TLS) and 80 (HTTP) where none is written; `*.` is every name below. You can reach:\n\n")
	groups(b, "", p.Groups)
	list(b, "And what the human allowed:", p.Allowed)
	list(b, "And what they granted since you began:", p.Granted)
}

// closed says what is not there, so that it is not tried again.
func (p Posture) closed(b *strings.Builder) {
	if p.Mode == "internet" || p.Mode == "open" {
		b.WriteString("A name that is refused is refused at once")
	} else {
		b.WriteString("Every other name is refused at once")
	}
	b.WriteString(", and stays refused until the human grants it: no retry, port, resolver or mirror changes that.\n" +
		"There is no UDP but for looking up names, so no QUIC, and no ICMP: ping never answers. " + p.bare())
	if p.Proxy != "" {
		b.WriteString("No proxy is needed. A tool that insists on one can use " + quoteHost("http://"+p.Proxy) + " (HTTP CONNECT and SOCKS5).\n")
	}
	b.WriteString("\n")
	list(b, "Open all the same:", p.Devices)
}

// bare says which addresses are closed.
func (p Posture) bare() string {
	if p.Mode == "open" {
		return "Every internal address\n(private ranges, the host itself, cloud metadata) is closed.\n"
	}
	return "A bare IP address, and every\ninternal one (private ranges, the host itself, cloud metadata), is closed.\n"
}

func (p Posture) ports(b *strings.Builder) {
	b.WriteString("A server you start here is reachable from here alone")
	if len(p.Publish) > 0 {
		b.WriteString(", but for these ports, which the human can open on their localhost: " + inline(p.Publish, maxItems))
	}
	b.WriteString(".\n")
	if len(p.Host) > 0 {
		b.WriteString("These ports of 127.0.0.1 lead to servers of the human's machine: " + inline(p.Host, maxItems) + ".\n")
	}
	b.WriteString("\n")
}

func (p Posture) session() string {
	if p.Session == "" || len(p.Session) > 64 || label(p.Session) != p.Session {
		return "SESSION"
	}
	return p.Session
}

// groups writes one line for each group; nothing if there are none.
func groups(b *strings.Builder, heading string, all []Hosts) {
	if len(all) == 0 {
		return
	}
	if heading != "" {
		b.WriteString(heading + "\n\n")
	}
	for i, g := range all {
		if i == maxItems {
			fmt.Fprintf(b, "- and %d more\n", len(all)-i)
			break
		}
		fmt.Fprintf(b, "- %s: %s\n", label(g.Name), inline(g.Rules, maxShown))
	}
	b.WriteString("\n")
}

// inline writes up to most items on one line.
func inline(items []string, most int) string {
	var out []string
	for _, item := range items[:min(len(items), most)] {
		out = append(out, quoteHost(item))
	}
	if n := len(items) - most; n > 0 {
		out = append(out, fmt.Sprintf("and %d more", n))
	}
	return strings.Join(out, ", ")
}

// quoteHost leaves the quotes away where nothing needs them: they cost as much as
// the name.
func quoteHost(s string) string {
	if len(s) < 100 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789.-:/*[]") == "" {
		return "`" + s + "`"
	}
	return quote(s)
}

// label is a word of ours, or whatever it is in quotes.
func label(s string) string {
	if strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == "" {
		return s
	}
	return quote(s)
}
