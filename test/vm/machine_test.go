//go:build amd64

package vm

import (
	"bufio"
	"context"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"ringfence.dev/ringfence/internal/sandbox/microvm/cpio"
	"ringfence.dev/ringfence/test/built"
	"ringfence.dev/ringfence/test/vm/serial"
)

// patience bounds the life of one machine, boot included. It takes about a minute;
// the rest is for a machine whose processors others use too.
const patience = 15 * time.Minute

// machine is an emulated computer that runs commands.
type machine struct {
	release string // of its kernel
	in      io.Writer
	out     *bufio.Reader
}

// hardware is what a machine is made of, besides what all have.
type hardware struct {
	parameters string                // of the kernel
	base       string                // an archive that is unpacked first
	files      map[string]cpio.Entry // and these last
}

// boot starts a machine.
func boot(t *testing.T, h hardware) *machine {
	t.Helper()
	qemu, err := exec.LookPath("qemu-system-x86_64")
	if err != nil {
		t.Fatalf("%v; as root: apt-get install qemu-system-x86", err)
	}
	dir := t.TempDir()
	k := kernel(t)
	initrd, console := filepath.Join(dir, "initrd"), filepath.Join(dir, "console")
	if err := os.WriteFile(initrd, h.initrd(t, k), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience) // the test's own ends before its clean-up
	cmd := exec.CommandContext(ctx, qemu, "-accel", "tcg", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
		"-m", "768", "-smp", "2", "-kernel", k.image, "-initrd", initrd, "-append", "console=ttyS0 panic=-1 quiet "+h.parameters,
		"-chardev", "stdio,id=line,signal=off", "-serial", "file:"+console, "-serial", "chardev:line")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	m := &machine{release: k.release, in: stdin, out: serial.NewReader(stdout)}
	t.Cleanup(func() {
		defer cancel()
		if !t.Failed() {
			m.shutDown(t)
		} else {
			cancel()
		}
		if ctx.Err() == context.DeadlineExceeded {
			t.Errorf("the machine took longer than %s", patience)
		}
		if err := cmd.Wait(); err != nil && !t.Failed() {
			t.Errorf("the machine: %v", err)
		}
		if log, _ := os.ReadFile(console); t.Failed() {
			t.Logf("console:\n%s", log)
		}
	})
	if o := m.receive(t); o != (serial.Outcome{Stdout: "ready"}) {
		t.Fatalf("the guest began with %+v", o)
	}
	return m
}

// shutDown lets the guest end the machine, after which nothing more may come.
func (m *machine) shutDown(t *testing.T) {
	if o := m.run(t, serial.Command{}); o != (serial.Outcome{Stdout: "bye"}) {
		t.Errorf("the guest ended with %+v", o)
	}
	if rest, err := io.ReadAll(m.out); err != nil || len(rest) > 0 {
		t.Errorf("after the end came %q, %v", rest, err)
	}
}

// run has the guest run a command.
func (m *machine) run(t *testing.T, c serial.Command) serial.Outcome {
	t.Helper()
	if err := serial.Send(m.in, c); err != nil {
		t.Fatal(err)
	}
	return m.receive(t)
}

func (m *machine) receive(t *testing.T) serial.Outcome {
	t.Helper()
	var o serial.Outcome
	if err := serial.Receive(m.out, &o); err != nil {
		t.Fatal(err)
	}
	if o.Error != "" {
		t.Fatalf("the guest: %s", o.Error)
	}
	return o
}

// initrd is everything there is in the guest. The kernel unpacks archives that
// follow each other into one tree.
func (h hardware) initrd(t *testing.T, k linux) []byte {
	t.Helper()
	guest := program(t, "./guest")
	all := map[string]cpio.Entry{
		"etc/passwd":        {Mode: 0o644, Data: []byte("root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000:user:/home/user:/bin/sh\n")},
		"etc/group":         {Mode: 0o644, Data: []byte("root:x:0:\nuser:x:1000:\n")},
		"etc/machine-id":    {Mode: 0o644, Data: []byte("0123456789abcdef0123456789abcdef\n")},
		"tmp":               {Mode: fs.ModeDir | fs.ModeSticky | 0o777},
		"var/tmp":           {Mode: fs.ModeDir | fs.ModeSticky | 0o777},
		"root/project":      {Mode: fs.ModeDir | 0o755},
		"home/user":         {Mode: fs.ModeDir | 0o700, UID: user},
		"home/user/project": {Mode: fs.ModeDir | 0o755, UID: user},
		"init":              {Mode: 0o755, Data: guest},
		"usr/bin/guest":     {Mode: 0o755, Data: guest},
		"usr/bin/ringfence": {Mode: 0o755, Data: program(t, "../../cmd/ringfence")},
		"usr/sbin/modprobe": {Mode: fs.ModeSymlink | 0o777, Data: []byte("../bin/guest")},
	}
	maps.Copy(all, h.files)
	archives := []string{k.modules}
	if h.base == "" {
		for _, dir := range []string{"bin", "sbin"} {
			all[dir] = cpio.Entry{Mode: fs.ModeSymlink | 0o777, Data: []byte("usr/" + dir)}
		}
	} else {
		archives = append(archives, h.base)
	}
	var whole []byte
	for _, file := range archives {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		whole = append(whole, b...)
	}
	return append(whole, archived(all)...)
}

// programs are those that were built, for the machines that come after.
var programs = map[string][]byte{}

// program returns a static program, built once.
func program(t *testing.T, pkg string) []byte {
	t.Helper()
	if data, ok := programs[pkg]; ok {
		return data
	}
	bin := filepath.Join(t.TempDir(), filepath.Base(pkg))
	if given := built.Given(); given != "" && pkg != "./guest" {
		bin = given
	} else if err := built.Program(bin, pkg, "-ldflags=-s -w"); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(bin)
	if err != nil {
		t.Fatal(err)
	}
	programs[pkg] = data
	return data
}
