package netattack

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"ringfence.dev/ringfence/test/netattack/probe"
)

// number is one of the catalogue.
type number struct{ id, verdict, about string }

// ids are all numbers of the categories net, dns, proxy and exfil.
var ids = []number{
	{"NT-001", closed, "interfaces and routes of the host"},
	{"NT-002", closed, "straight connections without a proxy"},
	{"NT-003", closed, "services on the host's loopback"},
	{"NT-004", closed, "the host by a gateway or a magic name"},
	{"NT-005", closed, "the host by its own addresses"},
	{"NT-009", closed, "private, shared, reserved and translated ranges, metadata"},
	{"NT-011", closed, "UDP and QUIC to anywhere"},
	{"NT-012", closed, "multicast and broadcast"},
	{"NT-013", closed, "changing routes, rules and settings from inside"},
	{"NT-015", works, "ports that are opened open nothing else"},
	{"NT-016", closed, "one verdict by every way"},
	{"NT-017", closed, "a relay inside"},
	{"NT-018", closed, "NO_PROXY"},
	{"NT-019", closed, "another session's gate and control"},
	{"NT-020", closed, "the supervisor killed"},
	{"NT-021", closed, "names with IPv6 only"},
	{"NT-022", closed, "rare kinds of sockets"},
	{"NT-023", works, "ordinary clients"},
	{"DN-001", closed, "data in names under a denied domain"},
	{"DN-002", closed, "names looked up before they are denied"},
	{"DN-003", residual, "data in names under a star that is allowed: asked for when connected to, and recorded"},
	{"DN-004", closed, "other resolvers, DoT, DoH"},
	{"DN-005", closed, "record types, sizes, malformed messages"},
	{"DN-006", closed, "names of addresses"},
	{"DN-007", closed, "names of the neighbourhood, search lists"},
	{"DN-009", closed, "mixed answers, aliases, answers that change"},
	{"DN-010", closed, "public names of private addresses"},
	{"PX-002", closed, "CONNECT to a denied host"},
	{"PX-003", works, "a dot at the end of a name"},
	{"PX-004", closed, "empty labels"},
	{"PX-007", closed, "the name above a star"},
	{"PX-008", works, "several labels below a star"},
	{"PX-009", closed, "rules that are too wide or malformed"},
	{"PX-010", closed, "empty, broken and unreadable policies"},
	{"PX-011", closed, "NUL in the target of CONNECT"},
	{"PX-012", closed, "NUL in a name of SOCKS5"},
	{"PX-013", closed, "addresses as names of SOCKS5"},
	{"PX-014", closed, "addresses in SOCKS5"},
	{"PX-015", closed, "other commands and versions of SOCKS"},
	{"PX-016", closed, "malformed and slow SOCKS5"},
	{"PX-017", closed, "addresses in CONNECT"},
	{"PX-020", closed, "zones of IPv6"},
	{"PX-021", closed, "user names in a target"},
	{"PX-022", closed, "ports that are none"},
	{"PX-023", closed, "targets without a host"},
	{"PX-024", works, "another Host beside CONNECT is not heeded"},
	{"PX-025", closed, "ports that the rule does not name"},
	{"PX-026", closed, "something else than TLS on port 443"},
	{"PX-027", closed, "requests behind a refused one"},
	{"PX-028", closed, "CONNECT with a body"},
	{"PX-029", works, "another Host beside a target does not reach the origin"},
	{"PX-032", closed, "a length and chunks"},
	{"PX-033", closed, "framing that two servers read differently"},
	{"PX-036", closed, "targets that fall back to Host"},
	{"PX-037", closed, "other schemes"},
	{"PX-038", closed, "escapes, users and backslashes in a host"},
	{"PX-039", closed, "names that are not ASCII"},
	{"PX-040", closed, "names that are none"},
	{"PX-041", closed, "upgrades and HTTP/2"},
	{"PX-042", closed, "a second request to another host"},
	{"PX-043", closed, "redirections"},
	{"PX-045", closed, "methods and paths"},
	{"PX-046", closed, "limits of size, number and time"},
	{"PX-047", closed, "TLS without a name"},
	{"PX-048", closed, "TLS with another name"},
	{"PX-049", residual, "TLS with the right name, a request for another inside: not seen without ending TLS, and recorded by name"},
	{"PX-050", closed, "a hello in pieces"},
	{"PX-052", residual, "ECH beside the allowed name may hide another that the same server has; behind any other name it is closed"},
	{"PX-053", closed, "old, early and second hellos"},
	{"PX-054", closed, "allowed names with addresses that are not"},
	{"PX-055", closed, "the host's hosts file and proxy variables"},
	{"PX-058", closed, "what the record tells"},
	{"PX-059", later, "keys of a stranger in requests to a brokered host: test/broker"},
	{"PX-060", later, "credentials sent back by an origin: test/broker"},
	{"EX-001", later, "files sent to the agent's own API with a stranger's key: test/broker, and test/agents with real agents"},
	{"EX-002", later, "another base URL in a project's settings: the key is not there to be sent, test/agents; the host itself is closed as any other"},
	{"EX-003", closed, "a stranger's token at a forge: the forge is the broker's, and read without a credential; no token of the host's is inside"},
	{"EX-004", closed, "publishing to a registry by a rule that names methods"},
	{"EX-005", residual, "data in paths and fields of allowed requests: bounded by a budget, and recorded by host and size"},
	{"EX-007", closed, "telemetry hosts"},
	{"EX-008", later, "fetching by the model's own servers: test/broker"},
	{"EX-010", closed, "tunnels and drops"},
}

// summary counts what was tried.
type summary struct {
	flag  string
	count map[string]*tried
}

type tried struct {
	rows     int
	flags    []string
	families []string
}

func (s *summary) add(r *row) {
	if s.count == nil {
		s.count = map[string]*tried{}
	}
	n := s.count[r.id]
	if n == nil {
		n = &tried{}
		s.count[r.id] = n
	}
	n.rows++
	if s.flag != "" && !slices.Contains(n.flags, s.flag) {
		n.flags = append(n.flags, s.flag)
	}
	family := "v" + r.family
	if r.p.Talk != nil && (r.p.Talk.To == probe.Proxy4 || r.p.Talk.Family == 4) || r.p.Ask != nil && r.p.Ask.Server == "" {
		family = "v4"
	}
	if family != "v" && !slices.Contains(n.families, family) {
		n.families = append(n.families, family)
	}
}

// check wants every number to have been tried, and no other.
func (s *summary) check(t *testing.T) {
	t.Helper()
	known := map[string]bool{}
	for _, n := range ids {
		known[n.id] = true
		if _, there := s.count[n.id]; there == (n.verdict == later) {
			t.Errorf("%s (%s): tried: %v", n.id, n.verdict, there)
		}
	}
	for id := range s.count {
		if !known[id] {
			t.Errorf("%s is not of the catalogue", id)
		}
	}
}

func (s *summary) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "id\tverdict\ttries\tflags\tfamilies\twhat")
	sorted := slices.SortedFunc(slices.Values(ids), func(a, b number) int { return cmp.Compare(a.id, b.id) })
	for _, n := range sorted {
		c := s.count[n.id]
		if c == nil {
			c = &tried{}
		}
		slices.Sort(c.families)
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%s\t%s\n", n.id, n.verdict, c.rows, len(c.flags), strings.Join(c.families, " "), n.about)
	}
	w.Flush()
	return b.String()
}
