package upstream

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/address"
)

// askHTTP is CONNECT. A target is a name in its canonical spelling or an address, and
// the login goes as base64: there is no byte of either that could end a line.
func (p *Proxy) askHTTP(c io.ReadWriter, t address.Target) error {
	var b strings.Builder
	fmt.Fprintf(&b, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n", t, t)
	if auth := p.Authorization(); auth != "" {
		fmt.Fprintf(&b, "Proxy-Authorization: %s\r\n", auth)
	}
	b.WriteString("\r\n")
	if _, err := io.WriteString(c, b.String()); err != nil {
		return failed("went away")
	}
	a, err := readAnswer(c)
	if err != nil {
		return err
	}
	return p.judge(a)
}

// judge says what an answer means.
func (p *Proxy) judge(a answer) error {
	switch {
	case a.status >= 200 && a.status < 300:
		return nil
	case a.status == 407 && len(a.logins) > 0 && !slices.Contains(a.logins, "basic"):
		return refused("wants a kind of login that ringfence does not have (407: %s, not Basic)", known(a.logins))
	case a.status == 407 && p.login:
		return refused("does not accept the login (407)")
	case a.status == 407:
		return refused("wants a login (407); HTTPS_PROXY can hold it, as http://USER:PASSWORD@HOST:PORT")
	case a.status == 403 || a.status == 405:
		return refused("refuses this host (%d)", a.status)
	case a.status >= 300 && a.status < 400:
		return refused("sends us elsewhere (%d), as one does that wants a login by a browser", a.status)
	case a.status >= 400 && a.status < 500:
		return refused("refuses the request (%d)", a.status)
	case a.status >= 500:
		return failed(fmt.Sprintf("did not reach the host (%d)", a.status))
	}
	return failed(fmt.Sprintf("gives an answer that is none (%d)", a.status))
}

// known names the kinds of login that a proxy offers, as far as they are known: the words are
// the proxy's own.
func known(logins []string) string {
	var out []string
	for _, l := range []string{"negotiate", "ntlm", "kerberos", "digest", "bearer"} {
		if slices.Contains(logins, l) {
			out = append(out, l)
		}
	}
	return cmp.Or(strings.Join(out, ", "), "another one")
}

// answer is what matters of the head of an answer.
type answer struct {
	status int
	logins []string // schemes of Proxy-Authenticate, in lower case
}

const (
	maxHead   = 16 << 10
	maxLogins = 8
)

// readAnswer reads the head of an answer, and no byte more: what follows belongs to the
// tunnel.
func readAnswer(r io.Reader) (answer, error) {
	line, left, err := readLine(r, maxHead)
	if err != nil {
		return answer{}, err
	}
	a, ok := statusLine(line)
	if !ok {
		return answer{}, failed("does not speak HTTP")
	}
	for {
		if line, left, err = readLine(r, left); err != nil || line == "" {
			return a, err
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok || name == "" || strings.ContainsAny(name, " \t") {
			return answer{}, failed("does not speak HTTP")
		}
		if strings.EqualFold(name, "Proxy-Authenticate") && len(a.logins) < maxLogins {
			scheme, _, _ := strings.Cut(strings.TrimLeft(value, " \t"), " ")
			a.logins = append(a.logins, strings.ToLower(scheme))
		}
	}
}

// statusLine reads HTTP/1.x NNN with or without words behind it.
func statusLine(line string) (a answer, ok bool) {
	rest, ok := strings.CutPrefix(line, "HTTP/1.")
	if !ok || len(rest) < 5 || rest[0] != '0' && rest[0] != '1' || rest[1] != ' ' || len(rest) > 5 && rest[5] != ' ' {
		return a, false
	}
	for _, c := range []byte(rest[2:5]) {
		if c < '0' || c > '9' {
			return a, false
		}
		a.status = a.status*10 + int(c-'0')
	}
	return a, a.status >= 100 && a.status < 600
}

// readLine reads a line byte by byte, without its end. It holds no control character but
// the tab.
func readLine(r io.Reader, left int) (string, int, error) {
	var line []byte
	for one := make([]byte, 1); ; {
		if left == 0 {
			return "", 0, failed("says too much")
		}
		if _, err := io.ReadFull(r, one); err != nil {
			return "", 0, failed("went away")
		}
		left--
		switch c := one[0]; {
		case c == '\n' && len(line) > 0 && line[len(line)-1] == '\r':
			return string(line[:len(line)-1]), left, nil
		case len(line) > 0 && line[len(line)-1] == '\r', c < ' ' && c != '\t' && c != '\r', c == 0x7f:
			return "", 0, failed("does not speak HTTP")
		}
		line = append(line, one[0])
	}
}
