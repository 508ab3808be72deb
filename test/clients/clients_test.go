package clients

import (
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/test/stage"
	"ringfence.dev/ringfence/test/world"
)

func TestMain(m *testing.M) { world.Main(m, "./client") }

// client is one program and how it is pointed at a host.
type client struct {
	name    string
	prepare func(t *testing.T, w *world.World)
	flags   []string
	host    string // the one that is allowed
	port    uint16
	raw     bool // nothing but tcp:// carries it
	argv    func(w *world.World, host string) []string
	want    string   // what it prints when it got there
	command []string // names that its process may have
	other   string   // a name that is not allowed
	literal string   // an address, likewise; the client can reach it without a name
}

func (c client) rule() string {
	if c.raw {
		return "tcp://" + c.host + ":" + portText(c.port)
	}
	if c.port == 80 || c.port == 443 {
		return c.host
	}
	return c.host + ":" + portText(c.port)
}

// TestClients: each of them gets where it may, and is told where it may not. The users
// share the clients; the gate is the same for both.
func TestClients(t *testing.T) {
	for i, c := range clients {
		if !stage.Mine(i) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			w := world.New(t)
			if c.prepare != nil {
				c.prepare(t, w)
			}
			for _, host := range []string{c.host, c.other, c.literal} {
				if r := w.Bare(c.argv(w, host)...); !strings.Contains(r.Stdout, c.want) {
					t.Fatalf("control: outside, %s is not reached: %+v", host, r)
				}
				scratch(w)
			}
			w.Forget()
			t.Run("allowed", func(t *testing.T) { reaches(t, w, c) })
			scratch(w)
			w.Forget()
			t.Run("other name", func(t *testing.T) { isDeniedName(t, w, c) })
			scratch(w)
			w.Forget()
			t.Run("literal address", func(t *testing.T) { isDeniedAddress(t, w, c) })
		})
	}
}

// run points the client at a host, inside.
func (c client) run(w *world.World, host string) world.Result {
	args := append([]string{"--allow-host", c.rule()}, c.flags...)
	return w.Run(append(append(args, "--"), c.argv(w, host)...)...)
}

func reaches(t *testing.T, w *world.World, c client) {
	r := c.run(w, c.host)
	if r.Status != 0 || !strings.Contains(r.Stdout, c.want) {
		t.Errorf("%s was not reached: %+v", c.host, r)
	}
	conn := uint64(0)
	for _, rec := range r.Journal {
		if rec.Event == journal.Decision && rec.Via == "tcp" && rec.Name == c.host && rec.Port == c.port && rec.Verdict == journal.Allow {
			conn = rec.Conn
		}
	}
	end := slices.IndexFunc(r.Journal, func(rec journal.Record) bool { return rec.Event == journal.End && rec.Conn == conn })
	if conn == 0 || end < 0 {
		t.Fatalf("no connection to %s:%d in the journal: %+v", c.host, c.port, r.Journal)
	}
	rec := r.Journal[end]
	if rec.Command != "" { // a quick program is gone before the kernel is asked
		c.checkCommand(t, rec)
	}
	if rec.Sent == 0 || rec.Received == 0 {
		t.Errorf("the journal counts no bytes: %+v", rec)
	}
	if !slices.ContainsFunc(w.Dialled(), func(p world.Packet) bool { return p.Addr.String() == rec.Addr && p.Port == c.port }) {
		t.Errorf("the journal says that %s was dialled, the cable says %v", rec.Addr, w.Dialled())
	}
	for _, rec := range r.Journal {
		if rec.Verdict == journal.Deny {
			t.Errorf("denied: %+v", rec)
		}
	}
}

// isDeniedName: the client is told so by the resolver, and the name goes nowhere.
func isDeniedName(t *testing.T, w *world.World, c client) {
	r := c.run(w, c.other)
	c.isDenied(t, w, r)
	if !slices.ContainsFunc(r.Journal, func(rec journal.Record) bool {
		return rec.Event == journal.Decision && rec.Via == "dns" && rec.Name == c.other && rec.Verdict == journal.Deny && rec.Reason != ""
	}) {
		t.Errorf("no denial of %s in the journal: %+v", c.other, r.Journal)
	}
	if q := w.Queries(); len(q) > 0 {
		t.Errorf("the resolver of the host was asked: %v", q)
	}
}

// isDeniedAddress: without a name there is nothing to judge by.
func isDeniedAddress(t *testing.T, w *world.World, c client) {
	r := c.run(w, c.literal)
	c.isDenied(t, w, r)
	found := false
	for _, rec := range r.Journal {
		if rec.Event == journal.Decision && rec.Via == "tcp" && rec.Addr == c.literal && rec.Port == c.port && rec.Verdict == journal.Deny && rec.Reason != "" {
			found = true
			c.checkCommand(t, rec)
		}
	}
	if !found {
		t.Errorf("no denial of %s:%d in the journal: %+v", c.literal, c.port, r.Journal)
	}
}

func (c client) isDenied(t *testing.T, w *world.World, r world.Result) {
	t.Helper()
	if strings.Contains(r.Stdout, c.want) {
		t.Errorf("it got there: %+v", r)
	}
	if d := w.Dialled(); len(d) > 0 {
		t.Errorf("dialled: %v", d)
	}
	for _, rec := range r.Journal {
		if rec.Verdict == journal.Allow {
			t.Errorf("allowed: %+v", rec)
		}
	}
}

// checkCommand: it is known whose connection it was.
func (c client) checkCommand(t *testing.T, r journal.Record) {
	t.Helper()
	if !slices.Contains(c.command, r.Command) || r.PID < 2 {
		t.Errorf("it was %q, process %d, not one of %q", r.Command, r.PID, c.command)
	}
}
