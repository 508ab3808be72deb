package verify

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/probe"
)

// Verdict is the result of a check.
type Verdict string

// The verdicts. Waived is no pass: the wall is not proved, and policy accepts it. Partly
// is closed inside and open outside, but nobody outside saw it, or something weaker than
// the wall holds it. A rung can make partly out of held, and nothing out of missing. Only
// a check of some rungs can be left by one; it is then not applied.
const (
	Held       Verdict = "held"
	Partly     Verdict = "partly"
	Waived     Verdict = "waived"
	Missing    Verdict = "missing"
	NotApplied Verdict = "n/a"
)

// Row is one check and its result.
type Row struct {
	N         int       `json:"n"`
	Name      string    `json:"name"`
	Defence   string    `json:"defence"`
	Mechanism string    `json:"mechanism"`
	Wall      plan.Wall `json:"wall,omitempty"`
	Result    Verdict   `json:"result"`
	Detail    string    `json:"detail"`            // what the probe inside saw, or why that is no proof
	Control   string    `json:"control"`           // what the same probe saw outside
	Witness   string    `json:"witness,omitempty"` // what was seen of the sandbox from outside
}

// Report is the result of all checks.
type Report struct {
	Rung    string `json:"rung"`
	Witness string `json:"witness"` // who looked from outside
	Rows    []Row  `json:"rows"`
}

// Count returns the number of rows with a verdict.
func (r Report) Count(v Verdict) int {
	n := 0
	for _, row := range r.Rows {
		if row.Result == v {
			n++
		}
	}
	return n
}

// judge has all that was seen.
type judge struct {
	plant       *plant
	rung        Rung
	host, net   battery
	connections map[string]int
	tries       map[string]attempts
	closed      *NoNetwork // policy gives no network
}

// battery is what one battery of probes saw.
type battery struct {
	control, inside map[string]probe.Result
	seen            Seen
	controlled      error // why there was no control
	launch          error // why there was no answer from inside
}

func (j judge) report() Report {
	r := Report{Rung: j.rung.Name, Witness: j.rung.Witness}
	for _, c := range Checks() {
		r.Rows = append(r.Rows, j.row(c))
	}
	return r
}

func (j judge) row(c Check) Row {
	row := Row{N: c.N, Name: c.Name, Defence: c.Defence, Mechanism: c.Mechanism, Wall: c.Wall, Result: Held}
	b := j.host
	if c.Net {
		b = j.net
	}
	control, controlled := b.control[c.Name]
	row.Control = "closed: " + control.Detail
	if control.Open {
		row.Control = "open: " + control.Detail
	}
	if why := j.plant.standIn[c.Name]; why != "" {
		row.Control += " (" + why + ")"
	}
	inside, answered := b.inside[c.Name]
	row.Detail = inside.Detail
	w := j.witness(c)
	row.Witness = w.text()
	switch {
	case c.Some && j.rung.Leaves[c.Name] != "":
		row.Result, row.Detail = NotApplied, j.rung.Leaves[c.Name]
	case c.Gate && j.closed != nil:
		row.Result, row.Detail, row.Witness = Waived, probe.Plain(j.closed.Error()), ""
	case b.launch != nil:
		row.Result, row.Detail, row.Witness = Missing, "the sandbox gave no answer: "+probe.Plain(b.launch.Error()), ""
	case b.controlled != nil:
		row.Result, row.Detail = Missing, "control failed: "+probe.Plain(b.controlled.Error())
	case !controlled || !control.Open:
		row.Result, row.Detail = Missing, "control failed: outside, the probe does not reach its canary ("+control.Detail+")"
	case !answered:
		row.Result, row.Detail = Missing, "the probe gave no answer"
	case inside.Open:
		row.Result = Missing
	case !w.agrees:
		row.Result, row.Detail = Missing, "seen from outside: "+row.Witness
	case w.unseen != "":
		row.Result, row.Detail = Partly, "closed inside, and nobody outside saw "+w.unseen
	case j.rung.Word != "" && !decidedHere[c.Name]:
		row.Result, row.Detail = Partly, "closed inside, by the word of "+j.rung.Word
	case j.rung.Weaker[c.Name] != "":
		row.Result, row.Detail = Partly, j.rung.Weaker[c.Name]
	}
	if why := j.plant.allowed[c.Name]; row.Result == Held && why != "" {
		row.Result, row.Detail = Waived, why
	}
	return row
}

// decidedHere are the checks that hold whatever another machine says and does: they are about
// this machine, its gate, its broker and its trees.
var decidedHere = map[string]bool{"gate-loopback": true, "gate-own": true, "gate-broker": true, "control": true, "reach": true, "death": true,
	"workspace": true, "held": true, "git": true, "undo": true, "link": true, "link-end": true}

// namespaces are the checks that stand on a namespace, by its name in /proc.
var namespaces = map[string]string{"entered": "user", "view": "mnt", "pid": "pid", "ipc": "ipc", "uts": "uts", "net": "net",
	"loopback": "net", "cgroup": "cgroup"}

// confined is what the kernel says of a process inside.
var confined = map[string]string{"NoNewPrivs": "1", "Seccomp": "2", "CapInh": noCaps, "CapPrm": noCaps, "CapEff": noCaps,
	"CapBnd": noCaps, "CapAmb": noCaps}

const noCaps = "0000000000000000"

// statuses are the checks that the kernel's own account of a process speaks for.
var statuses = map[string][]string{"caps": {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"},
	"no-new-privs": {"NoNewPrivs"}, "seccomp": {"Seccomp"}}

// sight is what the witness saw for one check.
type sight struct {
	said   []string
	agrees bool   // with the wall being there
	unseen string // what nobody saw
}

func (w *sight) add(ok bool, format string, args ...any) {
	w.said = append(w.said, fmt.Sprintf(format, args...))
	w.agrees = w.agrees && ok
}

// look adds a fact that the rung's witness has, or has not.
func (w *sight) look(s Seen, key, name string, ok func(value string) bool) {
	value := s.Outside[key]
	if value == "" {
		w.unseen = name
		return
	}
	w.add(ok(value), "%s %s", name, value)
}

func (w *sight) text() string { return strings.Join(w.said, "; ") }

// namespace wants one that is not ours.
func (j judge) namespace(w *sight, s Seen, kind string) {
	ours := probe.Looker(s.Outside, probe.LookerNS+kind, j.plant.ns[kind])
	w.look(s, "ns."+kind, kind+" namespace", func(theirs string) bool { return theirs != ours })
	w.said = append(w.said, "ours "+ours)
}

// witness says what was seen from outside. Where nothing can be seen there, it says
// nothing and agrees.
func (j judge) witness(c Check) sight {
	if c.Net {
		return j.netWitness(c.Name)
	}
	check, w := c.Name, sight{agrees: true}
	if kind, ok := namespaces[check]; ok {
		j.namespace(&w, j.host.seen, kind)
	}
	for _, field := range statuses[check] {
		w.look(j.host.seen, "status."+field, field, func(v string) bool { return v == confined[field] })
	}
	if n, ok := j.connections[check]; ok {
		w.add(n == 0, "%d connections arrived", n)
	}
	switch check {
	case "view":
		w.look(j.host.seen, "root", "root is", func(v string) bool { return v == "tmpfs" || v == probe.ImageRoot })
	case "workspace", "held", "git", "undo":
		text, ok := j.plant.end.says(check)
		w.add(ok, "%s", text)
	case "kernel":
		if j.plant.asked == nil {
			w.unseen = "the process that asks"
			break
		}
		w.add(!*j.plant.asked, "a process of the host's kernel asks: %v", *j.plant.asked)
	case "keyring":
		if j.host.seen.Keyring != 0 {
			ours := probe.Looker(j.host.seen.Outside, probe.LookerKeyring, uint64(j.plant.keyring))
			w.add(strconv.Itoa(j.host.seen.Keyring) != ours, "session keyring %d, ours %s", j.host.seen.Keyring, ours)
		}
	}
	return w
}

// netWitness is witness for the network: what the gate asked for, or what the kernel
// says of the sandbox.
func (j judge) netWitness(check string) sight {
	seen, w := j.net.seen, sight{agrees: true}
	status := func(field string) {
		w.look(seen, "status."+field, field, func(v string) bool { return v == confined[field] })
	}
	switch check {
	case "raw":
		status("Seccomp")
	case "routes":
		status("CapEff")
	case "rules":
		if status("CapEff"); !w.agrees {
			w.agrees = true
			status("Seccomp")
		}
	case "udp":
		n := j.plant.world.datagrams(time.Millisecond)
		w.add(n == 0, "%d datagrams arrived", n)
		j.namespace(&w, seen, "net")
	default:
		text, ok := j.plant.world.witness(check, j.tries[check])
		w.add(ok, "%s", text)
	}
	return w
}
