package probe

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// The proxy endpoint, wherever it is.
const (
	Proxy4 = "proxy4"
	Proxy6 = "proxy6"
)

// Talk is a conversation over TCP.
type Talk struct {
	To     string // HOST:PORT, Proxy4 or Proxy6
	Family int    // 4 or 6: which addresses of a name are used; 0: whichever
	Steps  []Step
	Enough string // what is waited for at the end
	Open   bool   // the end may be a time-out: nothing is expected any more
}

// Step is one move: it sends, and then waits for something.
type Step struct {
	Send  []byte
	Flood int           // send it so often, and listen meanwhile
	Chop  int           // send it in pieces of so many bytes
	Pause time.Duration // before each piece
	TLS   string        // go on inside TLS, asking for this server
	Shut  bool          // nothing more will be sent
	Until string        // wait until this has come
}

// Say is a step that sends text.
func Say(s string) Step { return Step{Send: []byte(s)} }

// conversation is one that goes on.
type conversation struct {
	conn net.Conn
	raw  *net.TCPConn
	got  []byte
	seen int // how much of got was waited for
	end  string
	want string // which of the steps did not get what it waited for
}

func (at Where) talk(ctx context.Context, t *Talk) Answer {
	conn, err := at.dial(ctx, t)
	if err != nil {
		return Answer{End: ended(err), Text: err.Error()}
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	if t.Open {
		deadline = time.Now().Add(700 * time.Millisecond)
	}
	conn.SetDeadline(deadline)
	c := &conversation{conn: conn, raw: conn.(*net.TCPConn)}
	for i := range t.Steps {
		if c.step(&t.Steps[i]); c.end != "" {
			return Answer{Got: c.got, End: c.end, Text: c.want}
		}
	}
	c.until(t.Enough)
	return Answer{Got: c.got, End: c.end, Done: t.Enough != "" && c.end == Enough}
}

func (at Where) dial(ctx context.Context, t *Talk) (net.Conn, error) {
	to := t.To
	switch to {
	case Proxy4:
		to = at.Proxy4
	case Proxy6:
		to = at.Proxy6
	}
	host, port, err := net.SplitHostPort(to)
	if err != nil {
		return nil, err
	}
	if a, err := netip.ParseAddr(host); err == nil {
		return (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(withZone(a).String(), port))
	}
	network := "ip"
	if t.Family != 0 {
		network = fmt.Sprintf("ip%d", t.Family)
	}
	addrs, err := (&net.Resolver{PreferGo: true}).LookupNetIP(ctx, network, host)
	if err != nil {
		return nil, err
	}
	// The first, as a simple program would: not the best.
	return (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(addrs[0].String(), port))
}

// withZone gives a link-local address the interface that leads out, if there is one.
func withZone(a netip.Addr) netip.Addr {
	if a.Is6() && (a.IsLinkLocalUnicast() || a.IsLinkLocalMulticast()) {
		return a.WithZone(outward())
	}
	return a
}

func outward() string {
	all, _ := net.Interfaces()
	for _, i := range all {
		if i.Flags&net.FlagUp != 0 && i.Flags&net.FlagLoopback == 0 {
			return i.Name
		}
	}
	return "lo"
}

func (c *conversation) step(s *Step) {
	if s.Flood > 0 {
		go func() {
			for range s.Flood {
				if c.send(s) != nil {
					return
				}
			}
		}()
	} else if err := c.send(s); err != nil {
		c.until("") // what was said before it broke
		return
	}
	if s.TLS != "" {
		secure := tls.Client(c.conn, &tls.Config{ServerName: s.TLS, InsecureSkipVerify: true})
		if err := secure.Handshake(); err != nil {
			c.end, c.want = ended(err), "TLS: "+err.Error()
			return
		}
		c.conn = secure
	}
	if s.Shut {
		c.raw.CloseWrite()
	}
	if s.Until == "" {
		return
	}
	if c.until(s.Until); c.end == Enough {
		c.end = ""
		return
	}
	c.want = fmt.Sprintf("no %q", s.Until)
}

func (c *conversation) send(s *Step) error {
	size := len(s.Send)
	if s.Chop > 0 {
		size = s.Chop
	}
	for rest := s.Send; len(rest) > 0; {
		n := min(size, len(rest))
		time.Sleep(s.Pause)
		if _, err := c.conn.Write(rest[:n]); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}

// until reads until text has come, or the end. What was waited for once is not found
// again.
func (c *conversation) until(text string) {
	buf := make([]byte, 4096)
	for {
		if i := bytes.Index(c.got[c.seen:], []byte(text)); text != "" && i >= 0 {
			c.seen += i + len(text)
			c.end = Enough
			return
		}
		n, err := c.conn.Read(buf)
		if len(c.got) < 4*maxGot {
			c.got = append(c.got, buf[:n]...)
		}
		if err != nil && n == 0 {
			c.end = ended(err)
			return
		}
	}
}

func ended(err error) string {
	var dns *net.DNSError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return EOF
	case errors.Is(err, unix.ECONNRESET), errors.Is(err, unix.EPIPE):
		return Reset
	case errors.Is(err, unix.ECONNREFUSED):
		return Refused
	case errors.As(err, &dns) && dns.IsNotFound:
		return NoName
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded), strings.Contains(err.Error(), "i/o timeout"):
		return Timeout
	}
	var errno unix.Errno
	if errors.As(err, &errno) {
		return unix.ErrnoName(errno)
	}
	return err.Error()
}
