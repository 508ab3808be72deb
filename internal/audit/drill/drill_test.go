package drill

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func TestMain(m *testing.M) {
	if slices.Equal(os.Args[1:], []string{"drill", Arg}) {
		if err := Main(os.Stdin, os.Stdout, false); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// ordinary reports whether the test may go on. What is played outside is never played
// as root: there a child plays the test as an ordinary user.
func ordinary(t *testing.T) bool {
	t.Helper()
	if os.Geteuid() != 0 {
		return true
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Dir, cmd.Env = "/", []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "TMPDIR=/tmp"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 1711, Gid: 1711}, Pdeathsig: syscall.SIGKILL}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("as an ordinary user: %v\n%s", err, out)
	}
	return false
}

// noWalls is a launch without a sandbox: whatever is tried works.
func noWalls(ctx context.Context, job Job) (*Seen, error) {
	seen := &Seen{Promise: Promise{View: "live", Written: []string{"~"}, Open: func(string, uint16) (string, bool) { return "anything goes", true }}}
	seen.Undo = func() ([]string, error) { return nil, nil }
	stdin, err := job.Ready(seen.Promise)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, job.Argv[0], job.Argv[1:]...)
	// The last HOME counts: this one is the scene's own.
	cmd.Env, cmd.Dir, cmd.Stdin, cmd.Stderr = append(job.Environ, "HOME="+filepath.Join(filepath.Dir(job.Workspace), "home")), job.Workspace, bytes.NewReader(stdin), os.Stderr
	seen.Stdout, err = cmd.Output()
	return seen, err
}

// Where there are no walls, every step of every drill must say so. Else the drill
// would be content with anything.
func TestWithoutWallsEveryStepIsOpen(t *testing.T) {
	if !ordinary(t) {
		return
	}
	for _, d := range All() {
		t.Run(d.Name, func(t *testing.T) {
			state, home := t.TempDir(), t.TempDir()
			r, err := Run(t.Context(), Config{Self: "/proc/self/exe", Home: home, State: state, Environ: os.Environ(), Launch: noWalls}, d)
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range r.Rows {
				homeless := d.Name == "docx-exfil" && row.N == 3 // the real home is not the one that is shown here
				if row.Result != Open && !homeless {
					t.Errorf("step %d, %s: %s: %s", row.N, row.Tried, row.Result, row.Happened)
				}
			}
			if r.Held {
				t.Error("held")
			}
			left, err := os.ReadDir(state)
			if err != nil || len(left) > 0 {
				t.Errorf("left in the state directory: %v %v", left, err)
			}
			checkTable(t, r)
		})
	}
}

func checkTable(t *testing.T, r Report) {
	t.Helper()
	var b bytes.Buffer
	if err := r.Table(&b); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

// A drill that is started where GIT_DIR leads to a repository leaves that alone.
func TestUsersRepositoryIsLeftAlone(t *testing.T) {
	if !ordinary(t) {
		return
	}
	own := t.TempDir()
	s := &scene{work: own, home: own, room: filepath.Dir(own)}
	if err := s.repository(t.Context()); err != nil {
		t.Fatal(err)
	}
	before, err := s.snapshot(".")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GIT_DIR", filepath.Join(own, ".git"))
	t.Setenv("GIT_INDEX_FILE", filepath.Join(own, ".git/index"))
	bare := func(ctx context.Context, job Job) (*Seen, error) {
		job.Environ = []string{"PATH=" + os.Getenv("PATH")}
		return noWalls(ctx, job)
	}
	if _, err := Run(t.Context(), Config{Self: "/proc/self/exe", Home: own, State: t.TempDir(), Environ: os.Environ(), Launch: bare}, hookPlant()); err != nil {
		t.Fatal(err)
	}
	after, err := s.snapshot(".")
	if err != nil {
		t.Fatal(err)
	}
	if p, differs := differ(before, after); differs {
		t.Errorf("%s of the user's repository has changed", p)
	}
}

func TestTableFitsAndIsInert(t *testing.T) {
	long := strings.Repeat("a/very/long/path", 20)
	r := Report{Drill: "x", Title: strings.Repeat("long title ", 20), Rows: []Row{{N: 14, Tried: long, Happened: "\x1b[2J\u202e " + long, Wall: "environ", Result: Unproved}}, Control: "control: none"}
	checkTable(t, r)
	var b bytes.Buffer
	if err := r.Table(&b); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(b.String(), "\x1b\u202e") {
		t.Errorf("not inert: %q", b.String())
	}
}

// What could reach further than the drill's own things is not played where it could.
func TestUnsafeIsNotPlayed(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	ns, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	keep := filepath.Join(home, "keep")
	if err := os.WriteFile(keep, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	wipe := Try{Wipes: true, Script: "echo played"}
	for _, c := range []struct {
		name      string
		play      Play
		sandboxed bool
		unsafe    bool
	}{
		{"wipe outside", Play{Home: Inode{1, 2}, Tries: []Try{wipe}}, false, true},
		{"wipe of the user's own", Play{Home: inode(home), Tries: []Try{wipe}}, true, true},
		{"wipe with no home known", Play{Tries: []Try{wipe}}, true, true},
		{"wipe of another home", Play{Home: Inode{1, 2}, Tries: []Try{wipe}}, true, false},
		{"name outside", Play{Net: "net:[1]", Tries: []Try{{Send: drop}}}, false, true},
		{"name on the host's network", Play{Net: ns, Tries: []Try{{Send: drop}}}, true, true},
		{"address on a network not known", Play{Tries: []Try{{Send: literal}}}, true, true},
		{"metadata outside", Play{Net: "net:[1]", Tries: []Try{{Send: metadata}}}, false, true},
		{"loopback by name", Play{Tries: []Try{{Send: "localhost:1"}}}, false, true},
		{"loopback", Play{Tries: []Try{{Send: "127.0.0.1:1"}}}, false, false},
	} {
		in, err := json.Marshal(c.play)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := Main(bytes.NewReader(in), &out, c.sandboxed); err != nil {
			t.Fatal(err)
		}
		a, err := decodeAnswers(out.Bytes(), 1)
		if err != nil {
			t.Fatal(err)
		}
		if (a[0].Unsafe != "") != c.unsafe {
			t.Errorf("%s: %+v", c.name, a[0])
		}
	}
	if _, err := os.Stat(keep); err != nil {
		t.Error(err)
	}
}

func TestDrillsAreWhole(t *testing.T) {
	seen := map[string]bool{}
	for _, d := range All() {
		if seen[d.Name] || Find(d.Name) == nil || d.Title == "" || len(d.steps) == 0 {
			t.Errorf("drill %q is not whole", d.Name)
		}
		seen[d.Name] = true
		for _, st := range d.steps {
			if st.tried == "" || st.judge == nil || len(st.wall) > wallWidth || st.wall == "" {
				t.Errorf("%s: step %q is not whole", d.Name, st.tried)
			}
			if st.try != nil && !st.alone && (st.try.Wipes || st.try.Send != "" && st.try.Send != listener) {
				t.Errorf("%s: step %q must not be played outside", d.Name, st.tried)
			}
		}
	}
}

// A search that overlooks what git keeps would be content with a commit.
func TestSpreadLooksIntoGit(t *testing.T) {
	if !ordinary(t) {
		return
	}
	dir := t.TempDir()
	s, err := newScene(envLeak(), filepath.Join(dir, "room"), filepath.Join(dir, "canary"), dir, "")
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	if p, name, err := s.spread(); p != "" || err != nil {
		t.Fatalf("before: %s %s %v", p, name, err)
	}
	if err := s.git(t.Context(), "add", "-f", ".env"); err != nil {
		t.Fatal(err)
	}
	if p, name, err := s.spread(); !strings.HasPrefix(p, ".git/objects/") || err != nil {
		t.Errorf("after: %s %s %v", p, name, err)
	}
}

func FuzzDecodeAnswers(f *testing.F) {
	f.Add([]byte(`[{"Status":1,"Output":"aGk="},{"Error":"no"}]`), 2)
	f.Add([]byte(`[{}] x`), 1)
	f.Add([]byte(`[{"Held":true}]`), 1)
	f.Add([]byte(`null`), 0)
	f.Fuzz(func(t *testing.T, b []byte, want int) {
		a, err := decodeAnswers(b, want)
		if err == nil && len(a) != want {
			t.Errorf("%d answers, want %d", len(a), want)
		}
		if err != nil && a != nil {
			t.Error("answers with an error")
		}
	})
}
