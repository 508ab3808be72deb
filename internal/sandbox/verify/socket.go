package verify

import (
	"net"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// sockets opens the listeners. None is ever served: a connection is made without
// that, and waits to be counted.
func (p *plant) sockets() error {
	for _, addr := range []string{"127.0.0.1:0", "[::1]:0"} {
		l, err := net.Listen("tcp", addr)
		if err != nil && addr[0] == '[' {
			continue // a host without IPv6
		}
		if err != nil {
			return err
		}
		p.later(func() { l.Close() })
		p.tcp = append(p.tcp, l)
	}
	var err error
	if p.abstract, err = p.listen("@" + p.abstractName()); err != nil {
		return err
	}
	for _, name := range []string{filepath.Join(p.tmp, agentSocket), filepath.Join(p.runtime, engineSocket), filepath.Join(p.runtime, busSocket),
		filepath.Join(p.tmp, vscodeSocket), filepath.Join(p.tmp, bridgeSocket)} {
		l, err := p.listen(name)
		if err != nil {
			return err
		}
		p.pathnames = append(p.pathnames, l)
	}
	p.socketPlaces()
	return nil
}

func (p *plant) listen(name string) (net.Listener, error) {
	l, err := net.Listen("unix", name)
	if err != nil {
		return nil, err
	}
	p.later(func() { l.Close() })
	return l, nil
}

func (p *plant) abstractName() string { return prefix + p.id }

// connections counts, check by check, what has arrived since the last call.
func (p *plant) connections() map[string]int {
	out := map[string]int{}
	for check, listeners := range map[string][]net.Listener{"loopback": p.tcp, "abstract": {p.abstract}, "sockets": p.pathnames} {
		for _, l := range listeners {
			out[check] += pending(l)
		}
	}
	return out
}

// pending takes what waits at a listener, without waiting for more. A listener
// that cannot be asked counts as one connection: a witness must not be silent.
func pending(l net.Listener) int {
	raw, err := l.(syscall.Conn).SyscallConn()
	if err != nil {
		return 1
	}
	n := 0
	err = raw.Control(func(fd uintptr) {
		for {
			c, _, err := unix.Accept4(int(fd), unix.SOCK_CLOEXEC)
			if err == unix.EINTR || err == unix.ECONNABORTED {
				continue
			}
			if err != nil {
				return
			}
			unix.Close(c)
			n++
		}
	})
	if err != nil {
		return 1
	}
	return n
}
