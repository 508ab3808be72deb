package review

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/workspace/hostexec"
)

func TestReviewListsEverything(t *testing.T) {
	h := newWorld(t, Review, `echo a >main.go; echo b >gone; echo same >moved; echo x >run.sh; ln -s main.go link; mkdir d; echo 1 >d/f`)
	h.held(`echo more >>main.go; rm gone; mv moved there; chmod +x run.sh; ln -sf /etc/passwd link; rm -r d; mkdir new; mkfifo new/pipe
		echo '{"scripts":{"postinstall":"x"}}' >package.json; mkdir .vscode; echo '{}' >.vscode/tasks.json; echo K=1 >.env`)
	h.end()
	got := lines(h.review())
	want := `unasked added waits .vscode/tasks.json
asked changed waits link
asked added waits package.json
secret added waits .env
source added waits .vscode
source deleted waits d
source deleted waits d/f
source deleted waits gone
source changed waits main.go
source added waits new
source added waits new/pipe
source mode waits run.sh
source renamed waits there
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if h.exists(".env") || h.read("main.go") != "a\n" {
		t.Error("the host was changed")
	}
}

func TestReviewRanks(t *testing.T) {
	h := newWorld(t, Review, `git init -q .; mkdir tools; echo x >tools/pre-commit; git config core.hooksPath tools; echo a >a; git add a; git commit -qm a --no-verify`)
	h.held(`echo evil >tools/pre-commit; echo evil >.git/hooks/pre-push; git config alias.x '!sh'; git commit -q --no-verify --allow-empty -m b
		mkdir -p lib/objects lib/refs lib/hooks; echo 'ref: refs/heads/x' >lib/HEAD; echo evil >lib/hooks/post-checkout; touch lib/objects/x
		git replace HEAD HEAD~1; echo /elsewhere >.git/objects/info/alternates
		touch "$(printf 'esc\033[31m')" "$(printf 'bytes\377')" -- -rf; chmod 4755 a; ln -s ../../.. up`)
	h.end()
	r := h.review()
	ranks(t, r, map[string]hostexec.Rank{
		"tools/pre-commit": hostexec.Unasked, ".git/hooks/pre-push": hostexec.Unasked, ".git/config": hostexec.Unasked,
		".git/logs/HEAD": hostexec.Source, ".git/objects/info/alternates": hostexec.Unasked, "lib": hostexec.Unasked, "lib/HEAD": hostexec.Unasked,
		"lib/hooks/post-checkout": hostexec.Unasked, "lib/objects/x": hostexec.Unasked,
		"esc\x1b[31m": hostexec.Asked, "bytes\xff": hostexec.Asked, "-rf": hostexec.Asked, "a": hostexec.Unasked, "up": hostexec.Asked,
	})
	for path, text := range map[string]string{"lib": "bare repository", ".git/config": "alias", ".git/logs/HEAD": "git's own data", "a": "rights of its owner"} {
		if e := find(t, r, path); !strings.Contains(e.Text, text) {
			t.Errorf("%s: %q does not say %q", path, e.Text, text)
		}
	}
	for _, e := range r.Entries {
		if strings.HasPrefix(e.Path, ".git/refs/replace/") && e.Old == nil && e.New.Type == "file" && e.Rank != hostexec.Asked {
			t.Errorf("%s: %s", e.Path, e.Rank)
		}
	}
}

// TestOrdinaryGitIsNoAlarm: what git writes by itself does not stand among what
// runs unasked.
func TestOrdinaryGitIsNoAlarm(t *testing.T) {
	h := newWorld(t, Review, project)
	h.held(`git config user.name x; git remote add fork https://forge.test/y.git; git init -q sub; git worktree add -q wt; git branch -q topic`)
	h.end()
	r := h.review()
	for _, e := range r.Entries {
		if e.Rank == hostexec.Unasked {
			t.Errorf("%s: %s", e.Path, e.Text)
		}
	}
	ranks(t, r, map[string]hostexec.Rank{".git/config": hostexec.Asked, "sub/.git/config": hostexec.Source, "wt/.git": hostexec.Source})
	if e := find(t, r, "sub/.git/config"); e.Text != "makes git run nothing" {
		t.Errorf("%q", e.Text)
	}
}

func TestReviewLive(t *testing.T) {
	h := newWorld(t, Live, `echo a >main.go; echo b >gone; echo c >Makefile`)
	h.write("main.go", "changed\n")
	h.write("new", "x\n")
	h.write("Makefile", "all:; evil\n")
	h.remove("gone")
	h.held(`mkdir .vscode; echo '{}' >.vscode/settings.json`)
	other, err := Open(h.state, h.ID)
	must(t, err)
	running, err := other.Review()
	must(t, err)
	if len(running.Notes) == 0 || !strings.Contains(running.Notes[0], "still runs") {
		t.Errorf("notes: %q", running.Notes)
	}
	h.end()
	want := `unasked added waits .vscode/settings.json
asked changed live Makefile
source added waits .vscode
source deleted live gone
source changed live main.go
source added live new
`
	if diff := cmp.Diff(want, lines(h.review())); diff != "" {
		t.Error(diff)
	}
}

// TestGitDirectoryAsTree: the git directory of a linked worktree is a tree itself.
func TestGitDirectoryAsTree(t *testing.T) {
	h := newWorld(t, Live, project+`; git worktree add -q ../linked`)
	h.Trees[0].Path, h.Trees[0].Prefix = h.root+"/.git", ".git"
	h.held(`echo x >hooks/pre-commit; git --git-dir=. config user.name x; ln -s ../a worktrees/linked/link; echo 1 >ORIG_HEAD; echo y >worktrees/linked/config.worktree`)
	ranks(t, h.review(), map[string]hostexec.Rank{
		"hooks/pre-commit": hostexec.Unasked, "config": hostexec.Source, "worktrees/linked/link": hostexec.Unasked,
		"ORIG_HEAD": hostexec.Source, "worktrees/linked/config.worktree": hostexec.Unasked,
	})
	out, err := h.Settle(nil)
	must(t, err)
	if diff := cmp.Diff("applied ORIG_HEAD\napplied config\n", results(out)); diff != "" {
		t.Error(diff)
	}
}

func TestPatchIsOne(t *testing.T) {
	h := newWorld(t, Review, `git init -q .; printf 'a\nb\n' >text; echo gone >gone; printf 'same\n' >moved; echo x >run; ln -s text link; printf 'q\n' >'q"uote'
		git add .; git commit -qm x`)
	h.held(`printf 'a\nB\n' >text; rm gone; mv moved there; chmod +x run; ln -sf run link; echo n >"$(printf 'tab\there')"; echo z >>'q"uote'; printf '\0\1' >binary; mkdir dir`)
	h.end()
	r := h.review()
	var patch bytes.Buffer
	must(t, r.Patch(&patch))
	for _, line := range []string{"Binary files /dev/null and b/binary differ", "rename from moved", "old mode 100644\nnew mode 100755", "+B", `"b/tab\there"`, "dir: was nothing, is directory with mode 0755"} {
		if !strings.Contains(patch.String(), line) {
			t.Errorf("%q is not in the patch:\n%s", line, patch.String())
		}
	}
	// Without the binary, git takes it.
	text := strings.ReplaceAll(patch.String(), "diff --git a/binary b/binary\nnew file mode 100644\nBinary files /dev/null and b/binary differ\n", "")
	cmd := exec.Command("git", "apply", "--index", "-")
	cmd.Dir, cmd.Stdin = h.root, strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git apply: %v: %s\n%s", err, out, text)
	}
	if h.read("text") != "a\nB\n" || h.exists("gone") || !h.exists("tab\there") || h.read("q\"uote") != "q\nz\n" {
		t.Error("git applied something else")
	}
}

func TestJSONIsLossless(t *testing.T) {
	h := newWorld(t, Review, ``)
	names := []string{"plain", "esc\x1b[31m", "bytes\xff\xfe", "line\nbreak", "bidi\u202e", `"quoted"`, "ünïcode", "\ufffd"}
	for _, name := range names {
		must(t, os.WriteFile(filepath.Join(h.Upper(0), name), []byte("x"), 0o644))
	}
	must(t, os.Symlink("to\xff", filepath.Join(h.Upper(0), "link")))
	h.end()
	b, err := h.review().JSON()
	must(t, err)
	for _, c := range b {
		if c < ' ' && c != '\n' || c == 0x7f {
			t.Fatalf("a control character in %q", b)
		}
	}
	var got reportJSON
	must(t, json.Unmarshal(b, &got))
	have := map[string]bool{}
	for _, e := range got.Entries {
		name := e.Path
		if e.PathBytes != nil {
			name = string(e.PathBytes)
		}
		have[name] = true
		if name == "link" && string(e.New.LinkBytes) != "to\xff" {
			t.Errorf("link: %+v", e.New)
		}
	}
	for _, name := range names {
		if !have[name] {
			t.Errorf("%q is not in %v", name, have)
		}
	}
}

// A bounded report has what runs on the host before all else, and says how much it lacks.
func TestListsBounded(t *testing.T) {
	h := newWorld(t, Review, ``)
	for _, name := range []string{"a", "b", "c", ".envrc"} {
		must(t, os.WriteFile(filepath.Join(h.Upper(0), name), []byte("x"), 0o644))
	}
	h.end()
	for most, more := range map[int]int{2: 2, 4: 0} {
		got := h.review().Lists(most)
		if len(got.Waiting) != 4-more || len(got.Changes) != 0 || got.More != more || got.Waiting[0].Path != ".envrc" {
			t.Errorf("with at most %d: %+v", most, got)
		}
	}
}

// TestBesideHead: a HEAD is enough to make what git reads beside it count, be the HEAD
// the host's or new.
func TestBesideHead(t *testing.T) {
	h := newWorld(t, Review, `mkdir docs dir dir/HEAD many plain; echo 'ref: refs/heads/main' >docs/HEAD; echo x >many/HEAD`)
	h.held(`echo ../evil >docs/commondir; mkdir docs/hooks docs/info docs/objects docs/sub; echo x >docs/hooks/post-checkout; echo x >docs/info/attributes
		echo x >docs/config.worktree; echo x >docs/readme; echo x >docs/objects/x; ln -s readme docs/link; echo x >docs/sub/config
		echo x >dir/commondir; echo x >plain/commondir; mkdir new; echo x >new/HEAD; echo x >new/config
		d=many; for i in 1 2 3 4 5 6 7 8 9 10 11 12; do d=$d/n; mkdir $d; echo x >$d/HEAD; done; echo x >$d/config
		echo x >many/readme; ln -s readme many/link`)
	h.end()
	r := h.review()
	ranks(t, r, map[string]hostexec.Rank{
		"docs/commondir": hostexec.Unasked, "docs/hooks/post-checkout": hostexec.Unasked, "docs/info/attributes": hostexec.Unasked,
		"docs/config.worktree": hostexec.Unasked, "new/config": hostexec.Unasked, "many" + strings.Repeat("/n", 12) + "/config": hostexec.Unasked,
		"docs/readme": hostexec.Unasked, "docs/link": hostexec.Unasked, "docs/sub/config": hostexec.Unasked, "docs/hooks": hostexec.Source,
		"docs/objects/x": hostexec.Unasked, "many/readme": hostexec.Source, "many/link": hostexec.Source, "dir/commondir": hostexec.Source, "plain/commondir": hostexec.Source,
	})
	for path, text := range map[string]string{"docs/commondir": "leads git to other configuration", "many/readme": ""} {
		if e := find(t, r, path); !strings.Contains(e.Text, text) || text == "" && e.Text != "" {
			t.Errorf("%s: %q, want %q", path, e.Text, text)
		}
	}
}

// TestReviewDeep: what a session moved so deep that one system call does not take its
// path hides nothing, and comes back.
func TestReviewDeep(t *testing.T) {
	h := newWorld(t, Live, `mkdir -p src/library; echo old >src/library/main.c; echo all: >Makefile`)
	h.write("src/library/main.c", "EVIL\n")
	h.write("Makefile", "all:; evil\n")
	deep := h.sink("src")
	h.end()
	r := h.review()
	ranks(t, r, map[string]hostexec.Rank{"Makefile": hostexec.Asked, deep + "/src": hostexec.Source, deep + "/src/library/main.c": hostexec.Source})
	if e := find(t, r, deep+"/src/library/main.c"); e.From != "src/library/main.c" || e.New.Size != 5 || len(r.Lost) > 0 {
		t.Errorf("%+v, lost %q", e, r.Lost)
	}
	out, err := h.UndoAll(nil, false)
	must(t, err)
	for _, o := range out {
		if o.Failed() {
			t.Errorf("%+v", o)
		}
	}
	if h.read("src/library/main.c") != "old\n" || h.read("Makefile") != "all:\n" || h.exists(deep[:strings.IndexByte(deep, '/')]) {
		t.Error("the project is not as before")
	}
}

// sink moves an entry of the project below directories of nearly 4096 bytes.
func (h *world) sink(name string) string {
	h.t.Helper()
	top, err := unix.Open(h.root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	must(h.t, err)
	defer unix.Close(top)
	at, rel := top, ""
	for range 20 {
		step := strings.Repeat("k", 202)
		rel = strings.TrimPrefix(rel+"/"+step, "/")
		must(h.t, h.store.Created(0, rel, true))
		must(h.t, unix.Mkdirat(at, step, 0o755))
		next, err := unix.Openat(at, step, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		must(h.t, err)
		defer unix.Close(next)
		at = next
	}
	must(h.t, h.store.Renamed(0, name, 0, rel+"/"+name, true))
	must(h.t, unix.Renameat(top, name, at, name))
	return rel
}

// TestReviewGoesOn: what is wrong with one tree is said, and all of the others is in
// the report.
func TestReviewGoesOn(t *testing.T) {
	h := newWorld(t, Live, `echo a >main.go; echo c >Makefile`)
	h.write("main.go", "changed\n")
	h.write("Makefile", "all:; evil\n")
	h.held(`mkdir .vscode; echo '{}' >.vscode/settings.json`)
	h.end()
	for _, where := range []string{"layer", "store"} {
		broken := h.Upper(0)
		want := []string{"asked changed live Makefile", "source changed live main.go"}
		if where == "store" {
			broken, want = h.Undo(), []string{"unasked added waits .vscode/settings.json"}
		}
		must(t, os.Rename(broken, broken+"~"))
		must(t, os.WriteFile(broken, nil, 0o600))
		r, err := h.Review()
		if err == nil {
			t.Errorf("%s: it is not said", where)
		}
		for _, line := range want {
			if !strings.Contains(lines(r), line) {
				t.Errorf("%s: %q is not in\n%s", where, line, lines(r))
			}
		}
		must(t, os.Remove(broken))
		must(t, os.Rename(broken+"~", broken))
	}
}
