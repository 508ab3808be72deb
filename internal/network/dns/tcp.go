package dns

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"
)

// ServeTCP serves until l is closed, which is no error, and returns when all
// connections are closed. One too many is closed at once: waiting in the backlog
// it would look like a resolver that hangs.
func (s *Server) ServeTCP(l net.Listener) error {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()

	limits := s.limits.orDefault()
	places := make(chan struct{}, limits.conns)
	var failures patience
	for {
		conn, err := l.Accept()
		switch {
		case err == nil:
			failures = 0
		case !failures.spent(err):
			continue
		case errors.Is(err, net.ErrClosed):
			return nil
		default:
			return fmt.Errorf("accept: %w", err)
		}
		select {
		case places <- struct{}{}:
			running.Go(func() {
				s.attend(ctx, conn, limits.idle)
				<-places
			})
		default:
			conn.Close()
		}
	}
}

// attend serves one connection and closes it, at the latest when ctx is done.
func (s *Server) attend(ctx context.Context, conn net.Conn, idle time.Duration) {
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	defer conn.Close()
	from, ok := conn.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return
	}
	s.converse(ctx, conn, sender(from.AddrPort()), idle)
}

// converse answers queries one by one, in their order, until the client has no
// more, is too slow, or sends what is no query. The client has the idle time for
// each whole query and each whole reply, not for every byte of them.
func (s *Server) converse(ctx context.Context, conn net.Conn, from netip.AddrPort, idle time.Duration) {
	in := bufio.NewReaderSize(conn, MaxQuery)
	query := make([]byte, MaxQuery+1)
	var reply []byte
	for {
		_ = conn.SetReadDeadline(time.Now().Add(idle)) // fails on a closed one, as the read will
		n, err := readFrame(in, query)
		if err != nil {
			return
		}
		q, fault := parse(query[:n])
		var a Answer
		switch {
		case fault == nil:
			a = s.Handler(ctx, q, viaTCP, from)
			if ctx.Err() != nil { // not an answer, only a return
				return
			}
		case fault.Drop:
			return
		default:
			a = Answer{Code: fault.Code}
		}
		reply = q.appendReply(append(reply[:0], 0, 0), a, maxTCP)
		binary.BigEndian.PutUint16(reply, uint16(len(reply)-2))
		_ = conn.SetWriteDeadline(time.Now().Add(idle))
		if _, err := conn.Write(reply); err != nil {
			return
		}
	}
}

// readFrame reads one message into buf and returns its length. Of a longer one
// it keeps as much as fits, and skips the rest.
func readFrame(in *bufio.Reader, buf []byte) (int, error) {
	if _, err := io.ReadFull(in, buf[:2]); err != nil {
		return 0, err
	}
	size := int(binary.BigEndian.Uint16(buf))
	n := min(size, len(buf))
	if _, err := io.ReadFull(in, buf[:n]); err != nil {
		return 0, err
	}
	_, err := in.Discard(size - n)
	return n, err
}
