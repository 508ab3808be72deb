package login

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file"
)

const (
	firstWait = 200 * time.Millisecond
	maxWait   = 5 * time.Second
	// calm is how long a token that was just issued is not renewed again because
	// upstream refuses it: it would refuse the next one too.
	calm = time.Minute
	// grace is how long a client may take from its answer to its file.
	grace = 2 * time.Second
)

// renew returns a fresh grant: found, once the lock is had, or issued by the server.
// While the server is away it waits and tries again, until ctx ends.
func (l *Login) renew(ctx context.Context, once bool) (grant, error) {
	unlock, err := l.lock(ctx, once)
	if err != nil {
		return grant{}, fmt.Errorf("renew login of %s: %w", l.c.Agent, err)
	}
	defer unlock()
	for wait := firstWait; ; wait = min(2*wait, maxWait) {
		g, err := l.attempt(ctx)
		if err == nil || !errors.Is(err, errAway) || once {
			return g, err
		}
		if pause(ctx, wait/2+rand.N(wait)) != nil {
			return grant{}, fault.New(fault.Failed, "try again when it is reachable", "renew login of %s: %w", l.c.Agent, err)
		}
	}
}

// attempt looks again at everything, under the locks, and asks the server once.
func (l *Login) attempt(ctx context.Context) (grant, error) {
	release, err := l.lockAsking(ctx)
	if err != nil {
		return grant{}, err
	}
	defer release()
	file, err := l.read(ctx)
	if err != nil {
		return grant{}, err
	}
	led := l.readLedger()
	g, rescued := led.rescued(file.grant)
	if l.enough(g, led) {
		if rescued {
			return l.store(ctx, led, file, g), nil
		}
		l.remember(g, file.stamp)
		return g, nil
	}
	if err := l.renewable(g, led); err != nil {
		return grant{}, err
	}
	a, err := l.c.Endpoint.ask(ctx, l.c.Transport, g)
	l.step("answered")
	var no *refusal
	if errors.As(err, &no) {
		return l.refused(ctx, led, g, no)
	}
	if err != nil {
		return grant{}, fmt.Errorf("renew login of %s: %w", l.c.Agent, err)
	}
	n := g.renewed(a, l.c.Now())
	led = ledger{Renewed: l.c.Now()}
	led.keepRescue(file.grant.refresh, n)
	l.note(led)
	l.step("kept")
	return l.store(ctx, led, file, n), nil
}

// enough holds for what need not be renewed. A life shorter than the margin would
// else be renewed at every call.
func (l *Login) enough(g grant, led ledger) bool {
	now := l.c.Now()
	return l.fresh(g, now) || l.usable(g, now) && now.Before(led.Renewed.Add(calm))
}

// renewable says why a grant cannot be renewed.
func (l *Login) renewable(g grant, led ledger) error {
	fail := func(why string) error {
		return fault.New(fault.Failed, l.format.again, "the login of %s in %s %s", l.c.Agent, l.c.Path, why)
	}
	switch {
	case g.kind == APIKey && g.access == "":
		return fail("is empty")
	case g.kind == APIKey:
		l.Stale(Token{})
		return fail("is a key that upstream refuses")
	case g.refresh == "":
		return fail("has ended, and nothing there renews it")
	case l.c.Endpoint == nil:
		return fail("has ended, and it is not known who renews it")
	case led.Refused == fingerprint(g.refresh) && (led.Until.IsZero() || l.c.Now().Before(led.Until)):
		return fail("has ended, and the server refused to renew it")
	case l.isStale(g) && l.c.Now().Before(led.Renewed.Add(calm)):
		l.Stale(Token{})
		return fail("is refused by upstream, and was renewed only just now")
	}
	return nil
}

// refused looks once more whether somebody else was first; if not, the refusal is
// written down, so that no process asks with this token again. A client that cannot
// be kept from renewing may have its answer and not have written it yet.
func (l *Login) refused(ctx context.Context, led ledger, g grant, no *refusal) (grant, error) {
	for wait := grace / 64; ; wait *= 2 {
		file, err := l.read(ctx)
		if err == nil && file.grant.access != g.access && l.usable(file.grant, l.c.Now()) {
			l.remember(file.grant, file.stamp)
			return file.grant, nil
		}
		if l.format.asking != nil || wait > grace/2 || pause(ctx, wait) != nil {
			break
		}
	}
	led.Refused, led.Until = fingerprint(g.refresh), l.c.Now().Add(calm)
	if no.final() {
		led.Until = time.Time{}
	}
	l.note(led)
	return grant{}, fault.New(fault.Failed, l.format.again, "renew login of %s: %w", l.c.Agent, no)
}

// store puts a grant into the client's file and clears the ledger. When that fails
// the grant is good all the same: it stays here, and in the ledger for the others.
func (l *Login) store(ctx context.Context, led ledger, was contents, g grant) grant {
	theirs, err := l.save(ctx, was, g)
	l.step("written")
	if err != nil {
		l.c.Warn(fmt.Errorf("the login of %s was renewed, but not written: %w; it is kept in %s", l.c.Agent, err, l.ledgerPath()))
	} else {
		l.drop(led)
	}
	if theirs != nil {
		l.remember(theirs.grant, theirs.stamp)
		return theirs.grant
	}
	s, _ := stampOf(l.c.Path)
	l.remember(g, s)
	return g
}

// save writes a grant, unless somebody logged in meanwhile: theirs is the login then.
func (l *Login) save(ctx context.Context, was contents, g grant) (theirs *contents, err error) {
	release, err := l.lockSaving(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	now, err := l.read(ctx)
	if err != nil {
		return nil, err
	}
	if now.stamp != was.stamp && now.grant.refresh != "" && now.grant.refresh != was.grant.refresh {
		return &now, nil
	}
	text, err := now.doc.apply(l.format.edits(now.doc, g, l.c.Now()))
	if err != nil {
		return nil, err
	}
	if err := l.c.Unseen(l.c.Path); err != nil {
		return nil, err
	}
	return nil, file.Rewrite(l.c.Path, text)
}

// drop clears what the file holds by now.
func (l *Login) drop(led ledger) {
	led.Rescue = nil
	l.note(led)
}

// note writes the ledger. Without it this process goes on; others may ask again.
func (l *Login) note(led ledger) {
	if err := l.writeLedger(led); err != nil {
		l.c.Warn(fmt.Errorf("renew login of %s: %w", l.c.Agent, err))
	}
}
