package microvm

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"time"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/sandbox/far"
	"ringfence.dev/ringfence/internal/sandbox/hostfacts"
	"ringfence.dev/ringfence/internal/sandbox/native"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/program"
	"ringfence.dev/ringfence/internal/sandbox/rung"
	"ringfence.dev/ringfence/internal/sandbox/seccomp"
)

// below is what of others runs below the agent, for the record: the kernel, its modules, and the
// emulator. Whoever has it has the files, too.
func (p Place) below(found *parts) (*rung.Program, error) {
	out, err := found.kernel.file.Below(p.KernelSum)
	if err != nil {
		return nil, err
	}
	q, err := found.qemu.Below(p.QemuSum)
	if err != nil {
		return nil, err
	}
	q.Version = sync.OnceValues(func() (string, error) { return keptVersion(found.qemu, q.ID) })
	out.Beside = []*rung.Program{q}
	return out, nil
}

// program is the record of the modules that a guest has.
func (m made) program(dir string) *rung.Program {
	return &rung.Program{Path: dir, Sum: func() (string, error) { return m.modules, nil }}
}

// versionName is the file that has what the emulator said last.
const versionName = "version"

// keptVersion is what the emulator says of itself. It is asked once for each.
func keptVersion(q *program.File, id string) (string, error) {
	dir, err := cache()
	if err != nil {
		return "", err
	}
	at := filepath.Join(dir, versionName)
	if b, err := file.ReadOwn(at, 1<<10); err == nil && id != "" {
		if said, ok := strings.CutPrefix(string(b), id+"\n"); ok && said != "" {
			return said, nil
		}
	}
	type told struct {
		text string
		err  error
	}
	done := make(chan told, 1)
	go func() {
		runtime.LockOSThread() // what is started dies with it
		text, err := askVersion(q)
		done <- told{text, err}
	}()
	t := <-done
	if t.err == nil && id != "" {
		file.Replace(at, []byte(id+"\n"+t.text), 0o600) // if it is not kept, the next one asks
	}
	return t.text, t.err
}

// bare is the plan of a session that shows nothing.
func bare() (*plan.Plan, error) {
	filter, err := seccomp.Filter(runtime.GOARCH)
	return &plan.Plan{UID: os.Geteuid(), GID: os.Getegid(), Landlock: plan.Landlock{ABI: hostfacts.LandlockABI()}, Seccomp: filter}, err
}

// saysWithin is how long an emulator may take to say its version.
const saysWithin = 20 * time.Second

// askVersion lets the emulator say it, in a jail like the one of a machine.
func askVersion(q *program.File) (string, error) {
	session, err := bare()
	if err != nil {
		return "", err
	}
	given, err := elsewhere(q)
	if err != nil {
		return "", err
	}
	walls, err := jail(session, []string{q.Path, "--version"}, given, []string{"/dev/null"})
	if err != nil {
		return "", err
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return "", err
	}
	defer null.Close()
	r, w, err := os.Pipe()
	if err != nil {
		return "", err
	}
	words := newConsole(r)
	ctx, cancel := context.WithTimeout(context.Background(), saysWithin)
	defer cancel()
	box, err := native.Rung{}.Start(ctx, walls, hooks(far.Begin{Plan: session}, walls.Walls, null, w))
	w.Close()
	if err != nil {
		return "", err
	}
	defer box.Close()
	select {
	case <-words.over:
	case <-ctx.Done():
		return "", errors.New("it does not say its version")
	}
	return words.version()
}

// version finds it in what was said.
func (c *console) version() (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := regexp.MustCompile(`(?m)^QEMU emulator version ([ -~]{1,200})$`).FindSubmatch(c.text)
	if m == nil {
		return "", errors.New("it does not say its version as qemu does")
	}
	return string(m[1]), nil
}
