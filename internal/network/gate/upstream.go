package gate

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"ringfence.dev/ringfence/internal/address"
)

// Upstream is a proxy on the host's side through which connections go out: a
// company's way to the public network. It resolves the names that it is given, so
// that the guard can judge only what the host's own resolver says of them; a name
// that the host cannot resolve goes to the proxy as it is.
type Upstream struct {
	socks      bool
	addr       string // HOST:PORT, on the host's own network
	user, pass string
	login      bool
	direct     []string // NO_PROXY: what is dialled directly
}

// upstreamError is what went wrong with the proxy.
type upstreamError struct{ text string }

func (e *upstreamError) Error() string { return "the upstream proxy " + e.text }

// ParseUpstream reads http://[USER:PASS@]HOST:PORT or socks5://…, and the list of
// hosts that are dialled directly, as NO_PROXY has it.
func ParseUpstream(text, direct string) (*Upstream, error) {
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, errors.New("the address of the upstream proxy is not a URL") // the text may hold a password
	}
	p := &Upstream{}
	port := u.Port()
	switch u.Scheme {
	case "http":
		port = cmp.Or(port, "80")
	case "socks5", "socks5h":
		p.socks, port = true, cmp.Or(port, "1080")
	default:
		return nil, fmt.Errorf("an upstream proxy is reached by http:// or socks5://, not by %q", u.Scheme)
	}
	if u.Hostname() == "" || u.Path != "" && u.Path != "/" {
		return nil, errors.New("the address of the upstream proxy is not http://HOST:PORT")
	}
	p.addr = net.JoinHostPort(u.Hostname(), port)
	if u.User != nil {
		p.login, p.user = true, u.User.Username()
		p.pass, _ = u.User.Password()
	}
	for d := range strings.SplitSeq(direct, ",") {
		if d = strings.ToLower(strings.TrimSpace(d)); d != "" {
			p.direct = append(p.direct, d)
		}
	}
	return p, nil
}

// bypass holds for what NO_PROXY names: a host, a domain with all below it, an
// address, a range, each with a port or without, or * for everything.
func (u *Upstream) bypass(t address.Target) bool {
	for _, d := range u.direct {
		if d == "*" {
			return true
		}
		host := d
		if h, port, ok := strings.Cut(d, ":"); ok && !strings.Contains(port, ":") {
			if port != portText(t.Port) {
				continue
			}
			host = h
		}
		if t.Name == "" {
			if p, err := netip.ParsePrefix(host); err == nil && p.Contains(t.Addr) {
				return true
			}
			if a, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil && a == t.Addr {
				return true
			}
			continue
		}
		bare := address.Name(strings.TrimPrefix(strings.TrimPrefix(host, "*"), "."))
		if t.Name == bare || t.Name.Under(bare) {
			return true
		}
	}
	return false
}

// byProxy asks the proxy for a target. What the host itself knows to be internal is not
// asked for, be it one address of several: the proxy chooses, not we.
func (d *dialler) byProxy(ctx context.Context, t address.Target, exact bool) (*net.TCPConn, string, error) {
	addrs := []netip.Addr{t.Addr}
	if t.Name != "" {
		var err error
		if addrs, err = d.names.find(ctx, t.Name); err != nil && !exact {
			// Only a rule that names the very host lets a name go to the proxy that
			// the host itself does not know.
			return nil, "", err
		}
	}
	for _, a := range addrs {
		if err := d.guard.refuses(a, t.Port); err != nil {
			return nil, "", &closedError{err.Error()}
		}
	}
	if !exact && len(addrs) > 0 {
		// The proxy would look the name up again, and could get another answer.
		t = address.Target{Addr: addrs[0], Port: t.Port}
	}
	c, err := d.proxy.connect(ctx, t)
	if err != nil {
		return nil, "", err
	}
	return c, "by proxy", nil
}

// connect has the proxy connect to a target.
func (u *Upstream) connect(ctx context.Context, t address.Target) (*net.TCPConn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", u.addr)
	if err != nil {
		return nil, &upstreamError{"is not reached: " + dialReason(err)}
	}
	c := conn.(*net.TCPConn)
	defer context.AfterFunc(ctx, func() { c.Close() })()
	c.SetDeadline(time.Now().Add(dialling))
	ask := u.askHTTP
	if u.socks {
		ask = u.askSOCKS
	}
	if err = ask(c, t); err != nil {
		c.Close()
		return nil, err
	}
	c.SetDeadline(time.Time{})
	return c, nil
}

func (u *Upstream) askHTTP(c net.Conn, t address.Target) error {
	var b strings.Builder
	fmt.Fprintf(&b, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n", t, t)
	if u.login {
		fmt.Fprintf(&b, "Proxy-Authorization: Basic %s\r\n", base64.StdEncoding.EncodeToString([]byte(u.user+":"+u.pass)))
	}
	b.WriteString("\r\n")
	if _, err := io.WriteString(c, b.String()); err != nil {
		return &upstreamError{"went away"}
	}
	head, err := readUntilBlank(c)
	if err != nil {
		return err
	}
	line, _, _ := strings.Cut(head, "\r\n")
	_, status, ok := strings.Cut(line, " ")
	switch {
	case !ok || !strings.HasPrefix(line, "HTTP/1."):
		return &upstreamError{"does not speak HTTP"}
	case strings.HasPrefix(status, "407"):
		return &upstreamError{"wants a login: put it into the proxy's URL"}
	case !strings.HasPrefix(status, "200"):
		return &upstreamError{"refused: " + status[:min(len(status), 3)]}
	}
	return nil
}

// readUntilBlank reads a response head byte by byte: what follows belongs to the
// tunnel and must stay unread.
func readUntilBlank(r io.Reader) (string, error) {
	const most = 16 << 10
	head := make([]byte, 0, 512)
	for !bytes.HasSuffix(head, []byte("\r\n\r\n")) {
		if len(head) == most {
			return "", &upstreamError{"says too much"}
		}
		var one [1]byte
		if _, err := io.ReadFull(r, one[:]); err != nil {
			return "", &upstreamError{"went away"}
		}
		head = append(head, one[0])
	}
	return string(head), nil
}

func (u *Upstream) askSOCKS(c net.Conn, t address.Target) error {
	method := byte(0)
	if u.login {
		method = 2
	}
	if _, err := c.Write([]byte{5, 1, method}); err != nil {
		return &upstreamError{"went away"}
	}
	var two [2]byte
	if _, err := io.ReadFull(c, two[:]); err != nil || two[0] != 5 || two[1] != method {
		return &upstreamError{"wants another login, or does not speak SOCKS5"}
	}
	if u.login {
		b := append([]byte{1, byte(len(u.user))}, u.user...)
		b = append(append(b, byte(len(u.pass))), u.pass...)
		if len(u.user) > 255 || len(u.pass) > 255 {
			return &upstreamError{"takes no login of that length"}
		}
		if _, err := c.Write(b); err != nil {
			return &upstreamError{"went away"}
		}
		if _, err := io.ReadFull(c, two[:]); err != nil || two[1] != 0 {
			return &upstreamError{"does not accept the login"}
		}
	}
	return socksAsk(c, t)
}

func socksAsk(c net.Conn, t address.Target) error {
	b := []byte{5, 1, 0}
	switch {
	case t.Name != "":
		b = append(append(b, 3, byte(len(t.Name))), t.Name...)
	case t.Addr.Is4():
		b = append(append(b, 1), t.Addr.AsSlice()...)
	default:
		b = append(append(b, 4), t.Addr.AsSlice()...)
	}
	if _, err := c.Write(append(b, byte(t.Port>>8), byte(t.Port))); err != nil {
		return &upstreamError{"went away"}
	}
	var head [5]byte
	if _, err := io.ReadFull(c, head[:]); err != nil || head[0] != 5 {
		return &upstreamError{"went away"}
	}
	if head[1] != 0 {
		return &upstreamError{fmt.Sprintf("refused: code %d", head[1])}
	}
	rest := map[byte]int{1: 3 + 2, 4: 15 + 2, 3: int(head[4]) + 2}[head[3]]
	if rest == 0 {
		return &upstreamError{"does not speak SOCKS5"}
	}
	if _, err := io.ReadFull(c, make([]byte, rest)); err != nil {
		return &upstreamError{"went away"}
	}
	return nil
}
