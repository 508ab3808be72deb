package world

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/test/stage"
	"ringfence.dev/ringfence/test/wait"
)

// World is what a test has of it: a workspace, and a place for ringfence's state.
type World struct {
	Dir   string // the workspace
	CA    string // certificate of the internet's authority, a file in the workspace
	State string // XDG_STATE_HOME
	t     testing.TB
}

// New begins anew: a fresh workspace, no records, the names and the host's files as
// they are in the beginning.
func New(t testing.TB) *World {
	t.Helper()
	w := &World{t: t, Dir: temp(t, stage.Work), State: temp(t, stage.Home)}
	ca, err := os.ReadFile(caFile)
	if err != nil {
		t.Fatal(err)
	}
	w.CA = w.Put("ca.pem", ca, 0o644)
	w.Hosts("")
	w.ask(request{Do: "begin"})
	return w
}

func temp(t testing.TB, in string) string {
	t.Helper()
	dir, err := os.MkdirTemp(in, "world-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func (w *World) ask(q request) reply {
	w.t.Helper()
	r, err := ask(q)
	if err != nil {
		w.t.Fatalf("the internet: %s: %v", q.Do, err)
	}
	return r
}

// Put writes a file in the workspace and returns its path.
func (w *World) Put(name string, data []byte, mode os.FileMode) string {
	w.t.Helper()
	path := filepath.Join(w.Dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, data, mode); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// Wrote is where a file of the workspace is that a session or a control wrote last: the
// workspace itself, or the layer of a session whose changes wait.
func (w *World) Wrote(name string) string {
	w.t.Helper()
	found := filepath.Join(w.Dir, name)
	layers, err := filepath.Glob(filepath.Join(w.State, "ringfence/sessions/*/layer/*/upper", name))
	if err != nil {
		w.t.Fatal(err)
	}
	last, _ := os.Stat(found)
	for _, path := range layers {
		if st, err := os.Lstat(path); err == nil && st.Mode().IsRegular() && (last == nil || st.ModTime().After(last.ModTime())) {
			found, last = path, st
		}
	}
	return found
}

// Bring copies a program that was given to Main into the workspace and returns its
// path.
func (w *World) Bring(program string) string {
	w.t.Helper()
	data, err := os.ReadFile(Program(program))
	if err != nil {
		w.t.Fatal(err)
	}
	return w.Put(program, data, 0o755)
}

// Hosts adds lines to the host's /etc/hosts, in place of those added before.
func (w *World) Hosts(lines string) {
	w.t.Helper()
	if err := os.WriteFile("/etc/hosts", []byte(plainHosts+lines), 0); err != nil {
		w.t.Fatal(err)
	}
}

// Answer sets what the resolver says about a name: to the first question of a type,
// to the second and so on; the last stays. No rounds: the name is there and has no
// address. A name instead of an address is an alias.
func (w *World) Answer(name string, rounds ...[]string) {
	w.t.Helper()
	w.ask(request{Do: "answer", Name: name, Rounds: rounds})
}

// Open puts canaries at ports of every address, until the next test: they say
// "canary ADDRESS:PORT" and listen.
func (w *World) Open(ports ...uint16) {
	w.t.Helper()
	w.ask(request{Do: "open", Ports: ports})
}

// Forget empties the records; everything else stays.
func (w *World) Forget() {
	w.t.Helper()
	w.ask(request{Do: "forget"})
}

// Queries are the questions that the resolver got.
func (w *World) Queries() []Query {
	w.t.Helper()
	return w.ask(request{Do: "look"}).Queries
}

// Dialled are the packets that came over the cable and wanted something, whether
// anybody listened or not. What went to the resolver is in Queries.
func (w *World) Dialled() []Packet {
	w.t.Helper()
	return slices.DeleteFunc(w.ask(request{Do: "look"}).Packets, func(p Packet) bool {
		return p.Port == 53 && slices.Contains(resolvers, p.Addr.String())
	})
}

// Heard is what the servers got, one entry for each connection.
func (w *World) Heard() []Heard {
	w.t.Helper()
	return w.ask(request{Do: "look"}).Heard
}

// Result is what became of a command.
type Result struct {
	Status         int
	Stdout, Stderr string
	Journal        []journal.Record // of the session, if there was one
}

// Environ is what ringfence is launched with: no proxy, no credentials.
func (w *World) Environ() []string {
	return []string{"HOME=" + stage.Home, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "TERM=xterm",
		"XDG_STATE_HOME=" + w.State, "XDG_CONFIG_HOME=" + filepath.Join(w.State, "config")}
}

// Command prepares ringfence with arguments, in the workspace.
func (w *World) Command(ctx context.Context, args ...string) *exec.Cmd {
	return w.command(ctx, stage.Ringfence, args...)
}

func (w *World) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = w.Dir, w.Environ()
	cmd.WaitDelay = time.Second // for what a killed one left behind with our pipe
	return cmd
}

// Run runs `ringfence run ARGS` to its end.
func (w *World) Run(args ...string) Result {
	w.t.Helper()
	before := w.journals()
	r := w.wait(func(ctx context.Context) *exec.Cmd { return w.Command(ctx, append([]string{"run"}, args...)...) })
	for _, path := range w.journals() {
		if !slices.Contains(before, path) {
			r.Journal = append(r.Journal, w.readJournal(path)...)
		}
	}
	return r
}

// Bare runs a program on the host, without ringfence: the control.
func (w *World) Bare(argv ...string) Result {
	w.t.Helper()
	return w.wait(func(ctx context.Context) *exec.Cmd { return w.command(ctx, argv[0], argv[1:]...) })
}

func (w *World) wait(prepare func(context.Context) *exec.Cmd) Result {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), wait.Patience)
	defer cancel()
	cmd := prepare(ctx)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if cmd.ProcessState == nil || ctx.Err() != nil {
		w.t.Fatalf("%q: %v, %v\n%s%s", cmd.Args, err, ctx.Err(), &stdout, &stderr)
	}
	return Result{Status: cmd.ProcessState.ExitCode(), Stdout: stdout.String(), Stderr: stderr.String()}
}
