package policy

// Agent is how an agent's own things are shared with the host. A nil field was not written.
type Agent struct {
	History *Rule // "private" or "shared"; nil means private
}

// The words of History.
const (
	PrivateHistory = "private"
	SharedHistory  = "shared"
)

// Shares reports whether conversations are copied between the host and a session.
func (a *Agent) Shares() bool { return a.History.Text() == SharedHistory }

// tightenAgent takes from over what can only take away.
func tightenAgent(a, o *Agent) {
	if o.History != nil && !o.Shares() && a.Shares() {
		a.History = o.History
	}
}

// widensAgent lists what over gives and base does not.
func widensAgent(base, over *Policy) List {
	if over.Agent.Shares() && !base.Agent.Shares() {
		return List{*over.Agent.History}
	}
	return nil
}
