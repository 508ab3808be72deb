// Package upstream asks a proxy on the host's side to connect: a company's way to the
// public network. It speaks HTTP CONNECT and SOCKS5 as a client, and reads the answers
// strictly: nothing of them is passed on but a status that it knows.
//
// A proxy that is given a name looks it up itself. Which names it is given is for the
// caller to decide.
//
// Left at risk: the login of an http:// or SOCKS proxy goes over the wire as the proxy's
// protocol has it, in the clear; that of an https:// proxy goes within TLS.
package upstream

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/network/relay"
)

// Proxy is one proxy. Its login never leaves this package but to the proxy itself.
type Proxy struct {
	socks      bool
	tls        *tls.Config // for TLS to the proxy itself; nil: none
	addr       string      // HOST:PORT, on the host's own network
	user, pass string
	login      bool
	direct     []exception
	unread     []string
}

// maxLogin is what SOCKS5 has room for.
const maxLogin = 255

// Parse reads http://[USER:PASS@]HOST:PORT, https://… or socks5h://…, and the list of hosts that
// are reached without the proxy, as NO_PROXY has it. What it says of a bad text quotes
// nothing of it: it may hold a password.
func Parse(text, direct string) (*Proxy, error) {
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, errors.New("the address of the upstream proxy is not a URL")
	}
	p := &Proxy{}
	port := u.Port()
	switch u.Scheme {
	case "http":
		port = cmp.Or(port, "80")
	case "socks5", "socks5h":
		p.socks, port = true, cmp.Or(port, "1080")
	case "https":
		p.tls, port = &tls.Config{ServerName: u.Hostname(), NextProtos: []string{"http/1.1"}, MinVersion: tls.VersionTLS12}, cmp.Or(port, "443")
	default:
		return nil, fmt.Errorf("an upstream proxy is reached by http://, https:// or socks5h://, not by %q", u.Scheme)
	}
	if _, err := address.ParsePort(port); err != nil || u.Hostname() == "" || u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("the address of the upstream proxy is not http://HOST:PORT; in a login, every character but letters and digits is written as %XX")
	}
	p.addr = net.JoinHostPort(u.Hostname(), port)
	p.direct, p.unread = exceptions(direct)
	return p, p.takeLogin(u.User)
}

// takeLogin keeps the login. One that a protocol cannot carry whole is refused: a part
// of it would be another login.
func (p *Proxy) takeLogin(from *url.Userinfo) error {
	if from == nil {
		return nil
	}
	p.login, p.user = true, from.Username()
	p.pass, _ = from.Password()
	switch {
	case p.socks && (len(p.user) > maxLogin || len(p.pass) > maxLogin || p.user == "" || p.pass == ""):
		return fmt.Errorf("a login of SOCKS5 has a name and a password of 1 to %d bytes", maxLogin)
	case !p.socks && strings.Contains(p.user, ":"):
		return errors.New("the name in the proxy's login has a colon, which HTTP cannot carry")
	}
	return nil
}

// String is where the proxy is, without the login.
func (p *Proxy) String() string { return p.addr }

// Unread lists what of NO_PROXY was not understood: it is reached by the proxy.
func (p *Proxy) Unread() []string { return p.unread }

// LoginRefused is what a 407 to a request in the clear means.
func (p *Proxy) LoginRefused() error { return p.judge(answer{status: 407}) }

// Error is what went wrong with the proxy. Its words may be told to the agent.
type Error struct {
	text string
	// Refused holds for an answer of the proxy's that says no: another try gets the same.
	Refused bool
}

// Error implements error.
func (e *Error) Error() string { return "the upstream proxy " + e.text }

func failed(text string) error { return &Error{text: text} }

func refused(format string, args ...any) error {
	return &Error{text: fmt.Sprintf(format, args...), Refused: true}
}

// Forwards holds for a proxy that takes requests in the clear whole. Many open no tunnel
// to the port of such requests.
func (p *Proxy) Forwards() bool { return !p.socks }

// Authorization is what each such request tells the proxy; "" where it wants nothing.
func (p *Proxy) Authorization() string {
	if !p.login {
		return ""
	}
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(p.user+":"+p.pass))
}

// Trust says whose certificates are believed of the proxy; nil: whose the system believes.
func (p *Proxy) Trust(roots *x509.CertPool) {
	if p.tls != nil {
		p.tls.RootCAs = roots
	}
}

// Dial connects to the proxy itself.
func (p *Proxy) Dial(ctx context.Context, why func(error) string) (relay.Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", p.addr)
	if err != nil {
		return nil, failed("is not reached: " + why(err))
	}
	if p.tls == nil {
		return c.(*net.TCPConn), nil
	}
	t := tls.Client(c, p.tls)
	if err := t.HandshakeContext(ctx); err != nil {
		c.Close()
		return nil, failed("is not the one of its name, or speaks no TLS: " + certified(err))
	}
	return secure{t, c.(*net.TCPConn)}, nil
}

// certified says what was wrong with TLS, in our own words: the proxy chooses those of a
// certificate.
func certified(err error) string {
	var cert *tls.CertificateVerificationError
	if errors.As(err, &cert) {
		return "its certificate is not believed"
	}
	return "the handshake failed"
}

// secure is a connection within TLS to the proxy.
type secure struct {
	*tls.Conn
	under *net.TCPConn
}

// SetLinger implements relay.Conn.
func (s secure) SetLinger(sec int) error { return s.under.SetLinger(sec) }

// Connect has the proxy connect to a target, by its name if it has one. why puts an
// error of the host's network into words.
func (p *Proxy) Connect(ctx context.Context, t address.Target, patience time.Duration, why func(error) string) (relay.Conn, error) {
	c, err := p.Dial(ctx, why)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { c.Close() })
	c.SetDeadline(time.Now().Add(patience))
	ask := p.askHTTP
	if p.socks {
		ask = p.askSOCKS
	}
	if err = ask(c, t); err == nil && !stop() {
		err = ctx.Err()
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	c.SetDeadline(time.Time{})
	return c, nil
}
