package gate

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/sandbox/netns"
	"ringfence.dev/ringfence/internal/sandbox/rung"
)

// helloOf is what a TLS client says first that asks for a name.
func helloOf(t *testing.T, name string) []byte {
	t.Helper()
	near, far := net.Pipe()
	defer far.Close()
	go tls.Client(near, &tls.Config{ServerName: name}).Handshake()
	b := make([]byte, 64<<10)
	n, err := far.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	return b[:n]
}

// origins is a gate's way out where every name leads to one server, that talks to each
// connection with serve.
func origins(t *testing.T, conf Config, serve func(*net.TCPConn)) Config {
	t.Helper()
	l := listenLocal(t, "127.0.0.1:0")
	go func() {
		for {
			c, err := l.AcceptTCP()
			if err != nil {
				return
			}
			go func() { defer c.Close(); serve(c) }()
		}
	}()
	conf.Resolve = oneAddress{}
	conf.Dial = func(ctx context.Context, _ netip.AddrPort) (*net.TCPConn, error) {
		return dialHost(ctx, netip.MustParseAddrPort(l.Addr().String()))
	}
	return conf
}

// talk is what a client hears that says something at an entry of a gate.
func talk(t *testing.T, handle func(rung.Conn), said []byte) (heard string, err error) {
	t.Helper()
	client, agent := tcpPair(t)
	done := make(chan struct{})
	go func() { defer close(done); defer client.Close(); handle(netns.Conn{TCPConn: client}) }()
	agent.Write(said)
	agent.CloseWrite()
	b, err := io.ReadAll(agent)
	agent.Close()
	<-done
	return string(b), err
}

// capturedAt handles a connection that was going to a target.
func capturedAt(g *Gate, t address.Target) func(rung.Conn) {
	return func(c rung.Conn) {
		k := &call{g: g, id: 1, via: "tcp", client: c, target: t}
		if !k.decide() {
			k.refuse()
			return
		}
		k.proceed()
	}
}

// echo answers HTTP with the first line of each request, and TLS with an alert.
func echo(c *net.TCPConn) {
	r := bufio.NewReader(c)
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		if !strings.Contains(line, "HTTP/1.1") {
			io.WriteString(c, "\x15\x03\x01\x00\x02\x02\x28")
			return
		}
		host := ""
		for {
			field, err := r.ReadString('\n')
			if err != nil || field == "\r\n" {
				break
			}
			if strings.HasPrefix(field, "Host:") {
				host = strings.TrimSpace(field[5:])
			}
		}
		line = strings.Fields(line)[0] + " " + strings.Fields(line)[1] + " of " + host
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: "+portText(uint16(len(line)))+"\r\n\r\n"+line)
	}
}

// lines are records in short: event, verdict, via, rule, reason.
func lines(records []journal.Record) (out []string) {
	for _, r := range records {
		out = append(out, strings.TrimSpace(strings.Join([]string{r.Event, r.Verdict, r.Via, r.Method, r.Rule, r.Reason}, "|")))
	}
	return out
}

// callRules are what the calls of these tests are judged by.
func callRules(t *testing.T) policy.Reach {
	return reach(t, "dev", []string{"a.test", "GET http://r.test/pub/*", "tcp://raw.test:9", "api.test", "tcp://web.test:80"}, []string{"no.test"}, nil)
}

func TestCallInTheClear(t *testing.T) {
	const get = " HTTP/1.1\r\nHost: a.test\r\n"
	for what, c := range map[string]struct {
		at, said string
		heard    []string // in this order
		record   []string
	}{
		"two requests": {"a.test:80", "GET /1" + get + "\r\nGET /2" + get + "Connection: close\r\n\r\n", []string{"GET /1 of a.test", "GET /2 of a.test"},
			[]string{"decision|allow|tcp||a.test|", "decision|allow|tcp|GET|a.test|", "decision|allow|tcp|GET|a.test|", "end||tcp||a.test|"}},
		"the second for another": {"a.test:80", "GET /1" + get + "\r\nGET /2 HTTP/1.1\r\nHost: b.test\r\n\r\n", []string{"GET /1 of a.test", "403 Forbidden", "another host than the one"},
			[]string{"decision|allow|tcp||a.test|", "decision|allow|tcp|GET|a.test|", "end||tcp||a.test|", "decision|deny|tcp||a.test|the request is for another host than the one that was looked up"}},
		"a method": {"r.test:80", "POST /pub/x HTTP/1.1\r\nHost: r.test\r\nContent-Length: 0\r\n\r\n", []string{"403 Forbidden", "no rule allows POST of this path"},
			[]string{"decision|allow|tcp||GET http://r.test/pub/*|", "decision|deny|tcp||mode dev|no rule allows POST of this path"}},
		"two lengths": {"a.test:80", "POST /" + get + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nx", []string{"400 Refused"},
			[]string{"decision|allow|tcp||a.test|", "decision|deny|tcp||strict HTTP|"}},
		"denied by name": {"no.test:80", "GET / HTTP/1.1\r\nHost: no.test\r\n\r\n", []string{"403 Forbidden", "a rule denies it"},
			[]string{"decision|deny|tcp||no.test|a rule denies it"}},
		"no rule": {"gone.test:9", "x", nil, []string{"decision|deny|tcp||mode dev|no rule allows this name"}},
		"raw":     {"raw.test:9", "GET /x HTTP/1.1\r\nHost: evil\r\n\r\n", []string{"GET /x of evil"}, []string{"decision|allow|tcp||tcp://raw.test:9|", "end||tcp||tcp://raw.test:9|"}},
		"the broker's": {"api.test:80", "GET / HTTP/1.1\r\nHost: api.test\r\n\r\n", []string{"403 Forbidden", "by https alone"},
			[]string{"decision|deny|tcp||brokered host|ringfence keeps the credential of this host and speaks to it by https alone"}},
	} {
		t.Run(what, func(t *testing.T) {
			g, records := recording(t, origins(t, Config{Reach: callRules(t), Broker: keeps{}}, echo))
			heard, _ := talk(t, capturedAt(g, target(t, c.at)), []byte(c.said))
			rest := heard
			for _, part := range c.heard {
				_, after, found := strings.Cut(rest, part)
				if !found {
					t.Errorf("%q is not heard in %q", part, heard)
				}
				rest = after
			}
			got := lines(records())
			if !slices.EqualFunc(got, c.record, func(got, want string) bool { return strings.HasPrefix(got, want) }) {
				t.Errorf("recorded %q", got)
			}
		})
	}
}

func TestCallByTLS(t *testing.T) {
	hello := string(helloOf(t, "a.test"))
	again := func(c *net.TCPConn) { // an origin that asks for another hello
		c.Read(make([]byte, 64<<10))
		c.Write(append([]byte{22, 3, 3, 0, 38, 2, 0, 0, 34, 3, 3}, retryRandom...))
		io.Copy(io.Discard, c)
	}
	for what, c := range map[string]struct {
		at, said string
		serve    func(*net.TCPConn)
		heard    string // begins with; "" for a reset
		record   []string
	}{
		"the very name": {"a.test:443", hello, echo, "\x15\x03\x01", []string{"decision|allow|tcp||a.test|", "end||tcp||a.test|"}},
		"another name": {"a.test:443", string(helloOf(t, "b.test")), echo, "", []string{"decision|allow|tcp||a.test|",
			"decision|deny|tcp||a.test|the ClientHello asks for another server than the one that was looked up"}},
		"nothing at all":               {"a.test:443", "", echo, "", []string{"decision|allow|tcp||a.test|", "end||tcp||a.test|"}},
		"nothing at all to the broker": {"api.test:443", "", echo, "", []string{"decision|allow|tcp||api.test|", "end||tcp||api.test|"}},
		"one byte":                     {"a.test:443", "\x16", echo, "", []string{"decision|allow|tcp||a.test|", "decision|deny|tcp||a.test|port 443 is for TLS: "}},
		"no name":                      {"a.test:443", string(helloOf(t, "9.9.9.9")), echo, "", []string{"decision|allow|tcp||a.test|", "decision|deny|tcp||a.test|the ClientHello names no server"}},
		"no TLS":                       {"a.test:443", "GET / HTTP/1.1\r\n\r\n", echo, "", []string{"decision|allow|tcp||a.test|", "decision|deny|tcp||a.test|port 443 is for TLS: "}},
		"the broker's":                 {"api.test:443", string(helloOf(t, "api.test")), echo, "brokered", []string{"decision|allow|tcp||api.test|", "end||tcp||api.test|"}},
		"the broker's, another name": {"api.test:443", hello, echo, "", []string{"decision|allow|tcp||api.test|",
			"decision|deny|tcp||api.test|the ClientHello asks for another server than the one that was looked up"}},
		"hello again": {"a.test:443", hello + "\x14\x03\x03\x00\x01\x01" + hello, again, "\x16\x03\x03", []string{"decision|allow|tcp||a.test|", "end||tcp||a.test|"}},
		"hello again, another": {"a.test:443", hello + string(helloOf(t, "b.test")), again, "", []string{"decision|allow|tcp||a.test|",
			"decision|deny|tcp||a.test|the second ClientHello: the ClientHello asks for another server", "end||tcp||a.test|the second ClientHello: "}},
	} {
		t.Run(what, func(t *testing.T) {
			g, records := recording(t, origins(t, Config{Reach: callRules(t), Broker: keeps{}}, c.serve))
			heard, err := talk(t, capturedAt(g, target(t, c.at)), []byte(c.said))
			if c.heard == "" && c.said != "" && !errors.Is(err, unix.ECONNRESET) || !strings.HasPrefix(heard, c.heard) {
				t.Errorf("heard %q, %v", heard, err)
			}
			if got := lines(records()); !slices.EqualFunc(got, c.record, strings.HasPrefix) {
				t.Errorf("recorded %q", got)
			}
		})
	}
}

func TestProxyEntry(t *testing.T) {
	hello := string(helloOf(t, "a.test"))
	const yes, connect = "HTTP/1.1 200 Connection established\r\n\r\n", "CONNECT a.test:443 HTTP/1.1\r\nHost: ignored.test\r\n\r\n"
	name := func(s string) string { return "\x05\x01\x00" + string(toName(s)) }
	for what, c := range map[string]struct {
		said, after string // after the answer to what was said
		heard       string // begins with
		record      []string
	}{
		"CONNECT":             {connect, hello, yes + "\x15\x03\x01", []string{"decision|allow|connect||a.test|", "end||connect||a.test|"}},
		"CONNECT, other name": {connect, string(helloOf(t, "b.test")), yes, []string{"decision|allow|connect||a.test|", "decision|deny|connect||a.test|the ClientHello asks"}},
		"CONNECT, denied":     {"CONNECT no.test:443 HTTP/1.1\r\nHost: no.test\r\n\r\n", "", "HTTP/1.1 403 Forbidden", []string{"decision|deny|connect||no.test|a rule denies it"}},
		"CONNECT, too early":  {connect + hello, "", "HTTP/1.1 400 Refused", []string{"decision|deny|connect||strict HTTP|nothing may follow CONNECT before its answer"}},
		"CONNECT, no port":    {"CONNECT a.test HTTP/1.1\r\nHost: a.test\r\n\r\n", "", "HTTP/1.1 400", []string{"decision|deny|"}},
		"absolute":            {"GET http://a.test/x HTTP/1.1\r\nHost: a.test\r\n\r\n", "", "HTTP/1.1 200 OK\r\nContent-Length: 16\r\n\r\nGET /x of a.test", []string{"decision|allow|http|GET|a.test|", "end||http||a.test|"}},
		"absolute, for TLS":   {"GET http://a.test:443/x HTTP/1.1\r\nHost: a.test:443\r\n\r\n", "", "HTTP/1.1 403", []string{"decision|deny|http||a.test|this port is for TLS"}},
		"absolute, brokered":  {"GET http://api.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n", "", "HTTP/1.1 403", []string{"decision|deny|http||api.test|this port is for TLS"}},
		"origin form":         {"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n", "", "HTTP/1.1 400", []string{"decision|deny|http||strict HTTP|this is a proxy: it takes CONNECT and http:// targets"}},
		"SOCKS":               {name("a.test"), hello, toldCode(0) + "\x15\x03\x01", []string{"decision|allow|socks||a.test|", "end||socks||a.test|"}},
		"SOCKS, denied":       {name("no.test"), "", toldCode(2), []string{"decision|deny|socks||no.test|a rule denies it"}},
		"SOCKS, no name":      {name("127.1"), "", toldCode(2), []string{"decision|deny|socks||names of hosts|this is not the name of a host"}},
		"SOCKS, an address":   {"\x05\x01\x00" + string(socksRequest(1, 1, "\x09\x09\x09\x09", 443)), "", toldCode(2), []string{"decision|deny|socks||addresses are closed|"}},
		"SOCKS, UDP":          {"\x05\x01\x00" + string(socksRequest(3, 1, "\x09\x09\x09\x09", 443)), "", toldCode(7), []string{"decision|deny|socks||strict SOCKS5|"}},
		"SOCKS4":              {"\x04\x01\x01\xbb\x00\x00\x00\x01\x00", "", "", []string{"decision|deny|socks||strict SOCKS5|"}},
	} {
		t.Run(what, func(t *testing.T) {
			g, records := recording(t, origins(t, Config{Reach: callRules(t), Broker: keeps{}}, echo))
			client, agent := tcpPair(t)
			done := make(chan struct{})
			go func() { defer close(done); defer client.Close(); g.proxied(netns.Conn{TCPConn: client}) }()
			io.WriteString(agent, c.said)
			var heard bytes.Buffer
			if c.after != "" {
				answer := strings.TrimSuffix(c.heard, "\x15\x03\x01")
				io.CopyN(&heard, agent, int64(len(answer)))
				io.WriteString(agent, c.after)
			}
			agent.CloseWrite()
			io.Copy(&heard, agent)
			<-done
			if !strings.HasPrefix(heard.String(), c.heard) {
				t.Errorf("heard %q", heard.String())
			}
			if got := lines(records()); !slices.EqualFunc(got, c.record, strings.HasPrefix) {
				t.Errorf("recorded %q", got)
			}
		})
	}
}

func TestSameHost(t *testing.T) {
	for _, c := range []struct {
		allowed, authority string
		want               bool
	}{
		{"a.test:80", "a.test", true}, {"a.test:80", "A.test.", true}, {"a.test:80", "a.test:80", true}, {"a.test:8080", "a.test:8080", true},
		{"a.test:8080", "a.test", false}, {"a.test:80", "a.test:8080", false}, {"a.test:80", "b.test", false}, {"a.test:80", "a.test:", false},
		{"a.test:80", "", false}, {"a.test:80", "x@a.test", false}, {"a.test:80", "9.9.9.9", false},
		{"9.9.9.9:80", "9.9.9.9", true}, {"[2620::1]:80", "[2620::1]", true}, {"[2620::1]:81", "[2620::1]:81", true}, {"[2620::1]:80", "2620::1", false},
	} {
		if got := sameHost(target(t, c.allowed), c.authority); got != c.want {
			t.Errorf("%s, %q: %v", c.allowed, c.authority, got)
		}
	}
}

func TestHostField(t *testing.T) {
	for s, want := range map[string]string{"a.test:80": "a.test", "a.test:81": "a.test:81", "9.9.9.9:80": "9.9.9.9", "[2620::1]:80": "[2620::1]", "[2620::1]:81": "[2620::1]:81"} {
		if got := hostField(target(t, s)); got != want || !sameHost(target(t, s), got) {
			t.Errorf("%s: %q", s, got)
		}
	}
	for s, want := range map[string]string{"a.test": "a.test:80", "a.test:1": "a.test:1", "[2620::1]": "[2620::1]:80", "[2620::1]:1": "[2620::1]:1", "nas": "nas:80", "a.test.": "a.test.:80"} {
		if got := withPort(s); got != want {
			t.Errorf("%s: %q", s, got)
		}
	}
}
