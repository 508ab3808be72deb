package netattack

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// careless is the control of the proxy endpoint: a proxy that makes every mistake of
// the table. It reads a target as generously as some program somewhere does, asks
// nobody, and dials. What it lets through the gate must not.
func careless(t testing.TB) (v4, v6 string) {
	t.Helper()
	for _, network := range []string{"tcp4", "tcp6"} {
		address := map[string]string{"tcp4": "127.0.0.1:0", "tcp6": "[::1]:0"}[network]
		l, err := net.Listen(network, address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				go func() {
					defer c.Close()
					carelessly(c)
				}()
			}
		}()
		if network == "tcp4" {
			v4 = l.Addr().String()
		} else {
			v6 = l.Addr().String()
		}
	}
	return v4, v6
}

func carelessly(c net.Conn) {
	r := bufio.NewReader(c)
	if first, err := r.Peek(1); err != nil {
		return
	} else if first[0] == 5 || first[0] == 4 {
		carelessSOCKS(c, r)
		return
	}
	line, _ := r.ReadString('\n')
	method, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	target := rest
	if i := strings.LastIndex(rest, " HTTP/"); i >= 0 {
		target = rest[:i]
	}
	head, host := restOfHead(r)
	if method == "CONNECT" {
		carelessConnect(c, r, target, host)
		return
	}
	authority, path := carelessURL(target, host)
	to, err := carelessDial(authority, "80")
	if err != nil {
		return
	}
	defer to.Close()
	more, _ := r.Peek(r.Buffered())
	fmt.Fprintf(to, "%s %s HTTP/1.1\r\n%s%s", method, path, head, more) // at once: an origin may hang up after the first of it
	r.Discard(len(more))
	join(c, r, to)
}

// restOfHead reads up to the empty line and finds the Host.
func restOfHead(r *bufio.Reader) (head, host string) {
	for {
		line, err := r.ReadString('\n')
		head += line
		if name, value, ok := strings.Cut(line, ":"); ok && strings.EqualFold(strings.TrimSpace(name), "host") {
			host = strings.TrimSpace(value)
		}
		if err != nil || strings.Trim(line, "\r\n") == "" {
			return head, host
		}
	}
}

func carelessConnect(c net.Conn, r *bufio.Reader, target, host string) {
	target = strings.TrimPrefix(strings.TrimPrefix(target, "http://"), "//")
	if target == "" || target[0] == '/' || target[0] == '*' || target[0] == ':' {
		target = host
	}
	to, err := carelessDial(target, "443")
	if err != nil {
		return
	}
	defer to.Close()
	io.WriteString(c, established)
	join(c, r, to)
}

// carelessURL finds a host in whatever is asked for.
func carelessURL(target, host string) (authority, path string) {
	_, rest, ok := strings.Cut(target, "://")
	switch {
	case !ok && strings.HasPrefix(target, "//"):
		rest = target[2:]
	case !ok || rest == "" || rest[0] == '/' || rest[0] == '?' || rest[0] == ':':
		return host, "/"
	}
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		return rest[:i], "/" + strings.TrimLeft(rest[i:], "/")
	}
	return rest, "/"
}

// carelessDial repairs a host and port until they can be dialled.
func carelessDial(authority, port string) (net.Conn, error) {
	if !strings.Contains(authority, "#") { // who knows fragments cuts them first
		authority = authority[strings.LastIndexByte(authority, '@')+1:]
	}
	if i := strings.IndexAny(authority, "/?#\\"); i >= 0 {
		authority = authority[:i]
	}
	host, number := authority, ""
	if i := strings.LastIndexByte(authority, ':'); i > strings.LastIndexByte(authority, ']') {
		host, number = authority[:i], authority[i+1:]
	}
	if n, err := strconv.Atoi(strings.TrimLeft(number, " +0")); err == nil && n > 0 && n < 1<<16 {
		port = strconv.Itoa(n)
	}
	return net.Dial("tcp", net.JoinHostPort(carelessName(strings.Trim(host, "[]")), port))
}

// carelessName is the name that a lax resolver makes of some bytes.
func carelessName(host string) string {
	if strings.Contains(host, ":") {
		addr, _, _ := strings.Cut(host, "%")
		return addr + zoneOf(addr)
	}
	if back, err := url.PathUnescape(host); err == nil {
		host = back
	}
	host = fold(host)
	if i := strings.IndexAny(host, "\x00,"); i >= 0 {
		host = host[:i]
	}
	if mapped, err := idna.Punycode.ToASCII(host); err == nil {
		host = mapped
	}
	host = strings.Map(func(r rune) rune {
		if r <= ' ' || r >= 0x7f || strings.ContainsRune("\"'*_", r) {
			return -1
		}
		return r
	}, host)
	labels := strings.FieldsFunc(host, func(r rune) bool { return r == '.' })
	for i := range labels {
		labels[i] = strings.Trim(labels[i], "-")
		labels[i] = labels[i][:min(len(labels[i]), 63)]
	}
	if len(host) > 253 {
		labels = labels[len(labels)-4:]
	}
	host = strings.Join(labels, ".")
	if n, err := strconv.ParseUint(host, 0, 32); err == nil {
		host = net.IPv4(byte(n>>24), byte(n>>16), byte(n>>8), byte(n)).String()
	}
	return host
}

func zoneOf(addr string) string {
	if strings.HasPrefix(addr, "fe80") {
		return "%cable0"
	}
	return ""
}

// fold is what Unicode programs do to letters that look alike.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\u3002' || r == '\uff0e' || r == '\uff61':
			return '.'
		case r == '\u212a':
			return 'k'
		case r == '\u200b' || r == utf8.RuneError:
			return -1
		case r >= '\uff01' && r <= '\uff5e':
			return r - 0xfee0
		}
		return r
	}, s)
}

// carelessSOCKS skips whatever it does not understand.
func carelessSOCKS(c net.Conn, r *bufio.Reader) {
	version, _ := r.ReadByte()
	if version == 4 {
		carelessSOCKS4(c, r)
		return
	}
	n, _ := r.ReadByte()
	r.Discard(int(n))
	c.Write([]byte{5, 0})
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return
	}
	size := map[byte]int{1: 4, 4: 16}[head[3]]
	if size == 0 {
		n, _ := r.ReadByte()
		size = int(n)
	}
	host := make([]byte, size+2)
	if _, err := io.ReadFull(r, host); err != nil {
		return
	}
	name := carelessName(strings.Trim(string(host[:size]), "[]"))
	if head[3] == 1 || head[3] == 4 {
		name = net.IP(host[:size]).String()
	}
	port := int(host[size])<<8 | int(host[size+1])
	to, err := net.Dial("tcp", net.JoinHostPort(name, strconv.Itoa(port)))
	if err != nil {
		return
	}
	defer to.Close()
	io.WriteString(c, socksYes)
	join(c, r, to)
}

// carelessSOCKS4 takes the name that 4a has behind the user's.
func carelessSOCKS4(c net.Conn, r *bufio.Reader) {
	var head [7]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return
	}
	r.ReadString(0)
	name := net.IP(head[3:]).String()
	if head[3] == 0 {
		name, _ = r.ReadString(0)
		name = strings.TrimRight(name, "\x00")
	}
	to, err := net.Dial("tcp", net.JoinHostPort(name, strconv.Itoa(int(head[1])<<8|int(head[2]))))
	if err != nil {
		return
	}
	defer to.Close()
	c.Write([]byte{0, 90, 0, 0, 0, 0, 0, 0})
	join(c, r, to)
}

func join(c net.Conn, from io.Reader, to net.Conn) {
	go func() {
		io.Copy(to, from)
		to.(*net.TCPConn).CloseWrite()
	}()
	io.Copy(c, to)
}
