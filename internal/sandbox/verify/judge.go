package verify

import (
	"fmt"
	"strings"
	"time"

	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/probe"
)

// Verdict is the result of a check.
type Verdict string

// The verdicts. Waived is no pass: the wall is not proved, and policy accepts it.
const (
	Held    Verdict = "held"
	Waived  Verdict = "waived"
	Missing Verdict = "missing"
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
	Rows []Row `json:"rows"`
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
	var r Report
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
	witness, agrees := j.witness(c)
	row.Witness = witness
	switch {
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
	case !agrees:
		row.Result, row.Detail = Missing, "seen from outside: "+witness
	}
	if why := j.plant.allowed[c.Name]; row.Result == Held && why != "" {
		row.Result, row.Detail = Waived, why
	}
	return row
}

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

// witness says what was seen from outside and whether that agrees with the wall
// being there. Where nothing can be seen from outside it says nothing.
func (j judge) witness(c Check) (text string, agrees bool) {
	if c.Net {
		return j.netWitness(c.Name)
	}
	check := c.Name
	var said []string
	agrees = true
	add := func(ok bool, format string, args ...any) {
		said = append(said, fmt.Sprintf(format, args...))
		agrees = agrees && ok
	}
	if kind, ok := namespaces[check]; ok {
		ours, theirs := j.plant.ns[kind], j.host.seen.NS[kind]
		add(theirs != 0 && theirs != ours, "%s namespace %d, ours %d", kind, theirs, ours)
	}
	for _, field := range statuses[check] {
		v := j.host.seen.Status[field]
		add(v == confined[field], "%s %s", field, v)
	}
	if n, ok := j.connections[check]; ok {
		add(n == 0, "%d connections arrived", n)
	}
	switch check {
	case "view":
		add(probe.RootType(j.host.seen.Mounts) == "tmpfs", "root is %q", probe.RootType(j.host.seen.Mounts))
	case "workspace", "held", "git", "undo":
		text, ok := j.plant.end.says(check)
		add(ok, "%s", text)
	case "keyring":
		if j.host.seen.Keyring != 0 {
			add(j.host.seen.Keyring != j.plant.keyring, "session keyring %d, ours %d", j.host.seen.Keyring, j.plant.keyring)
		}
	}
	return strings.Join(said, "; "), agrees
}

// netWitness is witness for the network: what the gate asked for, or what the kernel
// says of the sandbox.
func (j judge) netWitness(check string) (text string, agrees bool) {
	seen := j.net.seen
	noCap, filtered := seen.Status["CapEff"] == noCaps, seen.Status["Seccomp"] == confined["Seccomp"]
	text = fmt.Sprintf("CapEff %s; Seccomp %s", seen.Status["CapEff"], seen.Status["Seccomp"])
	switch check {
	case "raw":
		return text, filtered
	case "routes":
		return text, noCap
	case "rules":
		return text, noCap || filtered
	case "udp":
		n, ours, theirs := j.plant.world.datagrams(time.Millisecond), j.plant.ns["net"], seen.NS["net"]
		return fmt.Sprintf("%d datagrams arrived; net namespace %d, ours %d", n, theirs, ours), n == 0 && theirs != 0 && theirs != ours
	}
	return j.plant.world.witness(check, j.tries[check])
}
