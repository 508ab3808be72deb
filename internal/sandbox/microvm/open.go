package microvm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/sandbox/far"
	"ringfence.dev/ringfence/internal/sandbox/hostfacts"
	"ringfence.dev/ringfence/internal/sandbox/microvm/guest"
	"ringfence.dev/ringfence/internal/sandbox/native"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/program"
	"ringfence.dev/ringfence/internal/sandbox/rung"
	"ringfence.dev/ringfence/internal/sandbox/witness"
)

// BootName is the file of a session's state that tells how its machine booted.
const BootName = "boot"

// Open implements far.Place: it starts the machine in its jail, and returns when the guest
// has greeted. It is the one that the far end's words come from.
func (p Place) Open(ctx context.Context, b far.Begin) (far.End, error) {
	there, err := p.plan(b.Plan)
	if err != nil {
		return far.End{}, err
	}
	found, err := p.find()
	if err != nil {
		return far.End{}, err
	}
	below, err := p.judge(found, func() hostfacts.Result { return p.tryAccel(ctx, found) })
	if err != nil {
		found.Close()
		return far.End{}, err
	}
	box, err := p.start(ctx, b, found)
	if err != nil {
		found.Close()
		return far.End{}, err
	}
	g, err := box.greeting(ctx, p.patience())
	if err != nil {
		box.Close()
		found.Close()
		return far.End{}, err
	}
	below.Beside = append(below.Beside, box.modules)
	if b.Dir != "" { // for who measures
		file.Replace(filepath.Join(b.Dir, BootName), fmt.Appendf(nil, "started %d ms\nkernel %d ms\nmodules %d ms\nfurnished %d ms\n", box.greeted.Milliseconds(), g.Kernel, g.Modules, g.Furnished), 0o600)
	}
	return far.End{ReadWriteCloser: box, PID: box.jail.PID(), Disk: box.size, Plan: there, Program: below, Saw: box.saw, Why: box.why, Ours: true, Ground: ground{box.disk, box.jail}}, nil
}

// judge compares the kernel with the pin before anything boots it, also to try.
func (p Place) judge(found *parts, try func() hostfacts.Result) (*rung.Program, error) {
	below, err := p.below(found)
	if err != nil {
		return nil, err
	}
	if r := try(); r.Status == hostfacts.Unusable {
		return nil, fault.New(fault.Refused, r.Fix, "%s", r.Detail)
	}
	return below, nil
}

// box is a machine that runs.
type box struct {
	*os.File // the link
	jail     rung.Sandbox
	console  *console
	disk     *os.File // nil: it has none
	size     int64    // of the disk
	began    time.Time
	greeted  time.Duration
	saw      map[string]string
	modules  *rung.Program // of the guest's kernel
	once     sync.Once
}

// start makes the disk and the jail, and starts the emulator in it.
func (p Place) start(ctx context.Context, b far.Begin, found *parts) (*box, error) {
	memory, cpus, size, err := p.size(b.Limits)
	if err != nil {
		return nil, err
	}
	ready, err := p.keep(found)
	if err != nil {
		return nil, err
	}
	disk, err := makeDisk(b.Dir, size)
	if err != nil {
		return nil, err
	}
	m := machine{accel: p.accel(), memory: memory >> 20, cpus: cpus, tell: mutateTell([]string{guest.Boot, strconv.Itoa(b.Plan.UID), strconv.Itoa(b.Plan.GID)}, b.Plan)}
	out := &box{disk: disk, size: size, began: time.Now(), modules: ready.program(found.kernel.modules)}
	if err = out.launch(ctx, b, m, found.qemu, ready); err != nil {
		out.removeDisk()
		return nil, err
	}
	return out, nil
}

// makeDisk makes the guest's disk, which has holes for all that is not written.
func makeDisk(dir string, size int64) (*os.File, error) {
	f, err := os.CreateTemp(dir, "disk-")
	if err != nil {
		return nil, err
	}
	if err = f.Truncate(size); err == nil {
		err = ground{disk: f}.spacious()
	}
	if err != nil {
		(&box{disk: f}).removeDisk()
		return nil, err
	}
	return f, nil
}

// removeDisk removes the guest's disk, which may be gone already.
func (b *box) removeDisk() {
	if b.disk != nil {
		os.Remove(b.disk.Name())
		b.disk.Close()
	}
}

// launch starts an emulator in its jail, and looks at it. Without a disk it is for a
// machine that only boots.
func (b *box) launch(ctx context.Context, begin far.Begin, m machine, with *program.File, ready made) error {
	given, err := elsewhere(with)
	if err != nil {
		return err
	}
	given = append(given, ready.kernel.bind(kernelAt), ready.archive.bind(archiveAt))
	if b.disk != nil {
		given = append(given, plan.Op{Do: plan.DoBind, Dst: diskAt, Src: plan.Raw(b.disk.Name()), Write: true})
	}
	devices := []string{"/dev/null", "/dev/urandom"}
	if m.accel == kvm {
		devices = append(devices, "/dev/kvm")
	}
	var e emulator = qemu{}
	walls, err := jail(begin.Plan, mutateArgv(e.argv(with.Path, m)), given, devices)
	if err != nil {
		return err
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	unix.SetNonblock(fds[0], true) // so that Close ends a Read
	ours, theirs := os.NewFile(uintptr(fds[0]), "link"), os.NewFile(uintptr(fds[1]), "link")
	defer theirs.Close()
	r, w, err := os.Pipe()
	if err != nil {
		ours.Close()
		return err
	}
	defer w.Close()
	b.File, b.console = ours, newConsole(r)
	b.jail, err = native.Rung{}.Start(ctx, mutateJail(walls), hooks(begin, walls.Walls, theirs, w))
	if err != nil {
		ours.Close()
		return fmt.Errorf("the walls around the emulator: %w", err)
	}
	if b.saw, err = look(b.jail.PID(), string(begin.Plan.Process.Dir), walls); err != nil {
		b.Close()
	}
	return err
}

// hooks put the jail under the limits of the session before it starts the emulator.
func hooks(b far.Begin, walls []plan.Wall, link, words *os.File) rung.Hooks {
	return rung.Hooks{Stdio: rung.Stdio{In: link, Out: words, Err: words, Stopped: func() {}}, Within: b.Within, Join: b.Join, Witness: around(walls)}
}

// around judges the walls around an emulator, as those around an agent are judged. All of them
// stand, or there is none.
func around(walls []plan.Wall) func(rung.Seen) error {
	return func(seen rung.Seen) error {
		if err := witness.Judge(walls)(seen); err != nil {
			return fmt.Errorf("around the emulator: %w", err)
		}
		return nil
	}
}

// greeting waits until the guest says that it is there.
func (b *box) greeting(ctx context.Context, most time.Duration) (g guest.Greeting, err error) {
	defer context.AfterFunc(ctx, func() { b.SetReadDeadline(time.Unix(1, 0)) })()
	b.SetReadDeadline(time.Now().Add(most))
	buf := make([]byte, guest.GreetingSize)
	_, err = io.ReadFull(b.File, buf)
	switch {
	case ctx.Err() != nil:
		return g, context.Cause(ctx)
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = errSilent
	case err != nil:
		b.jail.Close() // the emulator is gone, and what it said has come
		<-b.console.over
		err = errors.New("the emulator is gone")
	default:
		g, err = readGreeting(string(buf))
	}
	if err != nil {
		return g, silent(err, b.console.last())
	}
	b.greeted = time.Since(b.began)
	if err := os.Remove(b.disk.Name()); err != nil { // the emulator has it open, and it goes with it, however we end
		return g, err
	}
	return g, b.SetReadDeadline(time.Time{})
}

// why says what the machine printed last.
func (b *box) why(err error) error {
	if rung.FailedAt(err, rung.StepLayer) { // nobody copies the workspace instead: what became of the copy would go with the guest
		return fault.New(fault.Refused, kernelHint, "the guest's kernel makes no overlay: %s", err.Error())
	}
	last := b.console.last()
	if f := (*fault.Error)(nil); last == "" || errors.As(err, &f) && f.Kind != fault.Failed {
		return err
	}
	return fmt.Errorf("%w; the machine's last words: %s", err, last)
}

// Close ends the machine. The guest sees the end of the link; nobody waits for it.
func (b *box) Close() error {
	b.once.Do(func() {
		b.File.Close()
		b.jail.Close()
		b.removeDisk() // there is a name for it where the machine did not greet
	})
	return nil
}
