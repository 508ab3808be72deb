package gate

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/sandbox/netns"
)

// Verdict is what becomes of a request.
type Verdict string

// The verdicts. Unknown is a denial that a person could turn.
const (
	Allow   Verdict = "allow"
	Deny    Verdict = "deny"
	Unknown Verdict = "unknown"
)

// Request is what somebody inside wants.
type Request struct {
	Target       address.Target // Port 0: the name alone, as DNS asks
	Method, Path string         // "" where they are not seen (yet)
}

// Decision is the answer, with the rule that gave it.
type Decision struct {
	Verdict Verdict
	Rule    string // as somebody wrote it, or a sentence of ours
	Source  string // the file and line, the flag, or the group
	Reason  string
	Proto   address.Protocol // what the bytes must be
	Until   time.Time        // when it ends; zero: with the session
	Named   bool             // the rule names this host, or a domain whose names are one owner's
	Unasked bool             // unknown, and not worth a question
}

// rules are the rules of a session and the one place where it is decided who may go
// where. They are indexed so that ten thousand of them cost no
// more than ten.
type rules struct {
	at atomic.Pointer[table] // of the session's policy, as it holds now

	mu      sync.RWMutex
	grants  []grant
	taken   []taken         // hosts that a person took back
	takenIP []policy.Device // and addresses
	words   int             // grants and what was taken back so far
	now     func() time.Time

	learn *learning // nil: this is no session to learn from
}

// table is what a policy says. It never changes: a narrower one takes its place.
type table struct {
	mode        string
	allow, deny index
	needless    index
	ip          map[netip.Prefix][]prefixRule
	bits        []int           // lengths of the prefixes in ip, v6 ones offset by 1000
	denyIP      []policy.Device // addresses that are denied, whatever leads there
	hostPorts   []uint16
	learns      bool
}

type prefixRule struct {
	port         uint16
	text, source string
}

// grant is a rule that a person added while the session runs.
type grant struct {
	entry   policy.Entry
	expires time.Time // zero: with the session
	once    bool      // what has begun by then goes on
	word    int       // which of a person's words it is: the last one holds
}

// index finds the rules that cover a name.
type index struct {
	exact, below map[address.Name][]policy.Entry
}

func (x *index) add(e policy.Entry) {
	m := &x.exact
	if e.Rule.Below {
		m = &x.below
	}
	if *m == nil {
		*m = map[address.Name][]policy.Entry{}
	}
	(*m)[e.Rule.Name] = append((*m)[e.Rule.Name], e)
}

// each calls do with the rules that cover n, until it returns true.
func (x *index) each(n address.Name, do func(policy.Entry) bool) bool {
	for _, e := range x.exact[n] {
		if do(e) {
			return true
		}
	}
	if x.below == nil {
		return false
	}
	for rest := string(n); ; {
		i := strings.IndexByte(rest, '.')
		if i < 0 {
			return false
		}
		rest = rest[i+1:]
		for _, e := range x.below[address.Name(rest)] {
			if do(e) {
				return true
			}
		}
	}
}

func newRules(r policy.Reach) *rules {
	out := &rules{now: time.Now, learn: newLearning(r)}
	out.at.Store(newTable(r))
	return out
}

func newTable(r policy.Reach) *table {
	out := &table{mode: r.Mode, ip: map[netip.Prefix][]prefixRule{}, denyIP: r.DenyIP, hostPorts: r.HostPorts, learns: r.Learn}
	for _, e := range r.Allow {
		out.allow.add(e)
	}
	for _, e := range r.Deny {
		out.deny.add(e)
	}
	for _, e := range r.Needless {
		out.needless.add(e)
	}
	seen := map[int]bool{}
	for _, p := range r.IP {
		out.ip[p.Prefix.Range] = append(out.ip[p.Prefix.Range], prefixRule{p.Prefix.Port, p.Text, p.Source.String()})
		key := p.Prefix.Range.Bits()
		if p.Prefix.Range.Addr().Is6() {
			key += 1000
		}
		if !seen[key] {
			seen[key] = true
			out.bits = append(out.bits, key)
		}
	}
	return out
}

// Decide looks nothing up.
func (r *rules) Decide(q Request) Decision {
	if q.Target.Name == "" {
		return r.literal(q.Target)
	}
	if d, denied := r.denied(q); denied {
		return d
	}
	t := r.at.Load()
	back, gone := r.takenBack(q)
	if d, ok := r.allowed(q, back.word); ok {
		return d
	}
	if gone {
		return Decision{Verdict: Deny, Rule: "taken back: " + back.entry.Text, Source: back.entry.Source.String(), Reason: "a person took it back while the session runs"}
	}
	if t.learns {
		if d, ok := r.learn.decide(q); ok {
			return d
		}
	}
	return r.unknown(q)
}

// denied: a rule without a port denies them all, one without a method and path all
// requests. What is not seen yet is asked about again when it is.
func (r *rules) denied(q Request) (d Decision, hit bool) {
	hit = r.at.Load().deny.each(q.Target.Name, func(e policy.Entry) bool {
		if !denies(e.Rule, q) {
			return false
		}
		d = Decision{Verdict: Deny, Rule: e.Text, Source: source(e), Reason: "a rule denies it"}
		return true
	})
	return d, hit
}

// denies reports whether a rule that denies, and covers the name, is about a request.
func denies(r address.Rule, q Request) bool {
	if r.Port != 0 && r.Port != q.Target.Port {
		return false
	}
	if r.Proto != "" && r.Port == 0 {
		if _, on := r.On(q.Target.Port); !on {
			return false
		}
	}
	return r.Whole() || q.Method != "" && deniesRequest(r, q)
}

// forbids reports whether everything that a rule would allow is denied.
func (r *rules) forbids(rule address.Rule) (d Decision, all bool) {
	for _, port := range []uint16{rule.Port, 443, 80} {
		if _, on := rule.On(port); !on {
			continue
		}
		if d, all = r.denied(Request{Target: address.Target{Name: rule.Name, Port: port}}); !all {
			return d, false
		}
	}
	return d, all && !rule.Below
}

// deniesRequest errs on the side of denying: a path that servers may read in more
// than one way is denied where a rule denies any path.
func deniesRequest(r address.Rule, q Request) bool {
	path, _, _ := strings.Cut(q.Path, "?")
	if r.Path != "" && !address.PlainPath(path) {
		r.Path = ""
	}
	return r.Request(q.Method, q.Path)
}

// allowed finds the widest rule that covers the request. For a name alone any rule
// about it will do. Of what a person took back only a later grant allows anything:
// after is which word that was, 0 where it was none.
func (r *rules) allowed(q Request, after int) (best Decision, ok bool) {
	consider := func(e policy.Entry, until time.Time) bool {
		proto := address.TCP
		if q.Target.Port != 0 {
			var on bool
			if proto, on = e.Rule.On(q.Target.Port); !on {
				return false
			}
		}
		if q.Method != "" && !e.Rule.Request(q.Method, q.Path) {
			return false
		}
		if !e.Rule.Whole() {
			proto = address.HTTP
		}
		_, strangers := e.Rule.Shared()
		strangers = strangers || e.Rule.Below && e.Rule.Name.Shared() // and deeper: names there are made by anybody too
		named := best.Named || !strangers
		if !ok || proto == address.TCP {
			best, ok = Decision{Verdict: Allow, Rule: e.Text, Source: source(e), Proto: proto, Until: until}, true
		}
		best.Named = named
		return proto == address.TCP
	}
	t := r.at.Load()
	if t.mode == ModeNone {
		return Decision{}, false
	}
	if after == 0 {
		t.allow.each(q.Target.Name, func(e policy.Entry) bool { return consider(e, time.Time{}) })
		if ok {
			return best, true
		}
	}
	r.granted(q.Target.Name, after, consider)
	if ok || after > 0 {
		return best, ok
	}
	return t.public(q)
}

// modeOpen is the mode in which names are no matter: see literal.
const modeOpen = "open"

// public is the mode internet: every name that can be of the public network. In mode open the
// bytes may be anything besides: who may reach every address would go around the check.
func (r *table) public(q Request) (Decision, bool) {
	if !policy.Wide(r.mode) || q.Target.Name.Single() {
		return Decision{}, false
	}
	if _, special := q.Target.Name.Special(); special {
		return Decision{}, false
	}
	proto := address.TCP
	switch {
	case r.mode == modeOpen:
	case q.Target.Port == 443:
		proto = address.TLS
	case q.Target.Port == 80:
		proto = address.HTTP
	}
	return Decision{Verdict: Allow, Rule: "every public host", Source: "mode " + r.mode, Proto: proto}, true
}

func (r *rules) granted(n address.Name, after int, do func(e policy.Entry, until time.Time) bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, g := range r.grants {
		ends := g.expires
		if g.once {
			ends = time.Time{}
		}
		if (after == 0 || g.word > after) && g.entry.Rule.Covers(n) && r.holds(g) && do(g.entry, ends) {
			return
		}
	}
}

// grantIn adds a rule, in the place of the same one before. It forgets those that ended. It
// adds none where the table is another by now than the one that it was judged by: less may be
// allowed since.
func (r *rules) grantIn(judged *table, g grant) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.at.Load() != judged {
		return false
	}
	r.words++
	g.word = r.words
	r.grants = slices.DeleteFunc(r.grants, func(have grant) bool { return have.entry.Text == g.entry.Text || !r.holds(have) })
	r.grants = append(r.grants, g)
	return true
}

// holding lists the grants that have not ended.
func (r *rules) holding() []grant {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.DeleteFunc(slices.Clone(r.grants), func(have grant) bool { return !r.holds(have) })
}

func (r *rules) holds(g grant) bool { return g.expires.IsZero() || r.now().Before(g.expires) }

func (r *rules) unknown(q Request) Decision {
	t := r.at.Load()
	d := Decision{Verdict: Unknown, Rule: "mode " + t.mode}
	switch {
	case t.mode == ModeNone:
		d.Verdict, d.Reason = Deny, "the session has no network any more"
	case q.Method != "":
		d.Verdict, d.Reason = Deny, fmt.Sprintf("no rule allows %s of this path", q.Method)
	case q.Target.Port != 0 && r.named(q.Target.Name):
		d.Reason = fmt.Sprintf("the name is allowed, port %d is not", q.Target.Port)
	case t.needless.each(q.Target.Name, func(policy.Entry) bool { return true }):
		d.Rule, d.Reason, d.Unasked = RuleNeedless, Needless, true
	default:
		d.Reason = "no rule allows this name"
	}
	return d
}

func (r *rules) named(n address.Name) bool {
	_, ok := r.allowed(Request{Target: address.Target{Name: n}}, 0)
	return ok
}

// literal judges an address that was dialled without a name.
func (r *rules) literal(t address.Target) Decision {
	if d, denied := r.deniedAddress(t.Addr, t.Port); denied {
		return Decision{Verdict: Deny, Rule: d.Text, Source: d.Source.String(), Reason: "a rule denies the address"}
	}
	if netns.Pool4.Contains(t.Addr) || netns.Pool6.Contains(t.Addr) {
		return Decision{Verdict: Deny, Rule: "own pool", Reason: "this address stands for no name (any more): look the name up again"}
	}
	if p, ok := r.prefix(t.Addr, t.Port); ok {
		return Decision{Verdict: Allow, Rule: p.text, Source: p.source, Proto: address.TCP}
	}
	if what, closed := address.Closed(t.Addr); closed {
		return Decision{Verdict: Deny, Rule: RuleRanges, Reason: "the address is " + what}
	}
	if r.at.Load().mode == modeOpen {
		return Decision{Verdict: Allow, Rule: "every public address", Source: "mode open", Proto: address.TCP}
	}
	if mutated("literal") {
		return Decision{Verdict: Allow, Proto: address.TCP}
	}
	return Decision{Verdict: Deny, Rule: "addresses are closed", Reason: "a literal address has no name to be judged by: use the host's name"}
}

// deniedAddress finds the rule that denies an address. An address of IPv4 that is written
// as one of IPv6 is the same.
func (r *rules) deniedAddress(a netip.Addr, port uint16) (policy.Device, bool) {
	a = a.Unmap()
	for _, list := range [][]policy.Device{r.at.Load().denyIP, r.takenAddresses()} {
		for _, d := range list {
			if d.Prefix.Range.Contains(a) && (d.Prefix.Port == 0 || d.Prefix.Port == port) {
				return d, true
			}
		}
	}
	return policy.Device{}, false
}

// prefix finds the rule that opens an address; what no rule may open stays shut.
func (r *rules) prefix(a netip.Addr, port uint16) (prefixRule, bool) {
	if _, never := address.Never(a); never {
		return prefixRule{}, false
	}
	t := r.at.Load()
	for _, key := range t.bits {
		bits, six := key%1000, key >= 1000
		if six != a.Is6() {
			continue
		}
		p, err := a.Prefix(bits)
		if err != nil {
			continue
		}
		for _, rule := range t.ip[p] {
			if rule.port == port {
				return rule, true
			}
		}
	}
	return prefixRule{}, false
}

func source(e policy.Entry) string {
	if e.Group != "" {
		return "group " + e.Group
	}
	return e.Source.String()
}
