package probe

import (
	"context"
	"fmt"
	"net"
	"strings"

	"golang.org/x/net/dns/dnsmessage"
)

// Names asks for many names, and then connects to the address that the first got.
type Names struct {
	First  []byte // the first question
	Suffix string // below which the others are
	Count  int
	Port   uint16
}

// ask reports what the first address led to, before and after. Done says that it
// leads to somebody else than before.
func (n *Names) ask(ctx context.Context) Answer {
	address := addressIn((&Ask{Bytes: n.First}).ask(ctx).Got)
	if address == "" {
		return Answer{End: "the first name has no address"}
	}
	at := net.JoinHostPort(address, fmt.Sprint(n.Port))
	before := greeting(ctx, at)
	conn, err := net.Dial("udp", net.JoinHostPort(nameserver(), "53"))
	if err != nil {
		return Answer{End: ended(err)}
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	conn.SetDeadline(deadline)
	buf := make([]byte, 2048)
	for i := range n.Count {
		q := dnsmessage.Message{Header: dnsmessage.Header{ID: uint16(i), RecursionDesired: true}, Questions: []dnsmessage.Question{
			{Name: dnsmessage.MustNewName(fmt.Sprintf("%d.%s.", i, n.Suffix)), Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET}}}
		msg, err := q.Pack()
		if err == nil {
			_, err = conn.Write(msg)
		}
		size := 0
		if err == nil {
			size, err = conn.Read(buf)
		}
		if err != nil {
			return Answer{End: fmt.Sprintf("name %d: %v", i, err)}
		}
		if got := addressIn(buf[:size]); got == "" || got == address {
			return Answer{End: fmt.Sprintf("name %d has address %q", i, got), Done: got != ""}
		}
	}
	after := greeting(ctx, at)
	return Answer{Text: fmt.Sprintf("before %q, after %q", before, after), Done: before == "" || after != "" && after != before}
}

// greeting is what a server says first.
func greeting(ctx context.Context, at string) string {
	a := Where{}.talk(ctx, &Talk{To: at, Enough: "\n"})
	return strings.TrimSpace(string(a.Got))
}

func addressIn(msg []byte) string {
	var m dnsmessage.Message
	if m.Unpack(msg) != nil || len(m.Answers) != 1 {
		return ""
	}
	if a, ok := m.Answers[0].Body.(*dnsmessage.AResource); ok {
		return net.IP(a.A[:]).String()
	}
	return ""
}
