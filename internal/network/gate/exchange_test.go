package gate

import (
	"io"
	"net"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/sandbox/netns"
)

// tcpPair is a connection through the loopback.
func tcpPair(t *testing.T) (near, far *net.TCPConn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	d, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(); d.Close() })
	return c.(*net.TCPConn), d.(*net.TCPConn)
}

// answered is what a client gets of what an origin says to these requests.
func answered(t *testing.T, said string, methods ...string) (got string, n int64, err error) {
	t.Helper()
	server, origin := tcpPair(t)
	client, agent := tcpPair(t)
	x := &exchange{client: netns.Conn{TCPConn: client}, origin: origin, asked: newPending()}
	for _, m := range methods {
		x.asked.add(m)
	}
	go func() {
		io.WriteString(server, said)
		server.CloseWrite()
	}()
	all := make(chan string)
	go func() {
		b, _ := io.ReadAll(agent)
		all <- string(b)
	}()
	n, err = x.answers()
	client.Close()
	return <-all, n, err
}

func TestAnswersComeOneByOne(t *testing.T) {
	body := strings.Repeat("x", 300_000)
	const evil = "Alt-Svc: h2=\"evil.test:443\"\r\n"
	said := "HTTP/1.1 200 OK\r\n" + evil + "Content-Length: 5\r\n\r\n" + // to HEAD
		"HTTP/1.1 100 Continue\r\n" + evil + "\r\n" +
		"HTTP/1.1 201 Created\r\n" + evil + "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n" +
		"HTTP/1.1 304 Not Modified\r\n" + evil + "Content-Length: 9\r\n\r\n" +
		"HTTP/1.1 200 OK\r\n" + evil + "Content-Length: 300000\r\n\r\n" + body +
		"HTTP/1.1 200 OK\r\n" + evil + "\r\n" + evil + body
	want := strings.ReplaceAll(said, evil, "") // but for the body that ends with the connection
	want = want[:len(want)-len(body)] + evil + body
	got, n, err := answered(t, said, "HEAD", "POST", "GET", "GET", "GET")
	if err != nil || got != want || n != int64(len(want)) {
		t.Errorf("%d bytes of %d, %v:\n%.800q", n, len(want), err, got)
	}
}

func TestAnswersThatAreNotPassedOn(t *testing.T) {
	const good = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
	for name, c := range map[string]struct {
		said   string
		failed bool
	}{
		"nobody asked":     {good + "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n", false},
		"two lengths":      {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nContent-Length: 1\r\n\r\n", true},
		"another protocol": {"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n", true},
		"no HTTP":          {"SSH-2.0-x\r\n", true},
	} {
		got, _, err := answered(t, c.said, "GET")
		if (err != nil) != c.failed || got != "" && got != good {
			t.Errorf("%s: %v, %q", name, err, got)
		}
	}
}

// A request waits with its client where too many have no answer, and does not where no
// more answers come.
func TestPendingEnds(t *testing.T) {
	over := make(chan struct{})
	p := pending{make(chan string, 1), over}
	if !p.add("GET") {
		t.Error("the first does not wait")
	}
	close(over)
	if p.add("GET") {
		t.Error("a request is sent that nobody answers")
	}
}
