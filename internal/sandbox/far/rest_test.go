package far

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/sandbox/link"
	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// cramped is a plan with one layer where nothing more can be written, and what makes room. Root
// has a small disk that is full; another user may not write there.
func cramped(t *testing.T) (p *plan.Plan, dir string, fill, free func()) {
	t.Helper()
	at := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ballast := filepath.Join(at, "ballast")
	if os.Geteuid() == 0 {
		must(unix.Mount("tmpfs", at, "tmpfs", 0, "size=4m"))
		t.Cleanup(func() { unix.Unmount(at, unix.MNT_DETACH) })
		fill = func() {
			if err := os.WriteFile(ballast, make([]byte, 8<<20), 0o600); !errors.Is(err, unix.ENOSPC) {
				t.Errorf("the disk is not full: %v", err)
			}
		}
		free = func() { must(os.Remove(ballast)) }
	} else {
		fill = func() { must(os.Chmod(at, 0o500)) }
		free = func() { must(os.Chmod(at, 0o700)) }
		t.Cleanup(func() { os.Chmod(at, 0o700) })
	}
	dir = filepath.Join(at, "upper")
	must(os.Mkdir(dir, 0o755))
	p = aPlan(0)
	p.Ops = []plan.Op{{Do: plan.DoLayer, Dst: "/w", Src: "/w", Upper: plan.Raw(dir), Work: plan.Raw(dir)}}
	return p, dir, fill, free
}

// endingSoon is ending, for a far end that is kept for so long.
func endingSoon(t *testing.T, keep time.Duration, answer func(*script, string, *link.Stream, link.Overlay)) (box *sandbox, here string, free func(), told chan string) {
	t.Helper()
	p, here, fill, free := cramped(t)
	box, there := layered(t, p, answer)
	box.keep = keep
	t.Cleanup(box.Cut) // before anybody waits for its end
	told = make(chan string, 8)
	box.hooks.Warn = func(text string) { told <- text }
	write(t, there, "made", strings.Repeat("work ", 10000))
	fill()
	if err := link.Send(box.control, link.Message{Kind: link.End}); err != nil {
		t.Fatal(err)
	}
	return box, here, free, told
}

// ending is a session whose agent ends while nothing can be written here. What the person is
// told comes through the channel.
func ending(t *testing.T, answer func(*script, string, *link.Stream, link.Overlay)) (box *sandbox, here string, free func(), told chan string) {
	t.Helper()
	return endingSoon(t, keepEnded, answer)
}

// TestNoRoomAtTheEnd: what an agent did is not lost because this disk is full when it ends. The
// person is told once, and when there is room it comes by itself.
func TestNoRoomAtTheEnd(t *testing.T) {
	box, here, free, told := ending(t, asItIs())
	text := <-told
	if !strings.Contains(text, filepath.Dir(here)) || !strings.Contains(text, "ringfence stop") {
		t.Errorf("the person hears %q", text)
	}
	select {
	case <-box.exit:
		t.Fatal("it is over")
	case <-box.gone: // nothing runs there
	}
	free()
	if exit, err := over(t, box); err != nil || exit.Code() != 128+9 {
		t.Errorf("%+v, %v", exit, err)
	}
	if got := read(here, "made"); len(got) != 50000 {
		t.Errorf("%d bytes have come", len(got))
	}
	if len(told) > 0 {
		t.Errorf("and then %q", <-told)
	}
}

// TestNoRoomGivenUp: who does not wait for room says stop twice; a far end that lies, or goes
// away while it is waited for, ends the wait.
func TestNoRoomGivenUp(t *testing.T) {
	box, _, _, told := ending(t, asItIs())
	<-told
	go box.Close() // the first stop waits
	box.Cut()
	if _, err := over(t, box); err == nil || !strings.Contains(err.Error(), "lost") {
		t.Errorf("cut: %v", err)
	}
	its := make(chan *script, 8)
	honest := asItIs()
	box, _, _, told = ending(t, func(s *script, there string, from *link.Stream, h link.Overlay) {
		its <- s
		honest(s, there, from, h)
	})
	<-told
	(<-its).link.Close()
	if _, err := over(t, box); err == nil || !strings.Contains(err.Error(), "lost") {
		t.Errorf("gone: %v", err)
	}
	calls := 0
	box, _, free, told := ending(t, func(s *script, there string, from *link.Stream, h link.Overlay) {
		if calls++; calls == 1 {
			honest(s, there, from, h)
			return
		}
		from.Write(bytes.Repeat([]byte("no layer "), 10))
		from.Close()
	})
	<-told
	free()
	if _, err := over(t, box); err == nil || !strings.Contains(err.Error(), "lost") {
		t.Errorf("lies: %v", err)
	}
}

// TestBoundAtTheEnd: nobody can make room in a bound that no layer passes, so nobody waits.
func TestBoundAtTheEnd(t *testing.T) {
	p, here := reviewed(t)
	box, there := layered(t, p, asItIs())
	box.hooks.Warn = func(text string) { t.Errorf("the person hears %q", text) }
	box.most.Bytes = 100
	write(t, there, "made", strings.Repeat("work ", 100))
	if err := link.Send(box.control, link.Message{Kind: link.End}); err != nil {
		t.Fatal(err)
	}
	if _, err := over(t, box); err == nil || !strings.Contains(err.Error(), "lost") {
		t.Errorf("%v", err)
	}
	if read(here, "phantom") != "A=phantom\n" {
		t.Errorf("%q", read(here, "phantom"))
	}
}

// TestMendable: nobody waits for what neither room nor rights can mend.
func TestMendable(t *testing.T) {
	p, _ := reviewed(t)
	box, _ := layered(t, p, asItIs())
	for err, want := range map[error]bool{unix.ENOSPC: true, unix.EDQUOT: true, unix.EROFS: true, unix.EACCES: true, unix.EIO: true,
		unix.ENAMETOOLONG: false, unix.EILSEQ: false, unix.EINVAL: false, unix.EOPNOTSUPP: false, unix.ENOTDIR: false, os.ErrDeadlineExceeded: false} {
		if got := box.here(&os.PathError{Op: "open", Path: "made", Err: err}); got != want {
			t.Errorf("%v: waits %v", err, got)
		}
	}
}

// TestKeptNoLonger: the bound of the wait is one, also for a far end that drags a try out.
func TestKeptNoLonger(t *testing.T) {
	honest := asItIs()
	calls := 0
	box, _, free, told := endingSoon(t, 2*lookEvery, func(s *script, there string, from *link.Stream, h link.Overlay) {
		if calls++; calls == 1 {
			honest(s, there, from, h)
		} // and then it says nothing
	})
	<-told
	free()
	if _, err := over(t, box); err == nil || !strings.Contains(err.Error(), "lost") || strings.Contains(err.Error(), "timeout") { // as a far end would end that is slow
		t.Errorf("%v", err)
	}
}
