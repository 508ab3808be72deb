package terminal

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// typist is the keyboard side of a terminal: like a real one it sends pastes and answers
// in one order, and as fast as they are taken.
type typist struct {
	s    *screen
	mute bool // answers nothing
	work chan []byte
	// pause is what it makes where there is nil to send: the line hangs.
	pause time.Duration
	idle  chan chan struct{}
	seen  []byte
}

func newTypist(s *screen, mute bool) *typist {
	ty := &typist{s: s, mute: mute, work: make(chan []byte, 1024), idle: make(chan chan struct{})}
	stop := make(chan struct{})
	s.t.Cleanup(func() { close(stop) })
	go func() {
		for {
			select {
			case b := <-ty.work:
				if b == nil {
					<-time.After(ty.pause)
				}
				if _, err := s.master.Write(b); err != nil {
					return
				}
			case done := <-ty.idle:
				close(done)
			case <-stop:
				return
			}
		}
	}()
	s.mu.Lock()
	s.answer = ty.listen
	s.mu.Unlock()
	return ty
}

// listen answers what a terminal is asked.
func (ty *typist) listen(_ *screen, chunk []byte) {
	ty.seen = append(ty.seen, chunk...)
	for at := asked.FindIndex(ty.seen); at != nil; at = asked.FindIndex(ty.seen) {
		if !ty.mute {
			ty.work <- []byte(answers[string(ty.seen[at[0]:at[1]])])
		}
		ty.seen = ty.seen[at[1]:]
	}
}

// done waits until everything has been sent.
func (ty *typist) done() {
	for {
		ack := make(chan struct{})
		ty.idle <- ack
		<-ack
		if len(ty.work) == 0 {
			return
		}
	}
}

// poison is a paste of so many bytes whose every line leaves a file where a shell runs it.
func poison(canary string, size int, marked bool) []byte {
	line := "touch " + canary + "\r"
	b := bytes.Repeat([]byte(line), size/len(line)+1)
	if marked {
		b = slices.Concat([]byte(PasteBegin), b, []byte(PasteEnd))
	}
	return b
}

// ending is a way in which a session lets go of the terminal in the middle of a paste.
// The agent takes a few bytes and then does this.
var endings = map[string]string{
	"exits":          "exit 3",
	"killed":         "kill -9 $$",
	"stops":          "kill -STOP $$; exit",
	"marks no more":  `printf "\033[?2004l"; exit 3`,
	"reads no more":  `kill -STOP $$; sleep 1000`,
	"asks and exits": `printf "\033[c\033[5n\033[c"; exit 3`,
}

// TestPasteStaysInside: whatever the agent does in the middle of a paste, no line of it
// is run by the shell that ringfence was started from.
func TestPasteStaysInside(t *testing.T) {
	for how, end := range endings {
		for _, size := range []int{1 << 10, 5 << 10, 20 << 10, 100 << 10} {
			for _, kind := range []string{"marked", "marked, mute", "plain", "plain, mute"} {
				if size != 20<<10 && strings.HasSuffix(kind, "mute") {
					continue // one size will do: it is not a matter of size, and takes its time
				}
				t.Run(fmt.Sprintf("%s/%d/%s", how, size, kind), func(t *testing.T) {
					t.Parallel()
					pasteInto(t, end, size, strings.HasPrefix(kind, "marked"), strings.HasSuffix(kind, "mute"))
				})
			}
		}
	}
}

// TestPasteStalls: a paste that pauses for longer than the relay waits for a terminal that
// has nothing to say is still a paste.
func TestPasteStalls(t *testing.T) {
	const patience = 200 * time.Millisecond
	for name, c := range map[string]struct{ marked, mute bool }{"marked": {true, false}, "marked, mute": {true, true}, "plain": {false, false}, "plain, mute": {false, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			canary := filepath.Join(t.TempDir(), "canary")
			s, supervisor := shell(t)
			ty := newTypist(s, c.mute)
			on, text := "", poison(canary, 5<<10, c.marked)
			if c.marked {
				on = `printf "\033[?2004h";`
			}
			s.line(patienceVar + "=" + patience.String() + " " + supervisor + `sh -c 'stty raw -echo; ` + on + ` echo rea""dy; head -c 200 >/dev/null; exit 3'`)
			s.expect("ready")
			ty.pause = 2 * patience
			ty.work <- text[:2<<10]
			ty.work <- nil
			ty.work <- text[2<<10:]
			s.expect("P> ")
			ty.done()
			s.send("\x15echo the e''nd\n")
			s.expect("the end\r\n")
			if _, err := os.Stat(canary); err == nil {
				t.Error("a line of the paste ran in the shell")
			}
		})
	}
}

// TestPasteTrickles: a marked paste that comes as slowly as somebody types, as some terminals
// paste when asked to, is a paste until its end.
func TestPasteTrickles(t *testing.T) {
	const patience = 200 * time.Millisecond
	canary := filepath.Join(t.TempDir(), "canary")
	s, supervisor := shell(t)
	ty := newTypist(s, false)
	ty.pause = 2 * typedFast
	text := poison(canary, 1<<10, true)
	s.line(patienceVar + "=" + patience.String() + " " + supervisor + `sh -c 'stty raw -echo; printf "\033[?2004h"; echo rea""dy; head -c 16 >/dev/null; exit 3'`)
	s.expect("ready")
	for chunk := range slices.Chunk(text, typedAtOnce) {
		ty.work <- chunk
		ty.work <- nil
	}
	s.expect("P> ")
	ty.done()
	s.send("\x15echo the e''nd\n")
	s.expect("the end\r\n")
	if _, err := os.Stat(canary); err == nil {
		t.Error("a line of the paste ran in the shell")
	}
}

// TestTypingOn: who types line after line into a terminal that answers nothing gets the
// shell back all the same.
func TestTypingOn(t *testing.T) {
	s, supervisor := shell(t)
	ty := newTypist(s, true)
	s.line(patienceVar + "=200ms " + supervisor + `sh -c 'stty raw -echo; echo rea""dy; head -c 4 >/dev/null; exit 3'`)
	s.expect("ready")
	over := make(chan struct{})
	var typing sync.WaitGroup
	typing.Go(func() {
		for tick := time.NewTicker(150 * time.Millisecond); ; {
			select {
			case <-over:
				return
			case <-tick.C:
				s.send("# x\r")
			}
		}
	})
	s.expect("P> ")
	close(over)
	typing.Wait()
	ty.done()
}

func pasteInto(t *testing.T, end string, size int, marked, mute bool) {
	canary := filepath.Join(t.TempDir(), "canary")
	s, supervisor := shell(t)
	ty := newTypist(s, mute)
	on := ""
	if marked {
		on = `printf "\033[?2004h";`
	}
	if mute {
		supervisor = patienceVar + "=500ms " + supervisor
	}
	s.line(supervisor + `sh -c 'stty raw -echo; ` + on + ` echo rea""dy; head -c 200 >/dev/null; ` + end + `'`)
	s.expect("ready")
	ty.work <- poison(canary, size, marked)
	s.expect("P> ")
	ty.done()
	s.send("\x15echo the e''nd\n")
	s.expect("the end\r\n")
	if _, err := os.Stat(canary); err == nil {
		t.Error("a line of the paste ran in the shell")
	}
}

// TestPasteSpills is the control: without a relay the rest of a paste is the shell's,
// and the canary of these tests is seen.
func TestPasteSpills(t *testing.T) {
	canary := filepath.Join(t.TempDir(), "canary")
	s, _ := shell(t)
	ty := newTypist(s, false)
	s.line(`sh -c 'stty raw -echo; echo rea""dy; head -c 200 >/dev/null; stty sane'`)
	s.expect("ready")
	ty.work <- poison(canary, 5<<10, false)
	s.expect("P> ")
	ty.done()
	s.send("\x15echo the e''nd\n")
	s.expect("the end\r\n")
	if _, err := os.Stat(canary); err != nil {
		t.Errorf("no line of the paste ran: %v", err)
	}
}

// TestPastes: a paste is seen however it is split, and only where it can be one.
func TestPastes(t *testing.T) {
	for _, c := range []struct {
		name, typed string
		ever        bool
		inside      string // what is taken for pasted
		open        bool
	}{
		{"none", "abc", true, "", false},
		{"one", "a\x1b[200~bc\x1b[201~d", true, "bc\x1b[201~", false},
		{"no end", "a\x1b[200~bc", true, "bc", true},
		{"not asked for", "a\x1b[200~bc", false, "", false},
		{"another sequence", "\x1b[20~x\x1b[2000~y\x1b\x1b[200~z", true, "z", true},
		{"a beginning within", "\x1b[200~a\x1b[200~b\x1b[201~c", true, "a\x1b[200~b\x1b[201~", false},
		{"an answer within", "\x1b[200~\x1b[0n", true, "\x1b[0n", true},
	} {
		for size := 1; size <= len(c.typed); size++ {
			var p Pastes
			var inside []byte
			for part := range slices.Chunk([]byte(c.typed), size) {
				for len(part) > 0 {
					n, pasted := p.Scan(part, c.ever, true)
					if pasted {
						inside = append(inside, part[:n]...)
					}
					part = part[n:]
				}
			}
			if string(inside) != c.inside || p.Open() != c.open || p.status != 0 {
				t.Errorf("%s, %d at a time: %q, open %v, %d answers", c.name, size, inside, p.Open(), p.status)
			}
		}
	}
}
