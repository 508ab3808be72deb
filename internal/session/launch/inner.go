package launch

import (
	"fmt"
	"slices"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/policy/agent"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/rung"
)

// inner says whether the agent's own sandbox is on inside. What was asked for and cannot be is
// refused: a sandbox that fails to start would either stop every command or be gone without
// a word. Of an agent of which ringfence knows no such sandbox, a person is told.
func (st *settings) inner() (bool, error) {
	word, why := st.Policy.Agent.InnerWord(), st.noInner()
	switch {
	case word == policy.InnerOff:
		return false, nil
	case word != policy.InnerOn || why == "":
		return why == "" && st.Profile.HasInner(), nil
	case st.Profile.HasInner():
		return false, fault.New(fault.Refused, "write inner = \"auto\" there: then it is on where it can be",
			"the sandbox of %s cannot be on inside (%s): %s", st.Profile.Title, st.Policy.Agent.Inner.Source.String(), why)
	case st.Profile.Name != agent.Command:
		st.Notice(fmt.Sprintf("%s: ringfence knows no sandbox of %s that it could leave on", st.Policy.Agent.Inner.Source.String(), st.Profile.Title))
	}
	return false, nil
}

// noInner says why no sandbox can be made inside; "" if one can.
func (b Base) noInner() string {
	offer := b.Rung.Offer()
	if offer.NoInner != "" {
		return offer.NoInner
	}
	if slices.Contains(offer.Raised(), plan.WallNested) {
		return fmt.Sprintf("it needs a user namespace of its own, and the wall nested of the %s rung allows none", rung.Title(b.Rung))
	}
	return ""
}
