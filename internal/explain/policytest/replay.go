package policytest

import (
	"slices"
	"strings"
	"time"

	"ringfence.dev/ringfence/internal/explain/why"
	"ringfence.dev/ringfence/internal/journal"
)

// Difference is a decision of a past session that would be another one now.
type Difference struct {
	Session string      `json:"session"`
	Time    time.Time   `json:"time"`
	Kind    why.Kind    `json:"kind"`
	Subject string      `json:"subject"`
	Access  string      `json:"access"`
	Was     string      `json:"was"`  // as the journal has it
	Then    string      `json:"then"` // the rule of then, and its source
	Now     why.Finding `json:"now"`
	Change  string      `json:"change"` // newly allowed, newly denied
	Count   int         `json:"count"`  // how often it was decided so
}

// The two ways in which decisions change.
const (
	NewlyAllowed = "newly allowed"
	NewlyDenied  = "newly denied"
)

// Replay holds decisions of the past against a world.
type Replay struct {
	World *why.World
	Seen  int // decisions that could be held against it
	Found []Difference

	at     map[key]int // in Found; -1: it is no difference
	passed map[conn]bool
}

// conn is a connection of a session. What is denied of one that had passed was denied
// for its bytes, and those are not known any more.
type conn struct {
	session string
	id      uint64
}

// key is what makes two decisions one.
type key struct {
	kind             why.Kind
	subject, access  string
	verdict, session string
}

// Add takes one record of a session.
func (r *Replay) Add(session string, rec journal.Record) {
	if !decided(rec) || rec.Method != "" || r.saidMore(session, rec) {
		return
	}
	past := why.Recall(rec)
	if past.Kind == "" || past.By == why.WallBroker || loopback(&past) {
		return // what a request says is judged by its bytes, the session's own loopback by no rule
	}
	r.Seen++
	if r.at == nil {
		r.at = map[key]int{}
	}
	k := key{past.Kind, past.Subject, past.Access, past.Verdict, session}
	if i, ok := r.at[k]; ok {
		if i >= 0 {
			r.Found[i].Count++
		}
		return
	}
	now, ok := r.now(&past)
	change := ""
	switch refused := why.Refused(rec); {
	case !ok || why.ForWords(rec, &now):
	case refused && now.Verdict == why.Allowed:
		change = NewlyAllowed
	case !refused && now.Verdict != why.Allowed && now.Verdict != why.Private:
		change = NewlyDenied
	}
	if change == "" {
		r.at[k] = -1
		return
	}
	r.at[k] = len(r.Found)
	then := past.Rule
	if past.Source != "" {
		then += " (" + past.Source + ")"
	}
	r.Found = append(r.Found, Difference{Session: session, Time: past.Time, Kind: past.Kind, Subject: past.Subject, Access: past.Access,
		Was: past.Verdict, Then: then, Now: now, Change: change, Count: 1})
}

// saidMore says whether a denial came after its connection had passed, and remembers
// those that pass.
func (r *Replay) saidMore(session string, rec journal.Record) bool {
	if rec.Conn == 0 || rec.Kind != journal.Net {
		return false
	}
	c := conn{session, rec.Conn}
	if rec.Verdict == journal.Allow {
		if r.passed == nil {
			r.passed = map[conn]bool{}
		}
		r.passed[c] = true
	}
	return rec.Verdict == journal.Deny && r.passed[c]
}

// ownRules are the gate's own: no policy changes what they say.
var ownRules = []string{"bounds", "decoys", "names of hosts", "own pool", "fault of the gate", "everything is recorded"}

func loopback(past *why.Recorded) bool {
	t, err := why.ParseHost(past.Subject)
	return past.Kind == why.Host && err == nil && why.Loopback(t)
}

// decided says whether a record is a verdict that was final.
func decided(rec journal.Record) bool {
	switch rec.Kind {
	case journal.Net:
		return rec.Event == journal.Decision && rec.Verdict != journal.Wait &&
			!slices.Contains(ownRules, rec.Rule) && !strings.HasPrefix(rec.Rule, "strict ")
	case journal.Broker:
		return rec.Event == journal.Use
	case journal.Work:
		return rec.Event == journal.Held || rec.Event == journal.Masked
	}
	return false
}

// now asks the same again.
func (r *Replay) now(past *why.Recorded) (why.Finding, bool) {
	switch past.Kind {
	case why.Host:
		t, err := why.ParseHost(past.Subject)
		if err != nil {
			return why.Finding{}, false
		}
		return r.World.Reaches(t, past.Access), true
	case why.Push:
		return r.World.Pushes(past.Subject), true
	case why.Path:
		return r.World.IfThere(past.Subject, past.Access), true
	}
	return why.Finding{}, false
}
