package why

import (
	"fmt"
	"strings"

	"ringfence.dev/ringfence/internal/policy"
)

// AboutPush answers for a push to a branch or ref of the repository's own remote.
func (w *World) AboutPush(ref string) *Answer {
	a := &Answer{Kind: Push, Subject: ref}
	f := w.Pushes(ref)
	if f.refused() && f.Help == "" {
		w.grantPush(ref, &f)
	}
	a.Findings = []Finding{f}
	a.Notes = append(a.Notes, "which branch is the default one the forge says at the push; beforehand main and master are taken for it",
		"a push that is allowed by its name must still move the branch forward and leave workflows alone")
	if len(w.Forges) == 0 && w.Reach.Mode != modeNone {
		a.Notes = append(a.Notes, "this repository has no remote that the broker speaks to now")
	}
	return a
}

// fullRef writes a branch as git does.
func fullRef(ref string) string {
	if strings.HasPrefix(ref, "refs/") {
		return ref
	}
	return "refs/heads/" + ref
}

// Pushes judges a push by its name. No grant is looked for.
func (w *World) Pushes(ref string) Finding {
	ref = fullRef(ref)
	f := Finding{Access: ToPush, Verdict: Denied, Ours: true, By: WallBranch, Source: BuiltIn, Rule: "pushes are judged by the broker"}
	if w.Reach.Mode == modeNone {
		f.By, f.Reason = WallClosed, "the network of the session is closed"
		f.Rule, f.Source = `[network] mode = "none"`, w.modeSource()
		f.Help = "choose a wider mode: --net dev"
		return f
	}
	f.Reason = w.Push(ref)
	if f.Reason == "" {
		f.Verdict, f.Reason = Allowed, "its name is no default, protected or special one"
		for _, r := range w.Policy.Broker.Git {
			f.Rule, f.Source = fmt.Sprintf("[broker] git = [%q]", r.Value), where(r.Source)
		}
		return f
	}
	branch := strings.TrimPrefix(ref, "refs/heads/")
	for _, r := range w.Policy.Broker.Protected {
		if strings.Contains(f.Reason, fmt.Sprintf("%q", r.Value)) {
			f.Rule, f.Source = fmt.Sprintf("[broker] protected = [%q]", r.Value), where(r.Source)
			f.Help = fmt.Sprintf("no grant lets %s be pushed: take the pattern out of %s", branch, f.Source)
		}
	}
	return f
}

// grantPush switches off the refusals that a policy may.
func (w *World) grantPush(ref string, f *Finding) {
	ref = fullRef(ref)
	refusal, also := "push-default", "pushes to the default branch of every remote of this repository"
	if strings.HasPrefix(ref, "refs/tags/") {
		refusal, also = "tags", "every new tag, and what a release of it starts"
	} else if !strings.HasPrefix(ref, "refs/heads/") {
		f.Help = "no grant helps: only branches and tags can be pushed"
		return
	}
	w.try(f, func(with *World) *Finding { now := with.Pushes(ref); return &now }, nil,
		Grant{Layer: &policy.Policy{Broker: policy.Broker{Git: granted(refusal)}}, Also: []string{also}})
}
