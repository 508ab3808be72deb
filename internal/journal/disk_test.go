package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// again starts the test binary for one scene.
func again(t *testing.T, scene string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), "JOURNAL_TEST_ACT="+scene, "JOURNAL_TEST_DIR="+t.TempDir())
	return cmd
}

// TestFullDisk: on a real filesystem without room a record is refused, leaves
// nothing behind, and the next one is written as soon as there is room.
func TestFullDisk(t *testing.T) {
	t.Run("disk", func(t *testing.T) {
		cmd := again(t, "disk")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}}
		out, err := cmd.CombinedOutput()
		if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSPC) || bytes.Contains(out, []byte("mount: ")) {
			t.Fatalf("no disk of our own to be had here: %v %s", err, out)
		}
		if err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	t.Run("limit", func(t *testing.T) {
		if out, err := again(t, "limit").CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
}

var scenes = map[string]func(dir string) error{
	"disk": func(dir string) error {
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
			return fmt.Errorf("mount: %w", err)
		}
		ballast := filepath.Join(dir, "ballast")
		if err := os.WriteFile(ballast, make([]byte, 16<<10), 0o600); err != nil {
			return err
		}
		return fillUp(filepath.Join(dir, "journal"), unix.ENOSPC, func() error { return os.Remove(ballast) })
	},
	"write": func(dir string) error {
		w := Create(filepath.Join(dir, "journal"), session)
		for i := 0; ; i++ {
			if err := w.Write(Record{Event: Decision, Name: strings.Repeat("n", i%300)}); err != nil {
				return err
			}
			os.Stdout.Write([]byte{'.'})
		}
	},
	// The runtime of Go lets SIGXFSZ pass: the write fails instead.
	"limit": func(dir string) error {
		limit := unix.Rlimit{Cur: 20_000, Max: 80_000}
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
			return err
		}
		return fillUp(filepath.Join(dir, "journal"), unix.EFBIG, func() error {
			limit.Cur = limit.Max
			return unix.Setrlimit(unix.RLIMIT_FSIZE, &limit)
		})
	},
}

// fillUp writes until there is no room, makes some, and writes on until there is
// none again.
func fillUp(dir string, want error, makeRoom func() error) error {
	w := Create(dir, session)
	long := Record{Event: Decision, Name: strings.Repeat("n", 90), Reason: strings.Repeat("r", 250)}
	written := 0
	for _, makeRoom := range []func() error{makeRoom, w.Close} {
		before := written
		var err error
		for ; err == nil && written < 1000; written++ {
			err = w.Write(long)
		}
		written--
		if !errors.Is(err, want) || written <= before {
			return fmt.Errorf("%d and then %d records, then %w", before, written, err)
		}
		if err := w.Write(long); !errors.Is(err, want) {
			return fmt.Errorf("again without room: %w", err)
		}
		if err := makeRoom(); err != nil {
			return err
		}
	}
	if err := whole(dir, written); err != nil {
		return err
	}
	// On the full disk the end was signed all the same, or the tail is said to lack it.
	r, err := Verify(dir, nil, nil)
	if err != nil || r.Bad() || len(r.Journals) != 1 || r.Journals[0].Records != uint64(written) {
		return fmt.Errorf("verify: %+v, %w", r, err)
	}
	return nil
}

// TestKilled: a writer that is killed while it writes leaves a journal that
// verifies up to its last whole record, and says that it is not finished.
func TestKilled(t *testing.T) {
	for range 5 {
		cmd := again(t, "write")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(out, make([]byte, 200)); err != nil { // so many records at least
			t.Error(err)
		}
		cmd.Process.Kill()
		cmd.Wait()
		dir := filepath.Join(cmd.Env[len(cmd.Env)-1][len("JOURNAL_TEST_DIR="):], "journal")
		c := verify(t, dir, nil).of(session)
		if c.State != Unfinished || c.Records < 200 || c.Records != c.Signed+c.Unsigned {
			t.Fatalf("%+v", c)
		}
		if err := Append(dir, session, Record{Kind: Work, Event: Applied}); err != nil {
			t.Error(err)
		}
		if after := verify(t, dir, nil).of(session); after.State != Sound || after.Records != c.Records+2 || after.Unsigned != c.Unsigned {
			t.Errorf("%+v, then %+v", c, after)
		}
	}
}

// whole checks that a journal has so many records, and nothing else.
func whole(dir string, want int) error {
	rd, err := Open(dir, session)
	if err != nil {
		return err
	}
	defer rd.Close()
	for i := range want {
		if r, err := rd.Next(); err != nil || r.Seq != uint64(i+1) {
			return fmt.Errorf("record %d of %d: %+v, %w", i+1, want, r, err)
		}
	}
	if r, err := rd.Next(); err != io.EOF {
		return fmt.Errorf("after %d records: %+v, %w", want, r, err)
	}
	return nil
}
