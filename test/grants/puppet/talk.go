package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"ringfence.dev/ringfence/test/grants/order"
	"ringfence.dev/ringfence/test/wait"
)

// proxy is the endpoint for programs that insist on one.
const proxy = "127.0.0.1:808"

const maxText = 16 << 10

func trusted() *tls.Config {
	pool := x509.NewCertPool()
	if pem, err := os.ReadFile("ca.pem"); err == nil {
		pool.AppendCertsFromPEM(pem)
	}
	return &tls.Config{RootCAs: pool}
}

// get asks for a URL, over a connection of its own.
func get(o order.Order) order.Answer {
	q, err := http.NewRequest("GET", o.At, nil)
	if err != nil {
		return failed(err)
	}
	if o.Accept != "" {
		q.Header.Set("Accept", o.Accept)
	}
	c := http.Client{Timeout: wait.Patience, Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: trusted()}}
	r, err := c.Do(q)
	if err != nil {
		return failed(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(io.LimitReader(r.Body, maxText))
	a := order.Answer{Status: r.StatusCode, Text: string(b)}
	if err != nil {
		a.Error = err.Error()
	}
	return a
}

// look asks the resolver.
func look(o order.Order) order.Answer {
	ctx, cancel := context.WithTimeout(context.Background(), wait.Patience)
	defer cancel()
	addrs, err := net.DefaultResolver.LookupHost(ctx, o.At)
	a := order.Answer{Text: strings.Join(addrs, " ")}
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		a.Error = "no such host"
	case err != nil:
		a.Error = err.Error()
	}
	return a
}

// dialProxy asks the proxy endpoint for a tunnel.
func dialProxy(o order.Order) (net.Conn, order.Answer) {
	c, err := net.DialTimeout("tcp", proxy, wait.Patience)
	if err != nil {
		return nil, failed(err)
	}
	c.SetDeadline(time.Now().Add(wait.Patience))
	accept := ""
	if o.Accept != "" {
		accept = "Accept: " + o.Accept + "\r\n"
	}
	if _, err := fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", o.At, o.At, accept); err != nil {
		c.Close()
		return nil, failed(err)
	}
	r, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: "CONNECT"})
	if err != nil {
		c.Close()
		return nil, failed(err)
	}
	if r.StatusCode == 200 {
		c.SetDeadline(time.Time{})
		return c, order.Answer{Status: 200}
	}
	defer c.Close()
	b, err := io.ReadAll(io.LimitReader(r.Body, maxText))
	a := order.Answer{Status: r.StatusCode, Text: string(b)}
	if err != nil {
		a.Error = err.Error()
	}
	return nil, a
}

// connect asks for a tunnel and lets go of it.
func connect(o order.Order) order.Answer {
	c, a := dialProxy(o)
	if c != nil {
		c.Close()
	}
	return a
}

// raw sends bytes and returns all that comes back, within For if that is set.
func raw(o order.Order) order.Answer {
	c, err := net.DialTimeout("tcp", o.At, wait.Patience)
	if err != nil {
		return failed(err)
	}
	defer c.Close()
	bound := wait.Patience
	if o.For > 0 {
		bound = o.For
	}
	c.SetDeadline(time.Now().Add(bound))
	if _, err := c.Write(append(o.Bytes, o.Text...)); err != nil {
		return failed(err)
	}
	b, err := io.ReadAll(io.LimitReader(c, maxText))
	a := order.Answer{Text: string(b), N: int64(len(b))}
	if err != nil {
		a.Error = err.Error()
	}
	return a
}

// kept are the connections that orders speak of again.
var kept struct {
	sync.Mutex
	conns map[string]net.Conn
}

func keep(name string, c net.Conn) {
	kept.Lock()
	defer kept.Unlock()
	if kept.conns == nil {
		kept.conns = map[string]net.Conn{}
	}
	kept.conns[name] = c
}

// open makes a connection, sends something, waits for the first bytes that come and
// keeps it. At may begin with https://: then it is TLS.
func open(o order.Order) order.Answer {
	at, secure := strings.CutPrefix(o.At, "https://")
	c, err := net.DialTimeout("tcp", at, wait.Patience)
	if err != nil {
		return failed(err)
	}
	if secure {
		conf := trusted()
		conf.ServerName, _, _ = net.SplitHostPort(at)
		c = tls.Client(c, conf)
	}
	a := ask(c, o.Text)
	if a.Error == "" {
		keep(o.Keep, c)
	}
	return a
}

// ask says something and reads what comes first.
func ask(c net.Conn, text string) order.Answer {
	c.SetDeadline(time.Now().Add(wait.Patience))
	if _, err := io.WriteString(c, text); err != nil {
		c.Close()
		return failed(err)
	}
	buf := make([]byte, 512)
	n, err := c.Read(buf)
	if err != nil {
		c.Close()
		return failed(err)
	}
	c.SetDeadline(time.Time{})
	return order.Answer{Text: string(buf[:n])}
}

// say says something more on a connection that is kept.
func say(o order.Order) order.Answer {
	kept.Lock()
	c := kept.conns[o.Keep]
	kept.Unlock()
	if c == nil {
		return failed(fmt.Errorf("there is no connection %q", o.Keep))
	}
	return ask(c, o.Text)
}

// ended waits for the end of a connection that was kept, and counts what comes until
// then. A connection that goes on is not an error.
func ended(o order.Order) order.Answer {
	kept.Lock()
	c := kept.conns[o.Keep]
	kept.Unlock()
	if c == nil {
		return failed(fmt.Errorf("there is no connection %q", o.Keep))
	}
	c.SetReadDeadline(time.Now().Add(o.For))
	n, err := io.Copy(io.Discard, c)
	a := order.Answer{N: n, Text: "ended"}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		a.Text = "open"
	} else if err != nil {
		a.Error = err.Error()
	}
	return a
}

// listen greets whoever comes to a port of the loopback, until the puppet ends.
func listen(o order.Order) order.Answer {
	l, err := net.Listen("tcp", o.At)
	if err != nil {
		return failed(err)
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			fmt.Fprintln(c, "hello from inside")
			c.Close()
		}
	}()
	return order.Answer{}
}

// askUnix asks an abstract socket for the state of its session.
func askUnix(name string) order.Answer {
	c, err := net.Dial("unix", name)
	if err != nil {
		return failed(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(c, `{"do":"status"}`+"\n"); err != nil {
		return failed(err)
	}
	b, err := io.ReadAll(io.LimitReader(c, maxText))
	a := order.Answer{Text: string(b)}
	if err != nil {
		a.Error = err.Error()
	}
	return a
}

// squat answers everything at an abstract socket as if it were a session.
func squat(name string) error {
	l, err := net.Listen("unix", name)
	if err != nil {
		return err
	}
	fmt.Println("listening")
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer c.Close()
			c.SetDeadline(time.Now().Add(wait.Patience))
			bufio.NewReader(c).ReadString('\n')
			io.WriteString(c, `{"status":{"session":"squatter00","agent":"squatter","dir":"/","mode":"dev"},"grant":{"rule":"squatted.test"}}`+"\n")
		}()
	}
}
