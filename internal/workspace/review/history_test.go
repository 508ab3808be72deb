package review

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestApplyIsAllOrNothing: one change that cannot be brought over, and nothing is.
func TestApplyIsAllOrNothing(t *testing.T) {
	h := newWorld(t, Review, `echo a >clash; echo a >clash2; echo a >gone`)
	h.held(`echo session >clash; echo session >clash2; echo new >fine; rm gone`)
	h.end()
	h.sh(`echo host >clash; echo host >clash2; touch -d '+1 minute' clash clash2`)
	out, err := h.Apply(nil, h.review(), false)
	must(t, err)
	if diff := cmp.Diff("conflict clash\nconflict clash2\n", results(out)); diff != "" || h.exists("fine") || !h.exists("gone") {
		t.Errorf("something was applied, or not each conflict was named: %s", diff)
	}
	if len(h.review().Live()) > 0 || len(h.review().Waiting()) != 4 {
		t.Errorf("after nothing was applied:\n%s", lines(h.review()))
	}
	out, err = h.Apply(nil, h.review(), true)
	must(t, err)
	if h.read("clash") != "host\n" || !h.exists("fine") || h.exists("gone") {
		t.Errorf("the rest was asked for: %s", results(out))
	}
}

// TestApplyCanBeUndone, with what it overwrote, deleted and renamed; and the undo can be
// undone, and that again.
func TestApplyCanBeUndone(t *testing.T) {
	h := newWorld(t, Review, `echo 1 >a; mkdir d; echo 2 >d/gone; echo long enough to be found >old; chmod 600 a`)
	h.held(`echo agent >a; rm -r d; mv old new; mkdir -p n/m; echo x >n/m/x`)
	h.end()
	before := h.sh(`find . | sort; cat a d/gone old`)
	_, err := h.Apply(nil, h.review(), false)
	must(t, err)
	after := h.sh(`find . | sort; cat a new n/m/x`)
	if before == after || len(h.review().Live()) == 0 {
		t.Fatalf("nothing was applied, or what was is not listed as live:\n%s", lines(h.review()))
	}
	for range 2 {
		out, err := h.UndoAll(nil, false)
		must(t, err)
		if diff := cmp.Diff(before, h.sh(`find . | sort; cat a d/gone old`)); diff != "" {
			t.Fatalf("not undone: %s\n%s", diff, results(out))
		}
		if live := h.review().Live(); len(live) > 0 || !h.Undone() {
			t.Fatalf("after undo: %s", lines(h.review()))
		}
		out, err = h.Redo(nil, false)
		must(t, err)
		if diff := cmp.Diff(after, h.sh(`find . | sort; cat a new n/m/x`)); diff != "" || h.Undone() {
			t.Fatalf("not brought back: %s\n%s", diff, results(out))
		}
	}
}

// TestUndoOfAnUndo: the live view, with something of the host's in between.
func TestUndoOfAnUndo(t *testing.T) {
	h := newWorld(t, Live, `echo 1 >a; echo 2 >b; echo 3 >c`)
	h.write("a", "agent\n")
	h.write("b", "agent\n")
	h.remove("c")
	h.end()
	_, err := h.UndoAll(nil, false)
	must(t, err)
	h.sh(`echo human >b; touch -d '+1 minute' b`)
	out, err := h.Redo(nil, false)
	must(t, err)
	if h.read("a") != "agent\n" || h.read("b") != "human\n" || h.exists("c") || !strings.Contains(results(out), "conflict b\n") {
		t.Errorf("a %q, b %q: %s", h.read("a"), h.read("b"), results(out))
	}
	if _, err := h.Redo(nil, false); err == nil {
		t.Error("redone twice")
	}
	_, err = h.UndoAll(nil, false)
	must(t, err)
	if h.read("a") != "1\n" || h.read("b") != "human\n" || h.read("c") != "3\n" {
		t.Errorf("undone again: a %q, b %q", h.read("a"), h.read("b"))
	}
}

// TestGitStandsLast: what people write is not behind a hundred objects.
func TestGitStandsLast(t *testing.T) {
	h := newWorld(t, Review, `git init -q .; echo 1 >zz; git add .; git commit -qm a`)
	h.held(`rm zz; echo new >yy; git add -A; git commit -qm b`)
	h.end()
	seen := false
	for _, e := range h.review().Entries {
		own := strings.HasPrefix(e.Path, ".git/")
		if seen = seen || own; seen && !own && e.Rank == h.review().Entries[len(h.review().Entries)-1].Rank {
			t.Fatalf("behind git's own data:\n%s", lines(h.review()))
		}
	}
	if !seen {
		t.Error("nothing of git's")
	}
}

// TestInterruptedDeedStaysUndoable: the store of a killed apply is there, and counts.
func TestInterruptedDeedStaysUndoable(t *testing.T) {
	h := newWorld(t, Review, `echo 1 >a`)
	h.held(`echo agent >a; echo x >x`)
	h.end()
	j, err := newJudge(h.Work, nil)
	must(t, err)
	store, dir, err := h.record(deedApply, h.Trees)
	must(t, err)
	all, err := h.tree(0).waiting()
	must(t, err)
	for _, c := range all {
		must(t, j.trees[0].saveBoth(store, 0, c))
	}
	j.close()
	must(t, os.WriteFile(h.root+"/a", []byte("agent\n"), 0o644)) // and then it was killed
	_, err = h.Apply(nil, h.review(), false)
	must(t, err)
	_, err = h.UndoAll(nil, false)
	must(t, err)
	if h.read("a") != "1\n" || h.exists("x") {
		t.Errorf("a is %q; store %s", h.read("a"), dir)
	}
}
