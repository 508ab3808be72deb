package git

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// refusal is a push that is denied, with the setting that lets it through.
type refusal struct {
	prepare func(w *world)
	push    []string // arguments of git push in "work"
	want    string   // in git's output
	allow   []string // nil: nothing does
}

// change commits a change of one file in a clone, on a branch.
func change(branch, file, text string) func(*world) {
	return func(w *world) {
		w.git("work", "switch", "-q", "-C", branch)
		w.write("work", file, text)
		w.commit("work", "change "+file)
	}
}

// both does one thing and then another.
func both(steps ...func(*world)) func(*world) {
	return func(w *world) {
		for _, s := range steps {
			s(w)
		}
	}
}

func cmd(args ...string) func(*world) { return func(w *world) { w.git("work", args...) } }

const (
	deniedWorkflow = `(ringfence: changes of .github/workflows are denied; policy [broker] git = ["workflows"] allows them)`
	deniedForce    = `(ringfence: pushes that do not move a branch forward are denied; policy [broker] git = ["force"] allows them)`
	deniedTags     = `(ringfence: pushes of tags are denied; policy [broker] git = ["tags"] allows them)`
)

// evil puts a commit with another workflow on the forge, as a pull request of a
// stranger: the server has its objects, and none of its branches does.
func evil(w *world) {
	seed := w.path("seed/" + own)
	w.git(seed, "switch", "-q", "-C", "evil", "main")
	w.write(seed, ".github/workflows/ci.yml", "run: evil\n")
	w.commit(seed, "evil")
	w.git(seed, "push", "-q", w.bare(own), "evil:refs/pull/1/head")
	w.git("work", "fetch", "-q", "origin", "refs/pull/1/head:refs/heads/evil")
}

var table = map[string]refusal{
	"default branch": {change("main", "README", "x"), []string{"main"},
		`! [remote rejected] main -> main (ringfence: pushes to the default branch are denied; policy [broker] git = ["push-default"] allows them)`, []string{"push-default"}},
	"default branch by its full name, from elsewhere": {change("fix", "README", "x"), []string{"HEAD:refs/heads/main"},
		`! [remote rejected] HEAD -> main (ringfence: pushes to the default branch`, []string{"push-default"}},
	"protected branch": {change("release/2", "README", "x"), []string{"release/2"},
		`(ringfence: pushes to protected branches are denied ("release/*"))`, nil},
	"deletion":              {nil, []string{"--delete", "old"}, `(ringfence: deletions are denied; policy [broker] git = ["delete"] allows them)`, []string{"delete"}},
	"deletion of default":   {nil, []string{"--delete", "main"}, `pushes to the default branch are denied`, []string{"delete", "push-default"}},
	"tag":                   {cmd("tag", "v1"), []string{"v1"}, deniedTags, []string{"tags"}},
	"annotated tag":         {both(change("fix", "README", "x"), cmd("tag", "-a", "-m", "v1", "v1")), []string{"v1"}, deniedTags, []string{"tags"}},
	"tag with a workflow":   {both(change("fix", ".github/workflows/x.yml", "x"), cmd("tag", "-a", "-m", "v1", "v1")), []string{"v1"}, deniedTags, []string{"tags", "workflows"}},
	"notes":                 {cmd("notes", "add", "-m", "x"), []string{"refs/notes/commits"}, "(ringfence: pushes to refs that are no branches are denied)", nil},
	"review ref":            {nil, []string{"HEAD:refs/for/main"}, "(ringfence: pushes to refs that are no branches are denied)", nil},
	"amended":               {both(cmd("switch", "-q", "old"), cmd("commit", "-q", "--amend", "-m", "other")), []string{"--force", "old"}, deniedForce, []string{"force"}},
	"moved back":            {nil, []string{"--force", "origin/old~1:refs/heads/old"}, deniedForce, []string{"force"}},
	"unrelated":             {both(cmd("checkout", "-q", "--orphan", "old"), cmd("rm", "-rfq", "."), cmd("commit", "-q", "--allow-empty", "-m", "x")), []string{"--force", "old"}, deniedForce, []string{"force"}},
	"workflow changed":      {change("fix", ".github/workflows/ci.yml", "x"), []string{"fix"}, deniedWorkflow, []string{"workflows"}},
	"workflow added":        {change("fix", ".github/workflows/more.yml", "x"), []string{"fix"}, deniedWorkflow, []string{"workflows"}},
	"workflow removed":      {both(cmd("rm", "-q", ".github/workflows/ci.yml"), change("fix", "x", "x")), []string{"fix"}, deniedWorkflow, []string{"workflows"}},
	"workflow on old":       {both(cmd("switch", "-q", "old"), change("old", ".github/workflows/ci.yml", "x")), []string{"old"}, deniedWorkflow, []string{"workflows"}},
	"gitlab's":              {change("fix", ".gitlab-ci.yml", "x"), []string{"fix"}, "changes of .gitlab-ci.yml are denied", []string{"workflows"}},
	"gitea's":               {change("fix", ".gitea/workflows/a.yml", "x"), []string{"fix"}, "changes of .gitea/workflows are denied", []string{"workflows"}},
	"forgejo's":             {change("fix", ".forgejo/workflows/a.yml", "x"), []string{"fix"}, "changes of .forgejo/workflows are denied", []string{"workflows"}},
	"directory made a link": {both(cmd("rm", "-rq", ".github"), change("fix", ".github", "x")), []string{"fix"}, "(ringfence: changes of .github/actions are denied", []string{"workflows"}},
	"workflow in between": {both(change("fix", ".github/workflows/ci.yml", "x"), cmd("revert", "--no-edit", "HEAD")), []string{"fix"},
		deniedWorkflow, []string{"workflows"}},
	"workflow in a root of its own": {both(cmd("checkout", "-q", "--orphan", "fix"), cmd("rm", "-rfq", "."), change("fix", ".github/workflows/ci.yml", "x")), []string{"fix"},
		deniedWorkflow, []string{"workflows"}},
	"workflow of a merged stranger":       {both(evil, change("fix", "x", "x"), cmd("merge", "-q", "--no-edit", "evil")), []string{"fix"}, deniedWorkflow, []string{"workflows"}},
	"commit that only a pull request has": {evil, []string{"evil:refs/heads/fix"}, deniedWorkflow, []string{"workflows"}},
	"on top of a pull request":            {both(evil, cmd("switch", "-q", "evil"), change("fix", "x", "x")), []string{"fix"}, deniedWorkflow, []string{"workflows"}},
	"option that merges": {change("fix", "x", "x"), []string{"-o", "merge_request.merge_when_pipeline_succeeds", "fix"},
		`(ringfence: the push option "merge_request.merge_when_pipeline_succeeds" is denied)`, nil},
	"one of two": {change("fix", "x", "x"), []string{"fix", "fix:main"}, "! [remote rejected] fix -> fix (ringfence: another ref of this push is denied)", []string{"push-default"}},
}

// TestRefusals has git's own output say why, and the forge's disk that nothing
// changed; then the rule is switched off and the same push goes through.
func TestRefusals(t *testing.T) {
	for what, r := range table {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.clone("work")
			if r.prepare != nil {
				r.prepare(w)
			}
			before := w.all(own)
			push := append([]string{"push", "origin"}, r.push...)
			out, err := w.run("work", push...)
			if err == nil || !strings.Contains(out, r.want) || !strings.Contains(out, "remote: ringfence: nothing was sent to forge.test") {
				t.Errorf("%v, want %s\n%s", err, r.want, out)
			}
			if w.all(own) != before {
				t.Errorf("the forge changed:\n%s", w.all(own))
			}
			if e := w.lastEvent(); !e.Denied || e.Reason == "" || e.Service != "git-receive-pack" {
				t.Errorf("journalled %+v", e)
			}
			for _, s := range w.requests() {
				if s.method == "POST" && strings.HasSuffix(s.path, "/git-receive-pack") {
					t.Errorf("the push reached the forge")
				}
			}
			if r.allow == nil {
				return
			}
			w.frontFor(allow(r.allow...))
			w.git("work", "remote", "set-url", "origin", "https://"+host+"/"+own+".git")
			if out, err := w.run("work", push...); err != nil {
				t.Fatalf("allowed, and still: %v\n%s", err, out)
			}
			if w.all(own) == before {
				t.Error("allowed, and nothing changed")
			}
		})
	}
}

// TestHalfAllowed: each switch opens its own rule and no other.
func TestHalfAllowed(t *testing.T) {
	for what, c := range map[string]struct {
		row   string
		allow []string
		want  string
	}{
		"tags are not workflows":       {"tag with a workflow", []string{"tags"}, deniedWorkflow},
		"default is not force":         {"default branch", []string{"force", "delete", "tags", "workflows"}, "pushes to the default branch are denied"},
		"deletion is not default":      {"deletion of default", []string{"delete"}, "pushes to the default branch are denied"},
		"default is not deletion":      {"deletion of default", []string{"push-default"}, "deletions are denied"},
		"force is not workflows":       {"workflow on old", []string{"force"}, deniedWorkflow},
		"workflows is not force":       {"amended", []string{"workflows"}, deniedForce},
		"all others are not workflows": {"workflow changed", []string{"push-default", "force", "delete", "tags", "other-repos"}, deniedWorkflow},
		"all do not open protected":    {"protected branch", []string{"push-default", "force", "delete", "tags", "other-repos", "workflows"}, "protected branches are denied"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, allow(c.allow...))
			w.clone("work")
			r := table[c.row]
			if r.prepare != nil {
				r.prepare(w)
			}
			before := w.all(own)
			if out, err := w.run("work", append([]string{"push", "origin"}, r.push...)...); err == nil || !strings.Contains(out, c.want) {
				t.Errorf("%v, want %s\n%s", err, c.want, out)
			}
			if w.all(own) != before {
				t.Error("the forge changed")
			}
		})
	}
}

// TestTwoSteps: a workflow does not come in as the parent of one push and the tip
// of the next.
func TestTwoSteps(t *testing.T) {
	w := newWorld(t)
	w.clone("work")
	table["workflow in between"].prepare(w)
	if out, err := w.run("work", "push", "origin", "fix"); err == nil || !strings.Contains(out, deniedWorkflow) {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := w.run("work", "push", "origin", "fix~1:refs/heads/second"); err == nil || !strings.Contains(out, deniedWorkflow) {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestHonestPushes are those that a rule could mistake for something else.
func TestHonestPushes(t *testing.T) {
	for what, c := range map[string]struct {
		prepare func(w *world)
		push    []string
	}{
		"from an old commit, with its old workflow": {both(cmd("switch", "-q", "-c", "fix", "main~3"), change("fix", "x", "x")), []string{"fix"}},
		"merge of main into a branch with older workflows": {both(cmd("switch", "-q", "old"), change("old", "x", "x"),
			cmd("merge", "-q", "--no-edit", "main")), []string{"old"}},
		"squashed merge of main":       {both(cmd("switch", "-q", "old"), change("old", "x", "x"), cmd("merge", "-q", "--squash", "main"), cmd("commit", "-qm", "x")), []string{"old"}},
		"forward to a commit there":    {nil, []string{"origin/main:refs/heads/old"}},
		"forward to a commit between":  {nil, []string{"origin/main~1:refs/heads/old"}},
		"new branch at an old commit":  {nil, []string{"origin/main~4:refs/heads/fix"}},
		"new branch at a head":         {nil, []string{"origin/main:refs/heads/fix"}},
		"branch of its own":            {both(cmd("checkout", "-q", "--orphan", "pages"), cmd("rm", "-rfq", "."), change("pages", "index", "x")), []string{"pages"}},
		"empty commit":                 {both(cmd("switch", "-q", "-c", "fix"), cmd("commit", "-q", "--allow-empty", "-m", "x")), []string{"fix"}},
		"tree of an old commit":        {both(cmd("switch", "-q", "-c", "fix", "main~1"), cmd("revert", "--no-edit", "HEAD")), []string{"fix"}},
		"other file next to workflows": {change("fix", ".github/CODEOWNERS", "* @bob\n"), []string{"fix"}},
		"two branches":                 {both(change("a", "a", "a"), change("b", "b", "b")), []string{"a", "b"}},
		"harmless option":              {change("fix", "x", "x"), []string{"-o", "merge_request.create", "-o", "merge_request.title=a b", "-o", "merge_request.description=c d", "fix"}},
		"many commits": {func(w *world) {
			w.git("work", "switch", "-q", "-c", "fix")
			for i := range 60 {
				w.write("work", "src/deep/file-1", strings.Repeat("x", i))
				w.commit("work", "x")
			}
		}, []string{"fix"}},
		"large trees, so that git sends deltas on what the server has": {func(w *world) {
			seed := w.path("seed/" + own)
			for i := range 300 {
				w.write(seed, fmt.Sprintf("file-with-a-name-%d", i), fmt.Sprint(i))
				w.write(seed, fmt.Sprintf(".github/file-with-a-name-%d", i), fmt.Sprint(i))
			}
			w.commit(seed, "many files")
			w.git(seed, "push", "-q", w.bare(own), "main")
			w.git("work", "pull", "-q")
			w.git("work", "switch", "-q", "-c", "fix")
			w.write("work", ".github/file-with-a-name-7", "x")
			w.commit("work", "x")
		}, []string{"fix"}},
		"without having fetched": {func(w *world) { // so git knows of nothing that the server has, and sends all
			w.git("work", "switch", "-q", "-c", "fix")
			w.write("work", "x", "x")
			w.commit("work", "x")
			seed := w.path("seed/" + own)
			w.write(seed, "README", "later\n")
			w.commit(seed, "later")
			w.git(w.bare(own), "branch", "-q", "-D", "old", "release/1")
			w.git(seed, "push", "-q", w.bare(own), "main")
		}, []string{"fix"}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.clone("work")
			if c.prepare != nil {
				c.prepare(w)
			}
			before := w.all(own)
			if out, err := w.run("work", append([]string{"push", "origin"}, c.push...)...); err != nil || w.all(own) == before {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// TestSymbolicBranches: a branch of the forge that is only another name for a second
// one is judged as that one, whichever way its server spells where it leads.
func TestSymbolicBranches(t *testing.T) {
	for what, c := range map[string]struct {
		links [][2]string // name and target
		push  []string
		want  string // "": it passes
		allow []string
	}{
		"to the default branch":     {[][2]string{{"topic", "main"}}, []string{"fix:topic"}, "pushes to the default branch are denied", []string{"push-default"}},
		"by two steps":              {[][2]string{{"topic", "inner"}, {"inner", "main"}}, []string{"fix:topic"}, "pushes to the default branch are denied", []string{"push-default"}},
		"to a protected branch":     {[][2]string{{"topic", "release/1"}}, []string{"fix:topic"}, "pushes to protected branches are denied", nil},
		"deletion":                  {[][2]string{{"topic", "main"}}, []string{":topic"}, "pushes to the default branch are denied", []string{"delete", "push-default"}},
		"HEAD leads by one":         {[][2]string{{"front", "old"}, {"HEAD", "front"}}, []string{"old2:old"}, "pushes to the default branch are denied", []string{"push-default"}},
		"HEAD leads to one":         {[][2]string{{"front", "old"}, {"HEAD", "front"}}, []string{"old2:front"}, "pushes to the default branch are denied", []string{"push-default"}},
		"to no branch":              {[][2]string{{"topic", "refs/pull/1/head"}}, []string{"fix:topic"}, "pushes to refs that are no branches are denied", nil},
		"to another branch":         {[][2]string{{"topic", "old"}}, []string{"old2:topic"}, "", nil},
		"to another branch, forced": {[][2]string{{"topic", "old"}}, []string{"--force", "origin/old~1:refs/heads/topic"}, "pushes that do not move a branch forward are denied", []string{"force"}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.git(w.bare(own), "update-ref", "refs/pull/1/head", "refs/heads/main")
			for _, l := range slices.Backward(c.links) {
				name, to := l[0], l[1]
				if name != "HEAD" {
					name = "refs/heads/" + name
				}
				if !strings.HasPrefix(to, "refs/") {
					to = "refs/heads/" + to
				}
				w.git(w.bare(own), "symbolic-ref", name, to)
			}
			w.clone("work")
			w.git("work", "switch", "-q", "-C", "fix", "origin/main")
			w.commit("work", "more")
			w.git("work", "switch", "-q", "-C", "old2", "origin/old")
			w.commit("work", "more")
			before := w.all(own)
			push := append([]string{"push", "origin"}, c.push...)
			out, err := w.run("work", push...)
			if c.want == "" {
				if err != nil || w.all(own) == before {
					t.Errorf("%v\n%s", err, out)
				}
				return
			}
			if err == nil || !strings.Contains(out, c.want) || w.all(own) != before {
				t.Errorf("%v, want %s\n%s%s", err, c.want, out, w.all(own))
			}
			if c.allow == nil {
				return
			}
			w.frontFor(allow(c.allow...))
			w.git("work", "remote", "set-url", "origin", "https://"+host+"/"+own+".git")
			if out, err := w.run("work", push...); err != nil || w.all(own) == before {
				t.Errorf("allowed, and still: %v\n%s", err, out)
			}
		})
	}
}
