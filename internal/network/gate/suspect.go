package gate

import (
	"ringfence.dev/ringfence/internal/injection"
	"ringfence.dev/ringfence/internal/journal"
)

// Suspect records what was found in text on its way to a model, and tells of it. Nothing
// is refused for it: whoever hears it may close the network before the model has read it.
func (g *Gate) Suspect(host string, r injection.Report) {
	if !r.Hit() {
		g.records.write(journal.Record{Kind: journal.Text, Event: journal.Unread, Via: "broker", Name: host})
		return
	}
	for _, f := range r.Findings {
		g.records.write(journal.Record{Kind: journal.Text, Event: journal.Suspect, Via: "broker", Name: host, Rule: string(f.Kind), Reason: f.Quote})
	}
	if g.conf.Suspect != nil {
		g.conf.Suspect(r.Findings[0])
	}
}
