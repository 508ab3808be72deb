package gate

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// owners tells which process inside holds the other end of a connection. It is for
// the record, never for a verdict: a process can hand its work to another.
type owners struct {
	mu   sync.Mutex
	fd   int // a socket of the sandbox's network that answers such questions
	id   uint32
	pid  int // of the first process inside, on the host
	last int // who it was last time, on the host: most likely the same again
	full time.Time

	seekers  chan struct{}
	second   atomic.Int64 // which one it is
	searches atomic.Int64 // in it
}

// Bounds of the searches, whatever is inside.
const (
	searchesASecond = 50
	maxSeekers      = 16
	searchFor       = 25 * time.Millisecond
)

// searchEvery bounds the searches through all processes of the sandbox.
const searchEvery = 20 * time.Millisecond

func newOwners(f *os.File, pid int) (*owners, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 1})
	return &owners{fd: fd, pid: pid, seekers: make(chan struct{}, maxSeekers)}, nil
}

func (o *owners) close() {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	unix.Close(o.fd)
	o.fd = -1
}

// owner is an answer that may still be coming.
type owner struct {
	done    chan struct{}
	pid     int // as it is inside
	command string
}

// ask begins to look for who made a connection. Of connections that are allowed only
// so many a second are looked into: a build that opens thousands should not wait for
// its own record. A refusal is always worth the search.
func (o *owners) ask(c *net.TCPConn, to netip.AddrPort, refused bool) *owner {
	w := &owner{done: make(chan struct{})}
	from, ok := c.RemoteAddr().(*net.TCPAddr)
	if !ok { // it was reset before anybody looked
		close(w.done)
		return w
	}
	if o == nil || !refused && !o.spare() {
		close(w.done)
		return w
	}
	select {
	case o.seekers <- struct{}{}:
	default: // too many are at it: an agent could make thousands of them
		close(w.done)
		return w
	}
	go func() {
		defer func() { <-o.seekers; close(w.done) }()
		w.pid, w.command = o.find(from.AddrPort(), to)
	}()
	return w
}

// spare takes one of this second's searches.
func (o *owners) spare() bool {
	now := time.Now().Unix()
	if o.second.Swap(now) != now {
		o.searches.Store(0)
	}
	return o.searches.Add(1) <= searchesASecond
}

// wait gives the search a moment.
func (w *owner) wait() {
	select {
	case <-w.done:
	case <-time.After(50 * time.Millisecond):
	}
}

// known returns what was found so far.
func (w *owner) known() (pid int, command string) {
	select {
	case <-w.done:
		return w.pid, w.command
	default:
		return 0, ""
	}
}

// seekAgain is how often it is looked for who waits, while that is not known.
const seekAgain = 200 * time.Millisecond

// unlessKnown begins another search where the last one ended without an answer: on a
// busy machine its time is soon over, and a person wants to know who asks.
func (o *owners) unlessKnown(k *call) *owner {
	select {
	case <-k.owner.done:
		if k.owner.pid == 0 {
			return o.ask(k.client, k.to, true)
		}
	default: // it is still coming
	}
	return k.owner
}

func (o *owners) find(from, to netip.AddrPort) (int, string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	inode, err := o.inode(from, to)
	if err != nil || inode == 0 {
		return 0, ""
	}
	link := "socket:[" + strconv.FormatUint(uint64(inode), 10) + "]"
	if o.last != 0 && holds(o.last, link) {
		return describe(o.last)
	}
	if time.Since(o.full) < searchEvery {
		return 0, ""
	}
	defer func() { o.full = time.Now() }()
	deadline := time.Now().Add(searchFor)
	for _, pid := range tree(o.pid, deadline) {
		if time.Now().After(deadline) {
			break
		}
		if holds(pid, link) {
			o.last = pid
			return describe(pid)
		}
	}
	return 0, ""
}

// inode asks the sandbox's network for one socket (inet_diag_req_v2).
func (o *owners) inode(from, to netip.AddrPort) (uint32, error) {
	if o.fd < 0 {
		return 0, os.ErrClosed
	}
	o.id++
	b := make([]byte, unix.NLMSG_HDRLEN+56)
	ne, be := binary.NativeEndian, binary.BigEndian
	ne.PutUint32(b, uint32(len(b)))
	ne.PutUint16(b[4:], 20) // SOCK_DIAG_BY_FAMILY
	ne.PutUint16(b[6:], unix.NLM_F_REQUEST)
	ne.PutUint32(b[8:], o.id)
	q := b[unix.NLMSG_HDRLEN:]
	q[0], q[1] = unix.AF_INET, unix.IPPROTO_TCP
	if from.Addr().Is6() {
		q[0] = unix.AF_INET6
	}
	ne.PutUint32(q[4:], ^uint32(0)) // any state
	be.PutUint16(q[8:], from.Port())
	be.PutUint16(q[10:], to.Port())
	copy(q[12:28], from.Addr().AsSlice())
	copy(q[28:44], to.Addr().AsSlice())
	copy(q[48:56], bytes.Repeat([]byte{0xff}, 8)) // no cookie
	if err := unix.Sendto(o.fd, b, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return 0, err
	}
	buf := make([]byte, 2048)
	for {
		n, _, err := unix.Recvfrom(o.fd, buf, 0)
		if err != nil {
			return 0, err
		}
		if n < unix.NLMSG_HDRLEN+72 || ne.Uint16(buf[4:]) != 20 {
			return 0, errors.New("no such socket")
		}
		if ne.Uint32(buf[8:]) == o.id {
			return ne.Uint32(buf[unix.NLMSG_HDRLEN+68:]), nil // idiag_inode
		}
	}
}

// maxTree bounds the processes that are looked at.
const maxTree = 4096

// tree lists the processes below one, the youngest generation last.
func tree(root int, deadline time.Time) []int {
	out := []int{}
	queue := []int{root}
	for len(queue) > 0 && len(out) < maxTree && root != 0 && time.Now().Before(deadline) {
		pid := queue[0]
		queue = queue[1:]
		out = append(out, pid)
		tasks, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
		if err != nil {
			continue
		}
		for _, t := range tasks {
			b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/task/" + t.Name() + "/children")
			if err != nil {
				continue
			}
			for f := range strings.FieldsSeq(string(b)) {
				if child, err := strconv.Atoi(f); err == nil {
					queue = append(queue, child)
				}
			}
		}
	}
	slices.Reverse(out) // whoever connects is young
	return out
}

// holds reports whether a process has a socket open.
func holds(pid int, link string) bool {
	dir := "/proc/" + strconv.Itoa(pid) + "/fd"
	d, err := os.Open(dir)
	if err != nil {
		return false
	}
	defer d.Close()
	names, err := d.Readdirnames(maxTree)
	if err != nil {
		return false
	}
	buf := make([]byte, 64)
	for _, n := range names {
		if size, err := unix.Readlinkat(int(d.Fd()), n, buf); err == nil && string(buf[:size]) == link {
			return true
		}
	}
	return false
}

// describe returns the number that a process has inside, and its name.
func describe(pid int) (int, string) {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0, ""
	}
	inside, name := 0, ""
	for line := range strings.Lines(string(status)) {
		if v, ok := strings.CutPrefix(line, "Name:\t"); ok {
			name = strings.TrimSuffix(v, "\n")
		}
		if v, ok := strings.CutPrefix(line, "NSpid:"); ok {
			if f := strings.Fields(v); len(f) > 0 {
				inside, _ = strconv.Atoi(f[len(f)-1])
			}
		}
	}
	return inside, name
}
