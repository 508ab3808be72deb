package ssh

import (
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"time"
)

// counted is where a relay says its number, and how much went to the other machine.
const (
	counts = "/tmp/relay-count"
	pids   = "/tmp/relay-pid"
)

// shut is a file: as long as it is there, no relay leads anywhere.
const shut = "/tmp/relay-shut"

// relayMain stands between ssh and sshd: it delays each direction by so many milliseconds,
// loses so many of a hundred segments, counts what goes there, and can be killed.
func relayMain(args []string) int {
	if args[0] == "knock" {
		return knock(args[1])
	}
	ms, _ := strconv.Atoi(args[0])
	if _, err := os.Stat(shut); err == nil {
		fmt.Fprintln(os.Stderr, "the way is shut")
		return 1
	}
	var lost loss
	if len(args) > 1 {
		lost.percent, _ = strconv.Atoi(args[1])
	}
	c, err := net.Dial("tcp", "127.0.0.1:"+port)
	if err != nil {
		return 1
	}
	os.WriteFile(pids, fmt.Appendf(nil, "%d", os.Getpid()), 0o666)
	delay := time.Duration(ms) * time.Millisecond
	var both sync.WaitGroup
	both.Go(func() {
		late(c, os.Stdin, delay, lost, func(total int64) {
			own := fmt.Sprintf("%s-%d", counts, os.Getpid())
			os.WriteFile(own, fmt.Appendf(nil, "%d", total), 0o666)
			os.Rename(own, counts) // who reads it never finds half of it
		})
		c.(*net.TCPConn).CloseWrite()
	})
	both.Go(func() {
		late(os.Stdout, c, delay, lost, nil)
		os.Stdout.Close()
	})
	both.Wait()
	return 0
}

// loss is that of a link, as who speaks TCP over it has it: nothing is gone, but a segment that
// was lost comes again after another way there and back, at least a fifth of a second later
// where nothing follows that would tell of it, and all that is behind it waits. The kernels
// that this is tested on have no netem.
type loss struct {
	percent int
	dice    uint32
	last    time.Time
}

// due is when a piece has come.
func (l *loss) due(n int, delay time.Duration) time.Time {
	const segment, timeout = 1448, 200 * time.Millisecond
	due := time.Now().Add(delay)
	for at := 0; l.percent > 0 && at < n; at += segment {
		l.dice = l.dice*1664525 + 1013904223 // the same each time
		if int(l.dice>>16)%100 < l.percent {
			due = due.Add(2 * delay)
			if at+segment >= n {
				due = due.Add(timeout)
			}
		}
	}
	if due.Before(l.last) {
		due = l.last
	}
	l.last = due
	return due
}

// knock is somebody who does not know the secret of a session: it says how a link begins, hears
// what the other end says, and proves nothing.
func knock(door string) int {
	c, err := net.Dial("unix", door)
	if err != nil {
		fmt.Println("closed:", err)
		return 0
	}
	defer c.Close()
	c.Write(append([]byte("rfcarry\x01g"), make([]byte, 32)...))
	if _, err := io.ReadFull(c, make([]byte, 64)); err != nil {
		fmt.Println("silent:", err)
		return 0
	}
	c.Write(make([]byte, 40))
	if n, err := io.ReadFull(c, make([]byte, 40)); err != nil {
		fmt.Println("refused after", n)
		return 0
	}
	fmt.Println("let in")
	return 0
}

// late copies, and lets each piece wait. What waits does not stop what comes.
func late(w io.Writer, r io.Reader, delay time.Duration, lost loss, count func(int64)) {
	type piece struct {
		due  time.Time
		data []byte
	}
	queue := make(chan piece, 1<<16)
	go func() {
		defer close(queue)
		for {
			buf := make([]byte, 32<<10)
			n, err := r.Read(buf)
			if n > 0 {
				queue <- piece{lost.due(n, delay), buf[:n]}
			}
			if err != nil {
				return
			}
		}
	}()
	var total int64
	for p := range queue {
		time.Sleep(time.Until(p.due))
		if _, err := w.Write(p.data); err != nil {
			return
		}
		if total += int64(len(p.data)); count != nil {
			count(total)
		}
	}
}
