package microvm

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"ringfence.dev/ringfence/internal/sandbox/hostfacts"
	"ringfence.dev/ringfence/internal/sandbox/inside"
	"ringfence.dev/ringfence/internal/sandbox/native"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/rung"
	"ringfence.dev/ringfence/internal/sandbox/seccomp"
)

// askedAt is where the jail of a test has a program that does what it is asked, in the place
// of an emulator that somebody broke.
const askedAt = "/machine/asked"

func TestMain(m *testing.M) {
	switch os.Args[0] {
	case inside.Name:
		inside.Main()
	case askedAt:
		answer(os.Stdin, os.Stdout)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// answer does what each line asks, and tells in one line what came of it.
func answer(from io.Reader, to io.Writer) {
	for s := bufio.NewScanner(from); s.Scan(); {
		what, at, _ := strings.Cut(s.Text(), " ")
		said, err := do(what, at)
		if err != nil {
			said = "error: " + err.Error()
		}
		fmt.Fprintf(to, "%q\n", said)
	}
}

func do(what, at string) (string, error) {
	switch what {
	case "read":
		b, err := os.ReadFile(at)
		return string(b), err
	case "list":
		all, err := os.ReadDir(at)
		var names []string
		for _, e := range all {
			names = append(names, e.Name())
		}
		return strings.Join(names, " "), err
	case "connect":
		c, err := net.Dial("unix", at)
		if err == nil {
			c.Close()
		}
		return "connected", err
	case "write":
		return "written", os.WriteFile(at, nil, 0o600)
	}
	return "", errors.ErrUnsupported
}

// jailed is a real jail with that program in it.
type jailed struct {
	t   *testing.T
	pid int
	to  io.Writer
	out *bufio.Reader
}

// raiseJail raises the walls that stand around an emulator, for a session.
func raiseJail(t *testing.T, session *plan.Plan) (*jailed, error) {
	t.Helper()
	return raiseChanged(t, session, around, func(*plan.Plan) {})
}

// raiseChanged raises what is left of them, for a witness who judges.
func raiseChanged(t *testing.T, session *plan.Plan, witness func([]plan.Wall) func(rung.Seen) error, change func(*plan.Plan)) (*jailed, error) {
	t.Helper()
	runtime.LockOSThread() // what is started dies with it
	t.Cleanup(runtime.UnlockOSThread)
	filter, err := seccomp.Filter(runtime.GOARCH)
	if err != nil {
		t.Fatal(err)
	}
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	session.UID, session.GID, session.Seccomp, session.Landlock.ABI = os.Geteuid(), os.Getegid(), filter, hostfacts.LandlockABI()
	p, err := jail(session, []string{askedAt}, []plan.Op{{Do: plan.DoBind, Dst: askedAt, Src: plan.Raw(own)}}, []string{"/dev/null"})
	if err != nil {
		return nil, err
	}
	judge := witness(slices.Clone(p.Walls))
	change(p)
	inR, inW := pipes(t)
	outR, outW := pipes(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	box, err := native.Rung{}.Start(ctx, p, rung.Hooks{Stdio: rung.Stdio{In: inR, Out: outW, Err: outW, Stopped: func() {}}, Witness: judge})
	inR.Close()
	outW.Close()
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { box.Close() })
	return &jailed{t, box.PID(), inW, bufio.NewReader(outR)}, nil
}

func pipes(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

// ask lets the program in the jail do something below the share.
func (j *jailed) ask(what, at string) (said string) {
	j.t.Helper()
	return j.asks(what, shareAt+at)
}

// asks lets it do something anywhere.
func (j *jailed) asks(what, at string) (said string) {
	j.t.Helper()
	fmt.Fprintf(j.to, "%s %s\n", what, at)
	line, err := j.out.ReadString('\n')
	if _, failed := fmt.Sscanf(line, "%q", &said); err != nil || failed != nil {
		j.t.Fatalf("%s %s: %q, %v", what, at, line, err)
	}
	return said
}

// TestLook: what can be written is told, wherever it is, what is hidden and shows is told, and nothing
// is said to have been tried that was not.
func TestLook(t *testing.T) {
	session, work, upper := layered(t)
	put(t, work+"/hidden", "secret")
	put(t, work+"/sub/.env", "secret")
	put(t, upper+"/sub/.env", "phantom")
	session.Ops = append(session.Ops, plan.Op{Do: plan.DoMask, Dst: plan.Raw(work + "/hidden")}, plan.Op{Do: plan.DoBind, Dst: "/opt/ro", Src: plan.Raw(t.TempDir())},
		plan.Op{Do: plan.DoBind, Dst: "/opt/file", Src: plan.Raw(work + "/plain")})
	put(t, work+"/plain", "plain")
	session.Limits = plan.Limits{Open: 100}
	planned, err := jail(session, []string{askedAt}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		change func(*plan.Plan)
		why    string
	}{
		"the control":       {func(*plan.Plan) {}, ""},
		"a bind":            {func(p *plan.Plan) { at(p, "/opt/ro").Write = true }, "can be written"},
		"a file":            {func(p *plan.Plan) { at(p, "/opt/file").Write = true }, "can be written"},
		"a plain workspace": {func(p *plan.Plan) { at(p, work).Do = plan.DoBind }, "own directory"},
		"a mask": {func(p *plan.Plan) {
			p.Ops = slices.DeleteFunc(p.Ops, func(o plan.Op) bool { return o.Do == plan.DoMask })
		}, "shows what"},
		"a phantom": {func(p *plan.Plan) { at(p, work).Hide = nil }, "shows what"},
		"a limit":   {func(p *plan.Plan) { p.Limits.Open = 200 }, "its limit"},
		"a tmpfs":   {func(p *plan.Plan) { unsealed(p, shareAt+"/tmp") }, "can be written"},
		"the root":  {func(p *plan.Plan) { unsealed(p, "/") }, "can be written"},
	} {
		t.Run(name, func(t *testing.T) {
			blind := func([]plan.Wall) func(rung.Seen) error { return func(rung.Seen) error { return nil } }
			j, err := raiseChanged(t, session, blind, tc.change)
			if err != nil {
				t.Fatal(err)
			}
			seen, err := look(j.pid, work, planned)
			switch {
			case tc.why != "":
				if err == nil || !strings.Contains(err.Error(), tc.why) {
					t.Errorf("%v, %v", seen, err)
				}
			case err != nil || seen["machine.share"] != "read-only" || seen["machine.tried"] != work:
				t.Errorf("%v, %v", seen, err)
			default:
				if seen, err = look(j.pid, "/nowhere", planned); err != nil || seen["machine.tried"] != "" {
					t.Errorf("what is not there is tried: %v, %v", seen, err)
				}
			}
		})
	}
}

// TestLookBare: a machine that only boots shares nothing, and is looked at as well.
func TestLookBare(t *testing.T) {
	session, err := bare()
	if err != nil {
		t.Fatal(err)
	}
	planned, err := jail(session, []string{askedAt}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	j, err := raiseJail(t, session)
	if err != nil {
		t.Fatal(err)
	}
	if seen, err := look(j.pid, "", planned); err != nil || seen["machine.tried"] != "" {
		t.Errorf("%v, %v", seen, err)
	}
}

// unsealed leaves a memory file system writable.
func unsealed(p *plan.Plan, dst string) {
	p.Ops = slices.DeleteFunc(p.Ops, func(o plan.Op) bool { return o.Do == plan.DoReadOnly && string(o.Dst) == dst })
}

// at is the first operation of a jail at a place of the share.
func at(p *plan.Plan, dst string) *plan.Op {
	return &p.Ops[slices.IndexFunc(p.Ops, func(o plan.Op) bool { return string(o.Dst) == shareAt+dst })]
}
