package verify

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"ringfence.dev/ringfence/internal/sandbox/native"
	"ringfence.dev/ringfence/internal/sandbox/probe"
)

func config(t *testing.T, launch Launch) Config {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	return Config{Self: exe, Home: home, State: filepath.Join(home, ".local/state/ringfence"), Environ: os.Environ(), Launch: launch,
		Rung: Rung{Leaves: map[string]string{"link": "there is none", "link-end": "there is none"}}}
}

// A rung that claims a link and has none does not hold what it claims.
func TestLinkThatIsNone(t *testing.T) {
	conf := config(t, func(ctx context.Context, job Job) (Seen, error) {
		if job.Link != nil {
			return Seen{}, errors.New("the rung has no link")
		}
		return perfect(func(map[string]probe.Result, *Seen) {})(ctx, job)
	})
	conf.Rung = Rung{}
	r, err := Run(t.Context(), conf)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range r.Rows {
		if slices.Contains(probe.LinkNames(), row.Name) && row.Result != Missing {
			t.Errorf("%d %s is %s: %s", row.N, row.Name, row.Result, row.Detail)
		}
	}
}

// bare runs the job without any sandbox.
func bare(ctx context.Context, job Job) (Seen, error) {
	var seen Seen
	var err error
	if seen.Outside, err = native.Look(os.Getpid()); err != nil {
		return Seen{}, err
	}
	if job.Gate != nil {
		if job.Stdin, err = job.Gate.Ready("nobody", func() {}); err != nil {
			return Seen{}, err
		}
	}
	cmd := exec.CommandContext(ctx, job.Argv[0], job.Argv[1:]...)
	var out bytes.Buffer
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = job.Env, job.Workspace, &out, os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return Seen{}, err
	}
	if err := cmd.Start(); err != nil {
		return Seen{}, err
	}
	if job.Running != nil {
		job.Running()
	}
	in.Write(job.Stdin)
	in.Close()
	err = cmd.Wait()
	if seen.Stdout = out.Bytes(); err == nil && job.Ended != nil {
		job.Ended(Left{Undo: func() ([]string, error) { return nil, nil }}) // nobody knows of anything to undo
	}
	return seen, err
}

// perfect answers as a sandbox would in which everything holds, with the changes
// that a test makes.
func perfect(change func(answer map[string]probe.Result, seen *Seen)) Launch {
	return func(ctx context.Context, job Job) (Seen, error) {
		names, work := probe.Names(), writeProof
		if job.Gate != nil {
			names, work = probe.NetNames(), passGate
		}
		if err := work(ctx, job); err != nil {
			return Seen{}, err
		}
		if job.Running != nil {
			job.Running() // nobody runs, and so none of this kernel's
		}
		answer := map[string]probe.Result{}
		for _, n := range names {
			answer[n] = probe.Result{Name: n, Detail: "fine"}
		}
		seen := Seen{Outside: map[string]string{"root": "tmpfs", "status.NoNewPrivs": "1", "status.Seccomp": "2"},
			Place: map[string]string{"machine.ns.net": "1", "machine.nic": "none", "machine.net": "lo", "machine.tried": job.Workspace, "machine.share": "read-only"}}
		for _, k := range probe.Kinds() {
			n, err := probe.Namespace("self", k)
			if err != nil {
				return Seen{}, err
			}
			seen.Outside["ns."+k] = strconv.FormatUint(n+1, 10)
		}
		for _, set := range statuses["caps"] {
			seen.Outside["status."+set] = noCaps
		}
		if job.Ended != nil {
			job.Ended(Left{Undo: func() ([]string, error) { return []string{filepath.Join(probe.Undone, probe.UndoBoth)}, bringBack(job) }})
		}
		change(answer, &seen)
		var a probe.Answer
		for _, r := range answer {
			if slices.Contains(names, r.Name) {
				a.Results = append(a.Results, r)
			}
		}
		var err error
		seen.Stdout, err = json.Marshal(a)
		return seen, err
	}
}

// ours is the number of a namespace of this process.
func ours(t *testing.T, kind string) string {
	n, err := probe.Namespace("self", kind)
	if err != nil {
		t.Error(err)
	}
	return strconv.FormatUint(n, 10)
}

func writeProof(_ context.Context, job Job) error {
	target, err := probe.DecodeTarget(bytes.NewReader(job.Stdin))
	if err != nil {
		return err
	}
	return errors.Join(probe.Change(filepath.Join(job.Workspace, probe.Undone)),
		os.WriteFile(filepath.Join(string(target.Workspace), target.Proof), []byte(target.Canary), 0o600))
}

// bringBack is an undo of writeProof that is as it should be.
func bringBack(job Job) error {
	dir := filepath.Join(job.Workspace, probe.Undone)
	parent, err := os.ReadFile(filepath.Join(job.Workspace, probe.UndoHead)) // the other repository is its twin
	err = errors.Join(err, os.WriteFile(filepath.Join(dir, probe.UndoHead), parent, 0o600),
		os.Rename(filepath.Join(dir, probe.UndoMovedTo), filepath.Join(dir, probe.UndoMoved)))
	for _, name := range []string{probe.UndoChanged, probe.UndoDeleted} {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), []byte(textOf(name)), 0o600))
	}
	for _, name := range []string{probe.UndoCreated, probe.UndoBelow, probe.UndoBranch} {
		err = errors.Join(err, os.Remove(filepath.Join(dir, name)))
	}
	return err
}

func missing(r Report) []string { return named(r, Missing) }

func named(r Report, v Verdict) []string {
	var out []string
	for _, row := range r.Rows {
		if row.Result == v {
			out = append(out, row.Name)
		}
	}
	return out
}

// Every control must reach its canary, and without a sandbox nothing may hold.
func TestNothingHoldsWithoutSandbox(t *testing.T) {
	r, err := Run(t.Context(), config(t, bare))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Rows) != len(Checks()) {
		t.Fatalf("%d rows of %d", len(r.Rows), len(Checks()))
	}
	for _, row := range r.Rows {
		if slices.Contains(probe.LinkNames(), row.Name) {
			continue
		}
		if !strings.HasPrefix(row.Control, "open: ") {
			t.Errorf("%d %s: control %s", row.N, row.Name, row.Control)
		}
		if row.Result != Missing {
			t.Errorf("%d %s is %s without a sandbox: %s", row.N, row.Name, row.Result, row.Detail)
		}
		t.Logf("%2d %-12s %s", row.N, row.Name, row.Detail)
	}
}

func TestEachRowStandsAlone(t *testing.T) {
	for name, test := range map[string]struct {
		change func(answer map[string]probe.Result, seen *Seen)
		want   []string
	}{
		"all held":       {func(map[string]probe.Result, *Seen) {}, nil},
		"one open":       {func(a map[string]probe.Result, _ *Seen) { a["tmp"] = probe.Result{Name: "tmp", Open: true} }, []string{"tmp"}},
		"one silent":     {func(a map[string]probe.Result, _ *Seen) { delete(a, "caps") }, []string{"caps"}},
		"same namespace": {func(_ map[string]probe.Result, s *Seen) { s.Outside["ns.net"] = ours(t, "net") }, []string{"net", "loopback", "udp"}},
		"same namespace on another kernel": {func(_ map[string]probe.Result, s *Seen) {
			s.Outside["ns.net"], s.Outside[probe.LookerNS+"net"] = "7", "7"
		}, []string{"net", "loopback", "udp"}},
		"another one with the number of ours": {func(_ map[string]probe.Result, s *Seen) {
			s.Outside["ns.net"], s.Outside[probe.LookerNS+"net"] = ours(t, "net"), "7"
		}, nil},
		"a card":         {func(_ map[string]probe.Result, s *Seen) { s.Place["machine.nic"] = "virtio-net" }, []string{"nic"}},
		"a share":        {func(_ map[string]probe.Result, s *Seen) { s.Place["machine.share"] = "written" }, []string{"share"}},
		"no filter":      {func(_ map[string]probe.Result, s *Seen) { s.Outside["status.Seccomp"] = "0" }, []string{"seccomp", "raw"}},
		"a capability":   {func(_ map[string]probe.Result, s *Seen) { s.Outside["status.CapBnd"] = "0000000000000400" }, []string{"caps"}},
		"root of a disk": {func(_ map[string]probe.Result, s *Seen) { s.Outside["root"] = "ef53" }, []string{"view"}},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := Run(t.Context(), config(t, perfect(test.change)))
			if err != nil {
				t.Fatal(err)
			}
			if got := missing(r); !slices.Equal(got, test.want) {
				t.Errorf("missing %q, want %q", got, test.want)
			}
		})
	}
}

// What nobody outside saw is held partly, and never more.
func TestUnseenIsPartly(t *testing.T) {
	for name, test := range map[string]struct {
		key  string
		want []string
	}{
		"namespace": {"ns.user", []string{"entered"}},
		"status":    {"status.", []string{"no-new-privs", "caps", "seccomp", "raw", "routes", "rules"}},
		"root":      {"root", []string{"view"}},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := Run(t.Context(), config(t, perfect(func(_ map[string]probe.Result, s *Seen) {
				maps.DeleteFunc(s.Outside, func(k, _ string) bool { return strings.HasPrefix(k, test.key) })
			})))
			if err != nil {
				t.Fatal(err)
			}
			if got := named(r, Partly); !slices.Equal(got, test.want) || r.Count(Missing) > 0 {
				t.Errorf("partly %q, want %q; missing %q", got, test.want, missing(r))
			}
		})
	}
}

// A rung that says what it likes of itself, and excuses every check, makes nothing out of
// what is missing.
func TestRungThatLies(t *testing.T) {
	lies := Rung{Name: "lies", Witness: "nobody", Weaker: map[string]string{}, Leaves: map[string]string{}}
	for _, c := range Checks() {
		lies.Weaker[c.Name] = "something as good"
		lies.Leaves[c.Name] = "no affair of this rung's"
	}
	conf := config(t, func(ctx context.Context, job Job) (Seen, error) {
		good, err := perfect(func(map[string]probe.Result, *Seen) {})(ctx, job)
		if err != nil {
			return good, err
		}
		seen, err := bare(ctx, job)
		seen.Outside = good.Outside
		return seen, err
	})
	conf.Rung = lies
	r, err := Run(t.Context(), conf)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range Checks() {
		want := Missing
		if c.Some {
			want = NotApplied
		}
		if row := r.Rows[i]; row.Name != c.Name || row.Result != want {
			t.Errorf("%d %s is %s: %s", row.N, row.Name, row.Result, row.Detail)
		}
	}
}

// A process of the host's kernel that says it has another is seen, and where nobody
// looked its word is not enough.
func TestOtherKernelIsSeen(t *testing.T) {
	for name, test := range map[string]struct {
		launch Launch
		want   Verdict
	}{
		"lies": {func(ctx context.Context, job Job) (Seen, error) {
			seen, err := bare(ctx, job)
			seen.Stdout = bytes.Replace(seen.Stdout, []byte(`{"name":"kernel","open":true`), []byte(`{"name":"kernel","open":false`), 1)
			return seen, err
		}, Missing},
		"unseen": {func(ctx context.Context, job Job) (Seen, error) {
			job.Running = nil
			return perfect(func(map[string]probe.Result, *Seen) {})(ctx, job)
		}, Partly},
		"held": {perfect(func(map[string]probe.Result, *Seen) {}), Held},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := Run(t.Context(), config(t, test.launch))
			if err != nil {
				t.Fatal(err)
			}
			if row := r.Rows[66]; row.Name != "kernel" || row.Result != test.want || row.Result == Missing && !strings.HasPrefix(row.Detail, "seen from outside") {
				t.Errorf("%s is %s: %s", row.Name, row.Result, row.Detail)
			}
		})
	}
}

// Where every change waits, one that is on the host all the same is missing.
func TestReviewThatDoesNotWait(t *testing.T) {
	conf := config(t, perfect(func(map[string]probe.Result, *Seen) {}))
	conf.Rung.Review = true
	r, err := Run(t.Context(), conf)
	if err != nil {
		t.Fatal(err)
	}
	if got := missing(r); !slices.Equal(got, []string{"workspace", "undo"}) {
		t.Errorf("missing %q", got)
	}
}

// A rung lowers what it holds by something weaker.
func TestWeakerIsPartly(t *testing.T) {
	conf := config(t, perfect(func(map[string]probe.Result, *Seen) {}))
	conf.Rung.Weaker = map[string]string{"keyring": "there are no keyrings"}
	r, err := Run(t.Context(), conf)
	if err != nil {
		t.Fatal(err)
	}
	if got := named(r, Partly); !slices.Equal(got, []string{"keyring"}) {
		t.Errorf("partly %q", got)
	}
}

// A witness contradicts an answer that says all is well.
func TestWitnessContradicts(t *testing.T) {
	launch := func(ctx context.Context, job Job) (Seen, error) {
		seen, err := perfect(func(map[string]probe.Result, *Seen) {})(ctx, job)
		if err != nil || job.Gate != nil {
			return seen, err
		}
		ended := job.Ended
		job.Ended = func(left Left) {
			if err := os.Remove(filepath.Join(job.Workspace, mustProof(job))); err != nil {
				t.Error(err)
			}
			ended(left)
		}
		if out, err := bare(ctx, job); err != nil { // reaches all sockets
			return out, err
		}
		return seen, nil
	}
	r, err := Run(t.Context(), config(t, launch))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := missing(r), []string{"loopback", "abstract", "sockets", "workspace", "held", "git", "undo", "kernel"}; !slices.Equal(got, want) {
		t.Errorf("missing %q, want %q", got, want)
	}
}

// An undo that loses something, or says less or more than it left alone, is seen; so is
// the end of a session that nobody showed.
func TestUndoIsCompared(t *testing.T) {
	both := filepath.Join(probe.Undone, probe.UndoBoth)
	in := func(job Job, name string) string { return filepath.Join(job.Workspace, probe.Undone, name) }
	for name, test := range map[string]struct {
		spoil func(job Job) error
		left  []string
		want  string
	}{
		"nothing":            {func(Job) error { return nil }, []string{both}, ""},
		"no word of it":      {func(Job) error { return nil }, nil, "undo left alone"},
		"more is left":       {func(Job) error { return nil }, []string{both, "x"}, "undo left alone"},
		"a failure":          {func(Job) error { return errors.New("no") }, []string{both}, "undo: no"},
		"the host's branch":  {func(j Job) error { return os.Remove(in(j, hostRef)) }, []string{both}, "lost: " + hostRef},
		"the host's change":  {func(j Job) error { return os.WriteFile(in(j, probe.UndoBoth), nil, 0o600) }, []string{both}, "lost: " + probe.UndoBoth},
		"the objects":        {func(j Job) error { return os.RemoveAll(in(j, ".git/objects")) }, []string{both}, "lost: .git/objects/"},
		"a file":             {func(j Job) error { return os.Remove(in(j, probe.UndoDeleted)) }, []string{both}, "lost: " + probe.UndoDeleted},
		"something is there": {func(j Job) error { return os.WriteFile(in(j, probe.UndoCreated), nil, 0o600) }, []string{both}, "still there"},
	} {
		t.Run(name, func(t *testing.T) {
			launch := perfect(func(map[string]probe.Result, *Seen) {})
			r, err := Run(t.Context(), config(t, func(ctx context.Context, job Job) (Seen, error) {
				if ended := job.Ended; ended != nil {
					job.Ended = func(left Left) {
						ended(Left{Undo: func() ([]string, error) {
							_, err := left.Undo()
							return test.left, errors.Join(err, test.spoil(job))
						}})
					}
				}
				return launch(ctx, job)
			}))
			if err != nil {
				t.Fatal(err)
			}
			row := r.Rows[65]
			if row.Name != "undo" || (row.Result == Held) != (test.want == "") || !strings.Contains(row.Witness, test.want) || r.Count(Missing) > 1 {
				t.Errorf("%d missing, %+v", r.Count(Missing), row)
			}
		})
	}
}

func TestEndMustBeShown(t *testing.T) {
	launch := perfect(func(map[string]probe.Result, *Seen) {})
	r, err := Run(t.Context(), config(t, func(ctx context.Context, job Job) (Seen, error) {
		job.Ended = nil
		return launch(ctx, job)
	}))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := missing(r), []string{"workspace", "held", "git", "undo"}; !slices.Equal(got, want) {
		t.Errorf("missing %q, want %q", got, want)
	}
}

// Each file of the attack on git is seen by itself, without git.
func TestEachAttackOnGitIsSeen(t *testing.T) {
	p := &plant{workspace: t.TempDir(), tmp: t.TempDir(), id: "x"}
	for _, path := range []string{".git/objects/cc/config", ".git/objects/gg/HEAD", "sub/.git", ".git/logs/lnk", ".git/worktrees/x/commondir",
		".git/hooks/post-checkout", ".git/config", ".git/index", ".git/objects/ab/" + strings.Repeat("g", 38)} {
		if err := p.trees(); err != nil {
			t.Fatal(err)
		}
		if got := p.strange(); len(got) > 0 {
			t.Fatalf("strange before: %q", got)
		}
		name := filepath.Join(p.workspace, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte("x"), 0o600)); err != nil {
			t.Fatal(err)
		}
		if got := p.strange(); !slices.Equal(got, []string{path}) {
			t.Errorf("strange %q, want %q", got, path)
		}
	}
	// A link where an object could be is none.
	link := filepath.Join(p.workspace, ".git/objects/ab", strings.Repeat("0", 38))
	if err := errors.Join(p.trees(), os.MkdirAll(filepath.Dir(link), 0o700), os.Symlink("/", link)); err != nil {
		t.Fatal(err)
	}
	if got := p.strange(); len(got) != 1 {
		t.Errorf("strange %q", got)
	}
}

func mustProof(job Job) string {
	target, err := probe.DecodeTarget(bytes.NewReader(job.Stdin))
	if err != nil {
		panic(err)
	}
	return target.Proof
}

func TestLaunchFailureHoldsNothing(t *testing.T) {
	cause := errors.New("no \x1b[31mwalls")
	r, err := Run(t.Context(), config(t, func(context.Context, Job) (Seen, error) { return Seen{}, cause }))
	if !errors.Is(err, cause) {
		t.Errorf("error %v", err)
	}
	if got := r.Count(Missing); got != len(Checks())-len(probe.LinkNames()) {
		t.Errorf("%d rows are missing", got)
	}
	var b bytes.Buffer
	if err := r.Table(&b); err != nil || strings.Contains(b.String(), "\x1b") {
		t.Errorf("table %q, %v", b.String(), err)
	}
}

// What policy lets in is not held, and not missing either.
func TestAllowedByPolicy(t *testing.T) {
	c := config(t, perfect(func(map[string]probe.Result, *Seen) {}))
	c.Shown = []string{filepath.Join(c.Home, ".config/gh/hosts.yml"), filepath.Join(c.Home, "notes")}
	c.Passed = []string{"GITHUB_TOKEN", "EDITOR"}
	var target *probe.Target
	launch := c.Launch
	c.Launch = func(ctx context.Context, job Job) (seen Seen, err error) {
		if job.Gate != nil {
			return launch(ctx, job)
		}
		if target, err = probe.DecodeTarget(bytes.NewReader(job.Stdin)); err != nil {
			return Seen{}, err
		}
		return launch(ctx, job)
	}
	r, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	var waived []string
	for _, row := range r.Rows {
		if row.Result == Waived {
			waived = append(waived, row.Name)
		}
	}
	if !slices.Equal(waived, []string{"home", "env-names"}) || r.Count(Missing) > 0 {
		t.Errorf("waived %q, %d missing", waived, r.Count(Missing))
	}
	if slices.Contains(target.Names, "GITHUB_TOKEN") || slices.Contains(target.Places["home"].Files, probe.Path(filepath.Join(c.Home, ".config/gh"))) {
		t.Errorf("looked for what policy lets in: %q, %q", target.Names, target.Places["home"].Files)
	}
}

func TestControlThatCannotFail(t *testing.T) {
	closed := map[string]probe.Result{}
	for _, n := range slices.Concat(probe.Names(), probe.NetNames(), probe.LinkNames()) {
		closed[n] = probe.Result{Name: n, Detail: "nothing there"}
	}
	same := battery{control: closed, inside: closed}
	p := &plant{}
	var err error
	if p.world, err = newWorld(p); err != nil {
		t.Fatal(err)
	}
	defer p.remove()
	j := judge{plant: p, host: same, net: same}
	for _, row := range j.report().Rows {
		if row.Result != Missing || !strings.HasPrefix(row.Detail, "control failed: ") {
			t.Errorf("%s is %s: %s", row.Name, row.Result, row.Detail)
		}
	}
}

func TestJobIsWhatACarelessLauncherGives(t *testing.T) {
	var job Job
	_, err := Run(t.Context(), config(t, func(_ context.Context, j Job) (Seen, error) {
		if j.Gate != nil {
			return Seen{}, errors.ErrUnsupported
		}
		job = j
		for _, f := range j.ExtraFDs {
			if _, err := f.Stat(); err != nil {
				return Seen{}, err
			}
		}
		if strings.Contains(string(j.Stdin), probe.Mark) {
			return Seen{}, errors.New("the target holds the canary")
		}
		return Seen{}, errors.ErrUnsupported
	}))
	if !errors.Is(err, errors.ErrUnsupported) {
		t.Fatal(err)
	}
	if len(job.ExtraFDs) != 2 || !strings.Contains(strings.Join(job.Env, "\n"), probe.Mark) {
		t.Errorf("job %+v", job)
	}
}

// planted lists the canaries of a job by what its target says.
func planted(t *testing.T, job Job) []string {
	t.Helper()
	target, err := probe.DecodeTarget(bytes.NewReader(job.Stdin))
	if err != nil {
		t.Fatal(err)
	}
	out := []string{string(target.Workspace), string(target.Sibling), string(target.Places["runtime"].Files[0])}
	for _, p := range target.PrivateTmp {
		out = append(out, string(p))
	}
	for _, place := range target.Places {
		for _, s := range place.Sockets {
			out = append(out, string(s))
		}
	}
	return out
}

func TestLeavesNothing(t *testing.T) {
	var left []string
	look := func(job Job) {
		if job.Gate != nil {
			return
		}
		left = append(left, planted(t, job)...)
		for _, p := range left[len(left)-len(planted(t, job)):] {
			if _, err := os.Lstat(p); err != nil {
				t.Error(err)
			}
		}
	}
	c := config(t, func(ctx context.Context, job Job) (Seen, error) { look(job); return bare(ctx, job) })
	if _, err := Run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	c.Launch = func(ctx context.Context, job Job) (Seen, error) {
		look(job)
		cancel()
		<-ctx.Done()
		return Seen{}, ctx.Err()
	}
	if _, err := Run(ctx, c); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	for _, p := range left {
		if _, err := os.Lstat(filepath.Dir(p)); err == nil {
			t.Errorf("left behind: %q", filepath.Dir(p))
		}
	}
	if left, err := os.ReadDir(c.Home); err != nil || len(left) > 0 {
		t.Errorf("left in HOME: %v, %v", left, err)
	}
}

const interruptedEnv = "RINGFENCE_VERIFY_INTERRUPTED"

// runUntilInterrupted is the child of the test below.
func runUntilInterrupted() int {
	home := os.Getenv(interruptedEnv)
	exe, err := os.Executable()
	if err != nil {
		return 3
	}
	os.Unsetenv(interruptedEnv)
	_, err = Run(context.Background(), Config{Self: exe, Home: home, State: filepath.Join(home, "state"), Environ: os.Environ(),
		Launch: func(ctx context.Context, job Job) (Seen, error) {
			if job.Gate == nil {
				fmt.Println(job.Workspace)
			}
			<-ctx.Done()
			return Seen{}, ctx.Err()
		}})
	if err == nil || !strings.Contains(err.Error(), "interrupted") {
		return 4
	}
	return 0
}

func TestSignalLeavesNothing(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		home := t.TempDir()
		exe, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(exe)
		cmd.Env = append(os.Environ(), interruptedEnv+"="+home)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		workspace, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(strings.TrimSpace(workspace)); err != nil {
			t.Error(err)
		}
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v", sig, err)
		}
		if left, err := os.ReadDir(home); err != nil || len(left) > 0 {
			t.Errorf("%s: left in HOME: %v, %v", sig, left, err)
		}
	}
}

func TestSweepsAfterAKill(t *testing.T) {
	base := t.TempDir()
	var p plant
	held, err := p.private(base)
	if err != nil {
		t.Fatal(err)
	}
	defer p.remove()
	stale, fresh, other := filepath.Join(base, prefix+"stale"), filepath.Join(base, prefix+"fresh"), filepath.Join(base, "other")
	for _, d := range []string{stale, fresh, other} {
		if err := os.MkdirAll(filepath.Join(d, "secrets"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []string{held, stale, other} {
		old := syscall.Timeval{Sec: 1}
		if err := syscall.Utimes(d, []syscall.Timeval{old, old}); err != nil {
			t.Fatal(err)
		}
	}
	sweep(base)
	for dir, want := range map[string]bool{held: true, stale: false, fresh: true, other: true} {
		if _, err := os.Stat(dir); (err == nil) != want {
			t.Errorf("%s: %v", filepath.Base(dir), err)
		}
	}
}

// TestWordIsPartly: where another machine speaks for its walls, nothing is held but what is
// decided on this one, and its word makes nothing out of missing.
func TestWordIsPartly(t *testing.T) {
	conf := config(t, perfect(func(answers map[string]probe.Result, _ *Seen) {
		if _, ok := answers["ipc"]; ok {
			answers["ipc"] = probe.Result{Name: "ipc", Open: true}
		}
	}))
	conf.Rung.Word = "another machine"
	r, err := Run(t.Context(), conf)
	if err != nil {
		t.Fatal(err)
	}
	if got := missing(r); !slices.Equal(got, []string{"ipc"}) {
		t.Errorf("missing %q", got)
	}
	for _, row := range r.Rows {
		if row.Result == Held && !decidedHere[row.Name] {
			t.Errorf("%s is held by the word of another machine", row.Name)
		}
		if row.Result == Partly && decidedHere[row.Name] {
			t.Errorf("%s is decided here, and %s: %s", row.Name, row.Result, row.Detail)
		}
	}
	for name := range decidedHere {
		if !slices.ContainsFunc(Checks(), func(c Check) bool { return c.Name == name }) {
			t.Errorf("%s is no check", name)
		}
	}
}
