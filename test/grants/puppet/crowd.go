package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"ringfence.dev/ringfence/test/grants/order"
	"ringfence.dev/ringfence/test/wait"
)

// tally adds up what became of many connections.
type tally struct {
	mu          sync.Mutex
	n           int64
	least, most time.Duration
	errs        map[string]int
}

func (s *tally) add(took time.Duration, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		if s.errs == nil {
			s.errs = map[string]int{}
		}
		s.errs[reason(err)]++
		return
	}
	if s.n == 0 || took < s.least {
		s.least = took
	}
	s.n++
	s.most = max(s.most, took)
}

func (s *tally) answer() order.Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return order.Answer{N: s.n, Least: s.least, Most: s.most, Text: fmt.Sprint(s.errs)}
}

// reason leaves out what differs from connection to connection.
func reason(err error) string {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Op + ": " + op.Err.Error()
	}
	return err.Error()
}

// drip makes N connections and sends each of them Bytes, one byte a second and the
// last one again and again, until the other side ends them. It tells how many ended
// within For, the soonest and the latest.
func drip(o order.Order) order.Answer {
	var s tally
	var all sync.WaitGroup
	for range o.N {
		all.Go(func() { s.add(dripOne(o)) })
	}
	all.Wait()
	return s.answer()
}

func dripOne(o order.Order) (time.Duration, error) {
	began := time.Now()
	c, err := net.DialTimeout("tcp", o.At, o.For)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	ended := make(chan error, 1)
	go func() {
		c.SetReadDeadline(began.Add(o.For))
		_, err := io.Copy(io.Discard, c)
		ended <- err
	}()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for i := 0; ; i++ {
		c.Write(o.Bytes[min(i, len(o.Bytes)-1):][:1])
		select {
		case err := <-ended:
			if errors.Is(err, os.ErrDeadlineExceeded) {
				return 0, errors.New("still open")
			}
			return time.Since(began), nil
		case <-tick.C:
		}
	}
}

// crowd makes N connections, no more than 1000 at a time, and holds them under the
// name Keep. Where Text is set it is sent. It tells how many stand.
func crowd(o order.Order) order.Answer {
	var s tally
	var all sync.WaitGroup
	at := make(chan struct{}, 1000)
	for range o.N {
		at <- struct{}{}
		all.Go(func() {
			defer func() { <-at }()
			began := time.Now()
			c, err := net.DialTimeout("tcp", o.At, o.For)
			if err == nil {
				hold(o.Keep, c)
				if o.Text != "" {
					_, err = io.WriteString(c, o.Text)
				}
			}
			s.add(time.Since(began), err)
		})
	}
	all.Wait()
	return s.answer()
}

var held struct {
	sync.Mutex
	conns map[string][]net.Conn
}

func hold(name string, c net.Conn) {
	held.Lock()
	defer held.Unlock()
	if held.conns == nil {
		held.conns = map[string][]net.Conn{}
	}
	held.conns[name] = append(held.conns[name], c)
}

// release ends a crowd.
func release(o order.Order) order.Answer {
	held.Lock()
	defer held.Unlock()
	n := len(held.conns[o.Keep])
	for _, c := range held.conns[o.Keep] {
		c.Close()
	}
	delete(held.conns, o.Keep)
	return order.Answer{N: int64(n)}
}

// flood sends without end, or receives without end, until the connection breaks.
func flood(o order.Order) order.Answer {
	c, err := net.DialTimeout("tcp", o.At, wait.Patience)
	if err != nil {
		return failed(err)
	}
	defer c.Close()
	var n int64
	if o.Text == "send" {
		n, err = io.Copy(c, zeros{})
	} else {
		n, err = io.Copy(io.Discard, c)
	}
	a := order.Answer{N: n}
	if err != nil {
		a.Error = err.Error()
	}
	return a
}
