package sign

import (
	"errors"
	"strings"
	"time"

	"ringfence.dev/ringfence/internal/git/object"
)

// notOurs is how most refusals start, in the words that the user knows from the
// manual.
const notOurs = "this is not a commit or tag object of this repository"

// judge returns nil if payload may be signed.
func (e *endpoint) judge(payload []byte, ev *Event) error {
	o, err := object.Parse(payload)
	if err != nil {
		return deny("%s: %v", notOurs, err)
	}
	ev.Type, ev.Subject = string(o.Type), o.Subject(maxSubject)
	if err := e.judgeMaker(o); err != nil {
		return err
	}
	return e.judgeStore(o)
}

// judgeMaker holds the committer or tagger to the user's address and to now. The
// author of a commit is somebody else's word, and old.
func (e *endpoint) judgeMaker(o *object.Object) error {
	who := "committer"
	if o.Type == object.Tag {
		who = "tagger"
	}
	own := cleanAddress(e.Identity.Email)
	switch {
	case own == "":
		return deny("user.email is not set on the host, so it is not known in whose name to sign")
	case o.Maker.Email != own:
		return deny("the %s is %q, and the key signs for %q alone", who, clip(o.Maker.Email), own)
	}
	if off := o.Maker.Time.Sub(e.now()).Abs(); e.Skew >= 0 && off > e.Skew {
		return deny("the %s's time is %s, which is not now", who, o.Maker.Time.UTC().Format(time.RFC3339))
	}
	return nil
}

// judgeStore looks up what the object refers to.
func (e *endpoint) judgeStore(o *object.Object) error {
	s, err := object.Open(e.Stores, e.Workspaces)
	if err != nil {
		return failed(err, "the object store of this repository cannot be read")
	}
	defer s.Close()
	if o.Type == object.Tag {
		return missing(s.Has(o.Target, o.TargetType))
	}
	if err := s.Has(o.Tree, object.Tree); err != nil {
		return missing(err)
	}
	for _, parent := range o.Parents {
		if err := s.Has(parent, object.Commit); err != nil {
			return missing(err)
		}
	}
	return nil
}

func missing(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if before, _, ok := strings.Cut(text, ": "); ok && errors.Is(err, object.ErrMissing) {
		text = before + " is not in its object store" // what is wrong with a file there is for the host
	}
	return &refusal{status: 403, text: notOurs + ": " + text, detail: err}
}

// cleanAddress does to the configured address what git does before it writes one
// into an object.
func cleanAddress(s string) string {
	crud := func(r rune) bool { return r <= ' ' || strings.ContainsRune(".,:;<>\"\\'", r) }
	return strings.NewReplacer("\n", "", "<", "", ">", "").Replace(strings.TrimFunc(s, crud))
}

// clip bounds what somebody else wrote before it is quoted.
func clip(s string) string {
	if len(s) > maxSubject {
		return strings.ToValidUTF8(s[:maxSubject], "") + "…"
	}
	return s
}
