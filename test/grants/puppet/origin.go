package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"sync"
)

func throughProxy(*http.Request) (*url.URL, error) { return url.Parse("http://" + proxy) }

// origin serves an address in one of a few bad ways, and writes a line about each
// connection when it begins and when it ends:
//
//	sink    takes everything and says nothing
//	source  sends without end
//	mute    accepts, and neither reads nor writes
//	retry   wants every ClientHello again, and takes what comes
func origin(kind, address, file string) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	say := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(f, format+"\n", args...)
	}
	for i := 1; ; i++ {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		say("open %d", i)
		go func() {
			n, err := serve(kind, c, func() { say("moved %d", i) })
			say("end %d after %d bytes: %v", i, n, err)
			c.Close()
		}()
	}
}

// enough is more than what lies in buffers on the way: who moved it, moved some of it
// to the other end.
const enough = 16 << 20

func serve(kind string, c net.Conn, moved func()) (n int64, err error) {
	switch kind {
	case "source":
		return move(c, zeros{}, moved)
	case "mute":
		select {}
	case "retry":
		if _, err := c.Write(retry()); err != nil {
			return 0, err
		}
		n, err = io.Copy(io.Discard, c)
	default:
		return move(io.Discard, c, moved)
	}
	return n, err
}

// move copies without end, and tells when it has moved enough.
func move(to io.Writer, from io.Reader, moved func()) (n int64, err error) {
	if n, err = io.CopyN(to, from, enough); err != nil {
		return n, err
	}
	moved()
	more, err := io.Copy(to, from)
	return n + more, err
}
