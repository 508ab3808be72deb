package main

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"ringfence.dev/ringfence/test/grants/order"
	"ringfence.dev/ringfence/test/wait"
)

// counted counts what was taken from it.
type counted struct {
	io.Reader
	n atomic.Int64
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.n.Add(int64(n))
	return n, err
}

// zeros is what is uploaded: bytes that nobody mistakes for anything.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// upload sends N bytes to At in the way that Text says, and returns how many the
// other side took and how it ended.
func upload(o order.Order) order.Answer {
	body := &counted{Reader: io.LimitReader(zeros{}, o.N)}
	var a order.Answer
	switch o.Text {
	case "http":
		a = post("http://"+o.At+"/digest", body, &http.Transport{})
	case "chunked":
		a = post("http://"+o.At+"/digest", struct{ io.Reader }{body}, &http.Transport{})
	case "h2c":
		tr := &http.Transport{Protocols: new(http.Protocols)}
		tr.Protocols.SetUnencryptedHTTP2(true)
		a = post("http://"+o.At+"/digest", body, tr)
	case "https":
		a = post("https://"+o.At+"/digest", body, &http.Transport{TLSClientConfig: trusted()})
	case "absolute":
		a = post("http://"+o.At+"/digest", body, &http.Transport{Proxy: throughProxy})
	case "connect-https":
		a = post("https://"+o.At+"/digest", body, &http.Transport{Proxy: throughProxy, TLSClientConfig: trusted()})
	case "connect":
		c, r := dialProxy(o)
		if a = r; c != nil {
			a = pour(c, body)
		}
	case "retried":
		a = retried(o, body)
	default:
		c, err := net.DialTimeout("tcp", o.At, wait.Patience)
		if err != nil {
			return failed(err)
		}
		a = pour(c, body)
	}
	a.N = body.n.Load()
	return a
}

// post sends a body over a connection of its own.
func post(url string, body io.Reader, tr *http.Transport) order.Answer {
	tr.DisableKeepAlives = true
	c := http.Client{Timeout: wait.Patience, Transport: tr}
	q, err := http.NewRequest("POST", url, body)
	if err != nil {
		return failed(err)
	}
	if b, ok := body.(*counted); ok {
		q.ContentLength = b.Reader.(*io.LimitedReader).N
	}
	r, err := c.Do(q)
	if err != nil {
		return failed(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(io.LimitReader(r.Body, maxText))
	if err != nil {
		return failed(err)
	}
	return order.Answer{Status: r.StatusCode, Text: string(b)}
}

// pour sends everything, ends, and reads the answer.
func pour(c net.Conn, body io.Reader) order.Answer {
	defer c.Close()
	c.SetDeadline(time.Now().Add(wait.Patience))
	if _, err := io.Copy(c, body); err != nil {
		return failed(err)
	}
	if t, ok := c.(*net.TCPConn); ok {
		t.CloseWrite()
	}
	b, err := io.ReadAll(io.LimitReader(c, maxText))
	if err != nil {
		return failed(err)
	}
	return order.Answer{Text: strings.TrimSpace(string(b))}
}

// retried says hello to a server that wants another hello, and sends what may come
// before that: records of early data.
func retried(o order.Order, body io.Reader) order.Answer {
	c, err := net.DialTimeout("tcp", o.At, wait.Patience)
	if err != nil {
		return failed(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(wait.Patience))
	host, _, _ := net.SplitHostPort(o.At)
	if _, err := c.Write(hello(host)); err != nil {
		return failed(err)
	}
	if _, err := io.ReadFull(c, make([]byte, len(retry()))); err != nil {
		return failed(fmt.Errorf("no retry: %w", err))
	}
	const most = 16 << 10
	record := make([]byte, 5+most)
	for {
		n, err := io.ReadFull(body, record[5:])
		if n > 0 {
			copy(record, []byte{23, 3, 3, byte(n >> 8), byte(n)})
			if _, err := c.Write(record[:5+n]); err != nil {
				return failed(err)
			}
		}
		if err != nil {
			break
		}
	}
	c.SetReadDeadline(time.Now().Add(2 * time.Second))
	_, err = c.Read(record)
	return order.Answer{Error: fmt.Sprint(err)}
}

// hello is a ClientHello for a host.
func hello(host string) []byte {
	near, far := net.Pipe()
	go tls.Client(far, &tls.Config{ServerName: host}).Handshake()
	defer near.Close()
	b := make([]byte, 5)
	io.ReadFull(near, b)
	b = append(b, make([]byte, int(b[3])<<8|int(b[4]))...)
	io.ReadFull(near, b[5:])
	return b
}

// retry is a ServerHello that asks for another ClientHello (RFC 8446, 4.1.3).
func retry() []byte {
	random := []byte{0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91,
		0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c}
	body := append([]byte{3, 3}, random...)
	body = append(body, 0, 0x13, 0x01, 0, 0, 6, 0, 43, 0, 2, 3, 4)
	message := append([]byte{2, 0, 0, byte(len(body))}, body...)
	return append([]byte{22, 3, 3, 0, byte(len(message))}, message...)
}
