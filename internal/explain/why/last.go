package why

import (
	"fmt"
	"strings"
	"time"

	"ringfence.dev/ringfence/internal/journal"
)

// Recorded is a decision that a session made, as its journal has it. Its texts may be
// the agent's: who shows them quotes them.
type Recorded struct {
	Time    time.Time `json:"time"`
	Kind    Kind      `json:"kind,omitempty"` // "": it is about none of our subjects
	Subject string    `json:"subject,omitempty"`
	Access  string    `json:"access,omitempty"`
	Verdict string    `json:"verdict"`
	By      string    `json:"by"`
	Rule    string    `json:"rule,omitempty"`
	Source  string    `json:"source,omitempty"`
	Reason  string    `json:"reason,omitempty"`
	Command string    `json:"command,omitempty"`
	PID     int       `json:"pid,omitempty"`
}

// Refused says whether a record tells of something that the agent did not get.
func Refused(r journal.Record) bool {
	if r.Event == journal.Refused && r.Name == "" {
		return false // only how many more there were
	}
	return r.Verdict == journal.Deny || r.Event == journal.Held || r.Kind == journal.Work && r.Event == journal.Masked
}

// ForWords says whether a refusal was for what was said on a connection whose target
// is allowed: then a rule of the target says nothing of it. now is the finding of now
// about the target.
func ForWords(r journal.Record, now *Finding) bool {
	return r.Verdict == journal.Deny && (r.Method != "" || strings.HasSuffix(r.Reason, "of this path") ||
		now != nil && now.Verdict == Allowed && r.Rule != "" && r.Rule == now.Rule)
}

// Recall reads what a record is about.
func Recall(r journal.Record) Recorded {
	out := Recorded{Time: r.Time, Verdict: r.Verdict, By: WallGate, Rule: r.Rule, Source: r.Source, Reason: r.Reason, Command: r.Command, PID: r.PID}
	switch r.Kind {
	case journal.Work:
		out.Kind, out.Subject, out.Access, out.By = Path, r.Name, Write, WallKeeper
		if out.Verdict == "" {
			out.Verdict = r.Event
		}
		if r.Event == journal.Refused {
			if out.By = WallReadOnly; r.State == journal.Absent {
				out.By = WallView
			}
			if r.Via == "call" {
				out.Subject, out.Access, out.By = "the call "+r.Name, "", WallCalls
			}
		}
		if r.Event == journal.Masked {
			out.Access, out.By = Read, WallMask
		}
		if !strings.HasPrefix(r.Name, "/") {
			out.Kind = ""
		}
	case journal.Net:
		out.host(r)
		if r.Via == "udp" { // no rule allows any
			out.Kind, out.By = "", WallPackets
		}
		if r.Rule == journal.RuleUpstream { // no rule of ours is about it
			out.Kind, out.By, out.Rule = "", WallUpstream, ""
		}
	case journal.Broker:
		out.By = WallBroker
		if out.host(r); r.Via == "git" {
			out.ref(r)
		}
		if r.Via == "registry" { // no rule about hosts says anything of it
			out.Kind, out.Subject, out.Access, out.By = "", r.Name, "", WallRegistry
		}
		if out.Verdict == "" {
			out.Verdict = r.Event
		}
	case journal.Decoy:
		out.By, out.Subject = "decoys", r.Secret
	}
	return out
}

// host reads where a connection or a question was to go.
func (out *Recorded) host(r journal.Record) {
	name := r.Name
	if name == "" {
		name = r.Addr
	}
	if name == "" {
		return
	}
	if strings.Contains(name, ":") {
		name = "[" + name + "]"
	}
	out.Kind, out.Subject, out.Access = Host, name, Connect
	if r.Port != 0 {
		out.Subject = fmt.Sprintf("%s:%d", name, r.Port)
	}
	if r.Via == "dns" {
		out.Access = Resolve
	}
	if _, err := ParseHost(out.Subject); err != nil {
		out.Kind = "" // what was asked for is no name of a host
	}
}

// ref reads which ref a push was for: it stands at the end of the reason.
func (out *Recorded) ref(r journal.Record) {
	i := strings.LastIndex(r.Reason, "refs/")
	if i < 0 || i > 0 && !strings.HasPrefix(r.Reason[max(0, i-2):], ": ") {
		return
	}
	out.Kind, out.Subject, out.Access, out.By = Push, r.Reason[i:], ToPush, WallBranch
}

// Still says whether an answer of now refuses what the record refused.
func (out *Recorded) Still(now *Answer) bool {
	f := now.Of(out.Access)
	return f != nil && f.refused()
}
