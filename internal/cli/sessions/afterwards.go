package sessions

import (
	"errors"
	"path/filepath"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/workspace/review"
)

// afterwards is the journal of a session that is over, for what a person does with
// its work.
type afterwards struct {
	c    *command.Console
	work *review.Work
	book *journal.Writer // nil: what is done is not recorded, and that was said
	lost error
}

// reopen writes down what a person is about to do. A journal that cannot go on does
// not stop a person, who is there to hear of it.
func reopen(c *command.Console, w *review.Work, do string, count int) *afterwards {
	a := &afterwards{c: c, work: w}
	dirs, err := c.Dirs()
	if err == nil {
		a.book, err = journal.Resume(dirs.Journal(), w.ID)
	}
	if err != nil {
		c.Say("warning: this is not recorded: %s", err)
		return a
	}
	a.write(journal.Record{Event: journal.Asked, Method: do, Count: count})
	return a
}

func (a *afterwards) write(records ...journal.Record) {
	if a.book == nil {
		return
	}
	for _, r := range records {
		r.Kind = journal.Work
		a.lost = errors.Join(a.lost, a.book.Write(r))
	}
}

// outcomes writes down what became of each path, and closes.
func (a *afterwards) outcomes(event string, out []review.Outcome) {
	var results []string
	paths := map[string][]string{}
	verdict := map[string]string{}
	for _, o := range out {
		if paths[o.Result] == nil {
			results = append(results, o.Result)
		}
		paths[o.Result] = append(paths[o.Result], a.path(o.Tree, o.Path))
		verdict[o.Result] = journal.Allow
		if o.Failed() {
			verdict[o.Result] = journal.Deny
		}
	}
	for _, result := range results {
		a.write(journal.Split(journal.Record{Event: event, State: result, Verdict: verdict[result]}, paths[result])...)
	}
	a.close()
}

// entries writes down that paths of a review were dealt with, and closes.
func (a *afterwards) entries(event string, entries []review.Entry) {
	var paths []string
	for _, e := range entries {
		paths = append(paths, a.path(e.Tree, string(e.Path)))
	}
	a.write(journal.Split(journal.Record{Event: event, Verdict: journal.Allow}, paths)...)
	a.close()
}

func (a *afterwards) path(tree int, rel string) string {
	return filepath.Join(a.work.Trees[tree].Path, rel)
}

func (a *afterwards) close() {
	if a.book == nil {
		return
	}
	if err := errors.Join(a.lost, a.book.Close()); err != nil {
		a.c.Say("warning: the record of this is not complete: %s", err)
	}
	a.book = nil
}

// waitingIn lists what waits in the work of a session, as far as it can be read.
func waitingIn(w *review.Work) []review.Entry {
	r, _ := w.Review()
	if r == nil {
		return nil
	}
	return r.Waiting()
}
