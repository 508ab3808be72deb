package sessions

import (
	"context"
	"os/signal"
	"syscall"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/sandbox/ssh"
	"ringfence.dev/ringfence/internal/workspace/review"
)

// leftElsewhere finds a session that has ended here and may have left something on another
// machine; nil: it is none of these. Without a name it is the only one of this directory.
func leftElsewhere(c *command.Console, arg string) *review.Work {
	all, err := works(c)
	if err != nil {
		return nil
	}
	if arg != "" {
		all = matching(all, arg)
	}
	here, _ := canonicalHere()
	var found []*review.Work
	for _, w := range all {
		if w.Elsewhere() && !w.Running() && (arg != "" || concerns(w, here)) {
			found = append(found, w)
		}
	}
	if len(found) != 1 {
		return nil
	}
	return found[0]
}

// fetchLeft brings it here.
func fetchLeft(c *command.Console, w *review.Work) (int, error) {
	release, err := w.Seize()
	if err != nil {
		return 125, fault.New(fault.Failed, "", "%w", err)
	}
	defer release()
	if w.Decided() {
		return 125, fault.New(fault.Refused, "ringfence attach "+w.ID+" once more fetches it all the same",
			"something of session %s was applied or discarded since its link was lost: what is fetched takes the place of all that waits, and what was discarded waits again", w.ID)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	notes, err := ssh.Fetch(ctx, w.Dir())
	if err != nil {
		return 125, err
	}
	for _, text := range notes {
		c.Warn(text)
	}
	c.Say("what session %s changed has come: ringfence diff %s", w.ID, w.ID)
	return 0, nil
}
