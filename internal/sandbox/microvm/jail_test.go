package microvm

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

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
	inR, inW := pipes(t)
	outR, outW := pipes(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	box, err := native.Rung{}.Start(ctx, p, rung.Hooks{Stdio: rung.Stdio{In: inR, Out: outW, Err: outW, Stopped: func() {}}, Witness: around(p.Walls)})
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
	fmt.Fprintf(j.to, "%s %s\n", what, shareAt+at)
	line, err := j.out.ReadString('\n')
	if _, failed := fmt.Sscanf(line, "%q", &said); err != nil || failed != nil {
		j.t.Fatalf("%s %s: %q, %v", what, at, line, err)
	}
	return said
}

// layered is a session that shows a workspace under a layer.
func layered(t *testing.T) (session *plan.Plan, work, upper string) {
	t.Helper()
	work, upper = filepath.Join(t.TempDir(), "work"), filepath.Join(t.TempDir(), "upper")
	for _, dir := range []string{work, upper, work + "/sub", upper + "/sub"} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	session = &plan.Plan{Process: plan.Process{Dir: plan.Raw(work)}, Ops: []plan.Op{
		{Do: plan.DoTmpfs, Dst: "/tmp", Size: 1 << 20, Mode: 0o755},
		{Do: plan.DoLayer, Dst: plan.Raw(work), Src: plan.Raw(work), Upper: plan.Raw(upper), Work: "/none"},
	}}
	return session, work, upper
}

func put(t *testing.T, at, text string) {
	t.Helper()
	if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestShareHides: what a layer covers cannot be read from where the emulator stands, also when
// the host has saved it anew, made a directory of it or put another directory above it.
func TestShareHides(t *testing.T) {
	session, work, upper := layered(t)
	for _, at := range []string{"sub/.env", "link", "dir", "saved"} {
		put(t, filepath.Join(upper, at), "phantom")
	}
	put(t, work+"/plain", "plain")
	put(t, work+"/sub/.env", "secret")
	put(t, work+"/saved", "secret")
	put(t, work+"/other", "secret")
	put(t, work+"/hidden", "secret")
	if err := errors.Join(os.Symlink("other", work+"/link"), os.Mkdir(work+"/dir", 0o700)); err != nil {
		t.Fatal(err)
	}
	put(t, work+"/dir/key", "secret")
	session.Ops = append(session.Ops, plan.Op{Do: plan.DoMask, Dst: plan.Raw(work + "/hidden")})
	j, err := raiseJail(t, session)
	if err != nil {
		t.Fatal(err)
	}
	hidden := func(when string) {
		t.Helper()
		for _, at := range []string{"/sub/.env", "/link", "/dir/key", "/dir", "/saved", "/hidden"} {
			if said := j.ask("read", work+at); strings.Contains(said, "secret") {
				t.Errorf("%s: %s is read: %q", when, at, said)
			}
		}
	}
	if said := j.ask("read", work+"/plain"); said != "plain" {
		t.Fatalf("the control: %q", said)
	}
	hidden("at the start")
	for _, at := range []string{"/saved", "/sub/.env", "/hidden"} {
		put(t, work+at+".tmp", "secret, saved anew")
		if err := os.Rename(work+at+".tmp", work+at); err != nil {
			t.Fatal(err)
		}
	}
	hidden("saved anew")
	if err := errors.Join(os.Rename(work+"/sub", work+"/before"), os.Mkdir(work+"/sub", 0o700)); err != nil {
		t.Fatal(err)
	}
	put(t, work+"/sub/.env", "secret, in another directory")
	hidden("another directory")
	if said := j.ask("write", work+"/new"); !strings.Contains(said, "read-only file system") {
		t.Errorf("a share is written to: %q", said)
	}
}

// TestShareSocket: a server of the host whose socket lies in the workspace is not reached.
func TestShareSocket(t *testing.T) {
	session, work, _ := layered(t)
	l, err := net.Listen("unix", work+"/s")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if c, err := net.Dial("unix", work+"/s"); err != nil {
		t.Fatalf("the control: %v", err)
	} else {
		c.Close()
	}
	j, err := raiseJail(t, session)
	if err != nil {
		t.Fatal(err)
	}
	if said := j.ask("connect", work+"/s"); !strings.Contains(said, "refused") {
		t.Errorf("%q", said)
	}
	if said := j.ask("list", work); said != "s sub" {
		t.Errorf("the control: %q", said)
	}
}

// TestShareSubmount: what is mounted below the workspace is no part of the view, and is not
// shown: there is no machine then, and it is said why.
func TestShareSubmount(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root mounts something")
	}
	session, work, _ := layered(t)
	if err := unix.Mount("none", work+"/sub", "tmpfs", 0, "size=64k"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Unmount(work+"/sub", unix.MNT_DETACH) })
	put(t, work+"/sub/file", "secret")
	j, err := raiseJail(t, session)
	if err == nil {
		t.Fatalf("it is shown: %q", j.ask("list", work+"/sub"))
	}
	if !strings.Contains(err.Error(), work+"/sub") || rung.FailedAt(err, rung.StepLayer) {
		t.Errorf("%v", err)
	}
}
