// Command netserve is what the network attacks need on the internet beside the
// servers that are there anyway. Each writes down what it was told.
//
//	netserve connect ADDRESS LOG    a proxy that takes CONNECT from anybody
//	netserve socks ADDRESS LOG      the same by SOCKS5
//	netserve redirect ADDRESS LOG   answers every request with a way to somewhere else
//	netserve retry ADDRESS LOG      a TLS server that wants to be greeted again
//	netserve hold ADDRESS LOG       keeps connections, and writes when they end
package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
)

func main() {
	serve := map[string]func(net.Conn, *log){"connect": connect, "socks": socks, "redirect": redirect, "retry": retry, "hold": hold}
	if len(os.Args) != 4 || serve[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: netserve connect|socks|redirect|retry|hold ADDRESS LOG")
		os.Exit(2)
	}
	fmt.Fprintln(os.Stderr, "netserve:", run(serve[os.Args[1]], os.Args[2], os.Args[3]))
	os.Exit(1)
}

// run serves until it cannot.
func run(serve func(net.Conn, *log), address, path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	out := &log{file: file}
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer c.Close()
			serve(c, out)
		}()
	}
}

// log is what a server writes for the test to read.
type log struct {
	mu   sync.Mutex
	file *os.File
}

func (l *log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Write(b)
}

// connect dials the first address that a name has, whatever it is.
func connect(c net.Conn, out *log) {
	r := bufio.NewReader(c)
	if method, err := r.Peek(len(http.MethodConnect)); err == nil && string(method) != http.MethodConnect {
		pass(c, r, out)
		return
	}
	q, err := http.ReadRequest(r)
	if err != nil {
		return
	}
	fmt.Fprintf(out, "%s %s\n", q.Method, q.RequestURI)
	to, err := dialFirst(q.RequestURI)
	if err != nil || q.Method != http.MethodConnect {
		io.WriteString(c, "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
		return
	}
	defer to.Close()
	io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
	join(c, r, to)
}

// pass hands over what comes in absolute form, byte for byte, to the host of its first
// line: nothing that the origin could misread is mended here.
func pass(c net.Conn, r *bufio.Reader, out *log) {
	var line []byte
	for n := 1; ; n++ {
		b, err := r.Peek(n)
		if err != nil {
			return
		}
		if b[n-1] == '\n' {
			line = b
			break
		}
	}
	method, rest, _ := strings.Cut(string(line), " http://")
	host, _, _ := strings.Cut(strings.Fields(rest + " x")[0], "/")
	fmt.Fprintf(out, "%s %s\n", method, host)
	if !strings.Contains(host, ":") {
		host += ":80"
	}
	to, err := dialFirst(host)
	if err != nil {
		io.WriteString(c, "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
		return
	}
	defer to.Close()
	join(c, r, to)
}

func socks(c net.Conn, out *log) {
	var head [2]byte
	if _, err := io.ReadFull(c, head[:]); err != nil || head[0] != 5 {
		return
	}
	io.CopyN(io.Discard, c, int64(head[1]))
	c.Write([]byte{5, 0})
	var ask [4]byte
	if _, err := io.ReadFull(c, ask[:]); err != nil {
		return
	}
	size := map[byte]int{1: 4, 4: 16}[ask[3]]
	if ask[3] == 3 {
		var n [1]byte
		io.ReadFull(c, n[:])
		size = int(n[0])
	}
	host := make([]byte, size+2)
	if _, err := io.ReadFull(c, host); err != nil {
		return
	}
	name := string(host[:size])
	if ask[3] != 3 {
		name = net.IP(host[:size]).String()
	}
	target := net.JoinHostPort(name, strconv.Itoa(int(host[size])<<8|int(host[size+1])))
	fmt.Fprintf(out, "SOCKS %s\n", target)
	to, err := dialFirst(target)
	if err != nil {
		c.Write([]byte{5, 4, 0, 1, 0, 0, 0, 0, 0, 0})
		return
	}
	defer to.Close()
	c.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
	join(c, c, to)
}

func dialFirst(target string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(target)
	if err != nil {
		return nil, err
	}
	addrs, err := net.LookupHost(host)
	if err != nil {
		return nil, err
	}
	return net.Dial("tcp", net.JoinHostPort(addrs[0], port))
}

func join(c net.Conn, from io.Reader, to net.Conn) {
	go func() {
		io.Copy(to, from)
		to.(*net.TCPConn).CloseWrite()
	}()
	io.Copy(c, to)
}

// redirect sends a client to the address that clouds keep their credentials at.
func redirect(c net.Conn, out *log) {
	q, err := http.ReadRequest(bufio.NewReader(c))
	if err != nil {
		return
	}
	fmt.Fprintf(out, "%s %s %s\n", q.Method, q.Host, q.RequestURI)
	io.WriteString(c, "HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/latest/\r\nAlt-Svc: h2=\"evil.test:443\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
}

func hold(c net.Conn, out *log) {
	fmt.Fprintf(out, "begin\n")
	io.WriteString(c, "held\n")
	io.Copy(out, c)
	fmt.Fprintf(out, "end\n")
}
