package policy

import "slices"

// Agent is how an agent's own things are shared with the host. A nil field was not written.
type Agent struct {
	History *Rule // "private" or "shared"; nil means private
	Inner   *Rule // whether its own sandbox is on inside, of innerWords; nil means auto
}

// Whether an agent's own sandbox is on inside, from wide to tight.
const (
	InnerOff  = "off"
	InnerAuto = "auto"
	InnerOn   = "on"
)

var innerWords = []string{InnerOff, InnerAuto, InnerOn}

// InnerWord is whether the agent's own sandbox is on inside.
func (a *Agent) InnerWord() string {
	if a.Inner == nil {
		return InnerAuto
	}
	return a.Inner.Value
}

func (a *Agent) innerStrength() int { return slices.Index(innerWords, a.InnerWord()) }

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
	if o.Inner != nil && o.innerStrength() > a.innerStrength() {
		a.Inner = o.Inner
	}
}

// widensAgent lists what over gives and base does not.
func widensAgent(k *key, base, over *Policy) List {
	if k.name == "inner" {
		if over.Agent.Inner != nil && over.Agent.innerStrength() < base.Agent.innerStrength() {
			return List{*over.Agent.Inner}
		}
		return nil
	}
	if over.Agent.Shares() && !base.Agent.Shares() {
		return List{*over.Agent.History}
	}
	return nil
}
