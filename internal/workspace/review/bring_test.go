package review

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ringfence.dev/ringfence/internal/workspace/change"
)

func TestApplySome(t *testing.T) {
	h := newWorld(t, Review, `mkdir a b; echo 1 >a/x; echo 2 >a/y; echo move >a/m`)
	h.held(`echo X >a/x; echo Y >a/y; mkdir -p n/o; echo new >n/o/p; echo new >n/q; mv a/m b/m; chmod 700 a`)
	h.end()
	said := h.review()
	out, err := h.Apply([]Selected{{0, "a/x"}, {0, "n/o"}}, said, true)
	must(t, err)
	if diff := cmp.Diff("applied a/x\napplied n\napplied n/o\napplied n/o/p\n", results(out)); diff != "" {
		t.Error(diff)
	}
	if h.read("a/x") != "X\n" || h.read("a/y") != "2\n" || h.exists("n/q") || h.exists("b/m") {
		t.Error("not what was asked for")
	}
	if diff := cmp.Diff("source mode waits a\nsource changed live a/x\nsource changed waits a/y\nsource renamed waits b/m\n"+
		"source added live n\nsource added live n/o\nsource added live n/o/p\nsource added waits n/q\n", lines(h.review())); diff != "" {
		t.Error(diff)
	}
	// All of a, by name: the rename has only its old half there.
	for _, part := range []string{"a", "b"} {
		out, err = h.Apply([]Selected{{0, part}}, nil, false)
		must(t, err)
		if diff := cmp.Diff("conflict b/m\n", results(out)); diff != "" || h.exists("b/m") || !h.exists("a/m") {
			t.Error("half of a move was asked for", diff)
		}
	}
	out, err = h.Apply([]Selected{{0, "a"}, {0, "b"}}, nil, false)
	must(t, err)
	if diff := cmp.Diff("applied a\napplied a/y\napplied b/m\n", results(out)); diff != "" {
		t.Error(diff)
	}
	must(t, h.Discard(nil))
	if _, err := Open(h.state, h.ID); err != nil || len(h.review().Waiting()) > 0 {
		t.Errorf("what was applied cannot be undone: %v", err)
	}
}

func TestApplyRefusesWhatWasNotShown(t *testing.T) {
	h := newWorld(t, Review, ``)
	h.held(`echo 1 >x`)
	h.end()
	said := h.review()
	must(t, os.WriteFile(h.Upper(0)+"/x", []byte("other\n"), 0o644))
	must(t, os.WriteFile(h.Upper(0)+"/y", []byte("other\n"), 0o644))
	out, err := h.Apply(nil, said, true)
	must(t, err)
	if diff := cmp.Diff("conflict x\nconflict y\n", results(out)); diff != "" || h.exists("x") || h.exists("y") {
		t.Error(diff)
	}
}

func TestApplyMergesAndRefuses(t *testing.T) {
	h := newWorld(t, Review, `git init -q .; printf '1\n2\n3\n4\n5\n6\n7\n8\n9\n' >both; echo a >clash; git add .; git commit -qm a`)
	h.Trees[0].Head = strings.TrimSpace(h.sh(`git rev-parse HEAD`))
	h.held(`sed -i 's/^1$/one/' both; echo session >clash`)
	h.end()
	h.sh(`sed -i 's/^9$/nine/' both; echo host >clash; touch -d '+1 minute' both clash`)
	out, err := h.Apply(nil, h.review(), true)
	must(t, err)
	if diff := cmp.Diff("merged both\nconflict clash\n", results(out)); diff != "" {
		t.Error(diff)
	}
	if got := h.read("both"); !strings.HasPrefix(got, "one\n") || !strings.HasSuffix(got, "nine\n") || h.read("clash") != "host\n" {
		t.Errorf("both is %q", got)
	}
}

func TestMaskedIsNeverWrittenBack(t *testing.T) {
	h := newWorld(t, Review, `echo real >.env; echo a >a`)
	h.Trees[0].Masked = []string{".env"}
	h.held(`echo phantom >.env; echo b >a`)
	h.end()
	r := h.review()
	if e := find(t, r, ".env"); !e.Masked || !strings.Contains(e.Text, "never written back") {
		t.Errorf("%+v", e)
	}
	out, err := h.Apply(nil, r, true)
	must(t, err)
	if diff := cmp.Diff("masked .env\napplied a\n", results(out)); diff != "" || h.read(".env") != "real\n" || h.read("a") != "b\n" {
		t.Error(diff)
	}
}

// TestPhantomsDoNotWait: what was put in the place of a masked file is no change of the
// agent's. What the agent makes of it is.
func TestPhantomsDoNotWait(t *testing.T) {
	for _, view := range []View{Live, Review} {
		h := newWorld(t, view, `echo real >.env; echo real >.env.b`)
		must(t, h.Masked(0, map[string][]byte{".env": []byte("phantom\n")}))
		must(t, h.Masked(0, map[string][]byte{"./.env.b": []byte("phantom\n")}))
		h.held(`echo phantom >.env; echo changed >.env.b`)
		h.end()
		if got := lines(h.review()); strings.Contains(got, ".env\n") || !strings.Contains(got, ".env.b\n") {
			t.Errorf("%s: %s", view, got)
		}
	}
	h := newWorld(t, Live, `echo real >.env`)
	must(t, h.Masked(0, map[string][]byte{".env": []byte("phantom\n")}))
	h.held(`echo phantom >.env`)
	if waits, err := h.Waits(); err != nil || waits {
		t.Errorf("with nothing but a phantom, changes wait: %v", err)
	}
	h.held(`echo x >y`)
	if waits, err := h.Waits(); err != nil || !waits {
		t.Errorf("a change does not wait: %v", err)
	}
}

func TestDiscardSome(t *testing.T) {
	h := newWorld(t, Review, `mkdir d; echo 1 >d/x`)
	h.held(`rm -r d; echo 2 >y; echo 3 >z`)
	h.end()
	must(t, h.Discard([]Selected{{0, "d"}, {0, "y"}}))
	if diff := cmp.Diff("source added waits z\n", lines(h.review())); diff != "" {
		t.Error(diff)
	}
}

func TestUndo(t *testing.T) {
	h := newWorld(t, Live, `mkdir tests; echo 1 >tests/a; echo 2 >plan; echo k >keep`)
	h.write("plan", "gone\n")
	h.write("new", "x\n")
	h.remove("tests/a")
	h.write("keep", "agent\n")
	h.end()
	h.sh(`touch -d '+1 minute' keep; echo human >keep`)
	out, err := h.UndoAll([]Selected{{0, "tests"}}, false)
	must(t, err)
	if diff := cmp.Diff("restored tests/a\n", results(out)); diff != "" || h.read("tests/a") != "1\n" || h.read("plan") != "gone\n" {
		t.Error(diff)
	}
	out, err = h.UndoAll(nil, false)
	must(t, err)
	if h.read("plan") != "2\n" || h.exists("new") || h.read("keep") != "human\n" {
		t.Error("not undone: ", results(out))
	}
	out, err = h.UndoAll(nil, true)
	must(t, err)
	if h.read("keep") != "k\n" {
		t.Error("not undone by force: ", results(out))
	}
	if _, err := Open(h.state, h.ID); err != nil || len(h.review().Live()) > 0 {
		t.Errorf("what was undone cannot be brought back: %v\n%s", err, lines(h.review()))
	}
}

func TestKilledSession(t *testing.T) {
	h := newWorld(t, Live, `echo 1 >a`)
	h.write("a", "agent\n")
	h.held(`mkdir .vscode; echo '{}' >.vscode/tasks.json`)
	h.kill()
	r := h.review()
	if len(r.Entries) != 3 || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "killed") {
		t.Errorf("%s%q", lines(r), r.Notes)
	}
	_, err := h.UndoAll(nil, false)
	must(t, err)
	if h.read("a") != "1\n" {
		t.Error("not undone")
	}
	out, err := h.Apply(nil, h.review(), true)
	must(t, err)
	if !h.exists(".vscode/tasks.json") {
		t.Error("not applied: ", results(out))
	}
}

func TestRunningSessionIsLeftAlone(t *testing.T) {
	h := newWorld(t, Live, ``)
	h.held(`echo 1 >x`)
	same, err := Open(h.state, h.ID)
	must(t, err)
	if _, err := same.Apply(nil, nil, true); err == nil || !strings.Contains(err.Error(), "still runs") {
		t.Errorf("apply: %v", err)
	}
	if err := same.Discard(nil); err == nil {
		t.Error("discarded")
	}
	if _, err := same.UndoAll(nil, true); err == nil {
		t.Error("undone")
	}
}

func TestCover(t *testing.T) {
	file := &change.Node{Type: change.File}
	all := []change.Change{{Path: "a/x", New: file}, {Path: "a/y", New: file}, {Path: "b/c/z", New: file}, {Path: "b/d", New: file, From: "a/old", Old: file}, {Path: "e", New: file}}
	for _, c := range []struct {
		chosen []string
		want   []string
	}{
		{[]string{"a/x", "a/y", "b/c/z", "b/d", "e"}, nil},
		{[]string{"a/x", "a/y"}, []string{"a/x", "a/y"}}, // a/old is of what was not chosen
		{[]string{"a/x", "a/y", "b/c/z", "b/d"}, []string{"a", "b"}},
		{[]string{"b/c/z"}, []string{"b/c"}},
		{nil, []string{}},
	} {
		chosen := map[string]bool{}
		for _, p := range c.chosen {
			chosen[p] = true
		}
		if diff := cmp.Diff(c.want, cover(all, chosen)); diff != "" {
			t.Errorf("%v: %s", c.chosen, diff)
		}
	}
}
