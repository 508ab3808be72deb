package agents

import (
	"cmp"
	"fmt"
	"strings"
	"sync"
)

// table is what the bench says: for each attack what became of it, by agent.
type table struct {
	mu    sync.Mutex
	order []string
	cells map[string]map[string]string // by attack, by agent
}

func newTable() *table { return &table{cells: map[string]map[string]string{}} }

// note takes down one attack by one agent. The control comes first.
func (t *table) note(a attack, agent string, sandboxed, leaked bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	name := fmt.Sprintf("%-5s  %s", a.Tool, a.Name)
	if t.cells[name] == nil {
		t.order = append(t.order, name)
		t.cells[name] = map[string]string{}
	}
	was := t.cells[name][agent]
	switch {
	case !sandboxed && leaked:
		was = "leaks"
	case !sandboxed:
		was = "NO CONTROL"
	case leaked && a.Open != "":
		was = strings.Replace(was, "leaks", "open", 1)
	case leaked:
		was = strings.Replace(was, "leaks", "LEAKED", 1)
	default:
		was = strings.Replace(was, "leaks", "blocked", 1)
	}
	t.cells[name][agent] = was
}

// String has a row for each attack, in the order of the script as far as all agents
// have it.
func (t *table) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	line := func(name string, cell func(agent string) string) {
		fmt.Fprintf(&b, "%-66s", name)
		for _, a := range all {
			fmt.Fprintf(&b, "%-12s", cell(a.name))
		}
		b.WriteByte('\n')
	}
	line("inside; without ringfence every one of them leaks", func(agent string) string { return agent })
	for _, name := range t.order {
		line(name, func(agent string) string { return cmp.Or(t.cells[name][agent], "—") })
	}
	return b.String()
}
