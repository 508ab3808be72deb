package probe

import (
	"context"
	"errors"
	"io"
	"net"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// command runs a program. In its words PROXY4 and PROXY6 are the proxy endpoint.
func (at Where) command(ctx context.Context, argv []string) Answer {
	argv = slices.Clone(argv)
	for i := range argv {
		argv[i] = strings.NewReplacer("PROXY4", at.Proxy4, "PROXY6", at.Proxy6).Replace(argv[i])
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	a := Answer{Got: out, Done: err == nil}
	if err != nil {
		a.End = err.Error()
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		a.End = strconv.Itoa(exit.ExitCode())
	}
	return a
}

// Relay is a process that passes on what another one of the sandbox sends.
type Relay struct {
	Command []string // RELAY in its words is where the relay listens
}

// relay carries connections to the proxy endpoint for a program that is told to use
// it as its proxy.
func (at Where) relay(ctx context.Context, r *Relay) Answer {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return Answer{End: ended(err)}
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go at.carry(c)
		}
	}()
	argv := slices.Clone(r.Command)
	for i := range argv {
		argv[i] = strings.ReplaceAll(argv[i], "RELAY", l.Addr().String())
	}
	return at.command(ctx, argv)
}

func (at Where) carry(c net.Conn) {
	defer c.Close()
	to, err := net.Dial("tcp", at.Proxy4)
	if err != nil {
		return
	}
	defer to.Close()
	go func() {
		io.Copy(to, c)
		to.(*net.TCPConn).CloseWrite()
	}()
	io.Copy(c, to)
}
