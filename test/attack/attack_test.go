package attack

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"

	"ringfence.dev/ringfence/test/rungs"
	"ringfence.dev/ringfence/test/tier"
)

func TestMain(m *testing.M) {
	if os.Args[0] == stageName {
		os.Exit(stage())
	}
	os.Exit(m.Run())
}

// user is who runs a case.
type user struct {
	name     string
	uid, gid int
}

// users are those that this run can be: root can be both.
func users() []user {
	if uid := os.Getuid(); uid != 0 {
		return []user{{"user", uid, os.Getgid()}}
	}
	return []user{{"root", 0, 0}, {"user", ordinaryID, ordinaryID}}
}

// way is how a sandbox is entered. What is closed by one must be closed by all:
// an option that widens something it does not name is a class of bug by itself.
type way struct {
	name string
	args []string
}

// ways are tried in turn; the first that a user plays has the control beside it.
// The agent that is installed on the made host runs what it is given.
func ways() []way {
	return []way{
		{"run", []string{"run"}},
		{"flags", []string{"run", "--ro", "$H/given/ro", "--rw", "$H/given/rw", "--env", "GIVEN=1", "--env", "TZ",
			"--pids", "500", "--yes", "--no-input"}},
		{"claude", []string{"claude"}},
	}
}

func TestAttacks(t *testing.T) {
	all, err := load()
	if err != nil {
		t.Fatal(err)
	}
	bin, err := buildBinaries(t.TempDir)
	if err != nil {
		t.Fatal(err)
	}
	machine, err := newMachine(bin, "rf"+strings.ToLower(rand.Text()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := machine.close(); err != nil {
			t.Error(err)
		}
	}()
	var table table
	t.Run("case", func(t *testing.T) {
		for i, c := range all {
			for n, u := range users() {
				if (c.Only == "" || c.Only == u.name) && rungs.Mine(c.Only != "", i+n) {
					machine.tryAll(t, c, u, c.ways(i, n), &table)
				}
			}
		}
	})
	t.Log("\n" + table.String())
}

// ways are those by which the nth user plays the ith case. Each plays every case, by one
// way: one of them by the first, where why is asked, the other by one of the rest. Both
// views of the workspace are played. Who plays a case alone plays it by all ways, and so
// does everybody where every combination is played.
func (c Case) ways(i, n int) []way {
	all := ways()
	if c.byViews() {
		all = views()
	} else if c.Kind == kindLaunch {
		return all[:1] // it chooses its own
	}
	if tier.All() || len(users()) == 1 || c.Only != "" {
		return all
	}
	if (i+n)%2 == 0 || len(all) == 1 {
		return all[:1]
	}
	return all[1+i/2%(len(all)-1):][:1]
}

// tryAll runs a case by some ways, and its control.
func (m *machine) tryAll(t *testing.T, c Case, u user, by []way, table *table) {
	for i, w := range by {
		t.Run(c.ID+"/"+u.name+"/"+w.name, func(t *testing.T) {
			rungs.Skip(t, c.ID)
			t.Parallel()
			r := m.try(t, c, u, w)
			if i == 0 {
				r.control = m.control(t, c, u)
			}
			table.add(r)
		})
	}
}

// row is one line of the table at the end.
type row struct {
	id, user, way, kind, verdict, control, title string
	why                                          int // subjects that why agrees about
}

type table struct {
	mu   sync.Mutex
	rows []row
}

func (t *table) add(r row) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows = append(t.rows, r)
}

func (t *table) String() string {
	slices.SortFunc(t.rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.user, b.user), cmp.Compare(a.way, b.way))
	})
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "case\tuser\tway\tkind\tinside\toutside\twhy\ttitle")
	for _, r := range t.rows {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%d\t%s\n", r.id, r.user, r.way, r.kind, r.verdict, r.control, r.why, r.title)
	}
	w.Flush()
	return b.String()
}
