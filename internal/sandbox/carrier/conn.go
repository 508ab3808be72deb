package carrier

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// A frame is its kind, four bytes of length, and so many bytes.
const (
	kindData = 1 // the next bytes of the stream
	kindHave = 2 // eight bytes: how much of the stream has come
	kindEnd  = 3 // nothing: the other end closed it
	kindPart = 4 // nothing: the other end left, and does not come back

	headSize = 5
	maxData  = 32 << 10
)

// Wrong is something that an honest end never says. It ends the carrier.
type Wrong string

func (w Wrong) Error() string { return "the other end says what none says: " + string(w) }

// conn is one connection.
type conn struct {
	io.ReadWriteCloser
	once   sync.Once
	in     *bufio.Reader
	left   int          // of the frame of data that is being read
	silent atomic.Int32 // how often nothing was heard
	asked  bool         // to say what has come; the carrier's mutex guards it
	gone   chan struct{}
	sender chan struct{} // closed when nothing is sent any more
}

func newConn(rw io.ReadWriteCloser) *conn {
	return &conn{ReadWriteCloser: rw, in: bufio.NewReaderSize(rw, 64<<10), gone: make(chan struct{}), sender: make(chan struct{})}
}

// Close closes it once.
func (k *conn) Close() (err error) {
	k.once.Do(func() {
		close(k.gone)
		err = k.ReadWriteCloser.Close()
	})
	return err
}

// read reads data, and obeys what is none. It may return nothing without an error.
func (k *conn) read(c *Carrier, p []byte) (int, error) {
	if k.left == 0 {
		kind, n, err := readHead(k.in)
		if err != nil {
			return 0, broken(err)
		}
		k.silent.Store(0)
		switch kind {
		case kindData:
			k.left = n
		case kindEnd:
			return 0, io.EOF
		case kindPart:
			return 0, errParted
		default:
			var body [8]byte
			if _, err := io.ReadFull(k.in, body[:]); err != nil {
				return 0, broken(err)
			}
			return 0, c.known(k, binary.BigEndian.Uint64(body[:]))
		}
	}
	n, err := k.in.Read(p[:min(len(p), k.left)])
	k.left -= n
	k.silent.Store(0)
	if n > 0 {
		err = nil // it comes again
	}
	return n, broken(err)
}

// broken is the end of a connection that nobody announced.
func broken(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// readHead reads what a frame begins with.
func readHead(r io.Reader) (kind byte, n int, err error) {
	var head [headSize]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, 0, err
	}
	size := binary.BigEndian.Uint32(head[1:])
	switch {
	case head[0] == kindData && size > 0 && size <= maxData, head[0] == kindHave && size == 8, (head[0] == kindEnd || head[0] == kindPart) && size == 0:
		return head[0], int(size), nil
	}
	return 0, 0, Wrong(fmt.Sprintf("a frame of kind %d with %d bytes", head[0], size))
}

func appendHead(b []byte, kind byte, n int) []byte {
	return binary.BigEndian.AppendUint32(append(b, kind), uint32(n))
}

// known forgets what the other end has.
func (c *Carrier) known(k *conn, have uint64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn != k {
		return nil
	}
	before := c.out.first
	if have > before+uint64(c.sent) || !c.out.drop(have) {
		return Wrong("that it has what was not sent")
	}
	c.sent -= int(have - before)
	c.changed.Broadcast()
	return nil
}

// send sends what there is as long as the connection is the carrier's.
func (c *Carrier) send(k *conn) {
	defer close(k.sender)
	buf := make([]byte, 0, 2*headSize+8+maxData)
	for {
		var last bool
		if buf, last = c.gather(k, buf[:0]); len(buf) == 0 {
			return
		}
		if _, err := k.Write(buf); err != nil {
			go c.drop(k, err) // Close may wait for this
			return
		}
		if last {
			return
		}
	}
}

// gather waits for something to send; nothing: the connection is the carrier's no more.
func (c *Carrier) gather(k *conn, b []byte) (_ []byte, last bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.conn == k && !c.closing && c.sent == c.out.len && !k.asked && c.got-c.told < Window/8 {
		c.changed.Wait()
	}
	switch {
	case c.conn != k:
		return nil, true
	case c.closing:
		return appendHead(b, c.last, 0), true
	}
	if k.asked || c.got-c.told >= Window/8 {
		b = binary.BigEndian.AppendUint64(appendHead(b, kindHave, 8), c.got)
		k.asked, c.told = false, c.got
	}
	if n := min(maxData, c.out.len-c.sent); n > 0 {
		b = c.out.appendFrom(appendHead(b, kindData, n), c.sent, n)
		c.sent += n
	}
	return b, false
}

// patience is how many times nothing may be heard.
const patience = 3

// watch says now and then that this end is there, and gives a connection up over which nothing
// is heard. Times are counted, not measured: who was stopped itself has not listened.
func (c *Carrier) watch(k *conn) {
	tick := time.NewTicker(c.alive)
	defer tick.Stop()
	for {
		select {
		case <-k.gone:
			return
		case <-tick.C:
		}
		if k.silent.Add(1) > patience && !c.patient.Load() {
			c.drop(k, errSilent)
			return
		}
		c.mu.Lock()
		k.asked = true
		c.changed.Broadcast()
		c.mu.Unlock()
	}
}

var errSilent = errors.New("nothing is heard from the other end")
