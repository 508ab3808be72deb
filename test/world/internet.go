package world

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Addresses that do not answer, for who wants to see what becomes of that.
const (
	Silent4      = "203.0.113.99" // packets get lost
	Unreachable4 = "203.0.113.98" // a router says that there is no way
)

// internet is the process at the other end of the cable. It lives until the host is
// gone.
func internet() error {
	in := bufio.NewReader(os.Stdin)
	if line, err := in.ReadString('\n'); err != nil || strings.TrimSpace(line) != cableReady {
		return fmt.Errorf("no cable: %q, %v", line, err)
	}
	if err := os.Setenv("PATH", systemPath); err != nil {
		return err
	}
	if err := secludeInternet(); err != nil {
		return err
	}
	if err := connectInternet(); err != nil {
		return err
	}
	n := &network{zone: newZone(), ports: map[uint16]net.Listener{}}
	if err := n.start(); err != nil {
		return err
	}
	if _, err := fmt.Println(internetReady); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, in)
	return err
}

// secludeInternet gives the servers their own processes, users and scratch places.
func secludeInternet() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	for _, dir := range []string{"/tmp", "/dev/shm"} {
		if err := unix.Mount("world", dir, "tmpfs", 0, "mode=1777"); err != nil {
			return fmt.Errorf("mount %s: %w", dir, err)
		}
	}
	uid, gid := serverID()
	for name, text := range map[string]string{
		"/etc/passwd": fmt.Sprintf("root:x:0:0::/:/bin/sh\n%s:x:%d:%d::%s:/bin/sh\n", ServerUser, uid, gid, Net),
		"/etc/group":  fmt.Sprintf("root:x:0:\n%s:x:%d:\n", ServerUser, gid),
	} {
		if err := lay(name, name, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// connectInternet makes every address that is not on the cable one of ours. The
// routes stand in the main table, below the cable's own, so that answers find the
// host.
func connectInternet() error {
	if err := settings(map[string]string{"ipv6/conf/all/disable_ipv6": "0", "ipv6/conf/default/disable_ipv6": "0",
		"ipv6/conf/cable1/disable_ipv6": "0", "ipv6/conf/lo/disable_ipv6": "0", "ipv6/conf/all/accept_dad": "0", "ipv6/conf/cable1/accept_dad": "0",
		"ipv4/conf/all/rp_filter": "0", "ipv4/conf/cable1/rp_filter": "0",
		"ipv4/conf/cable1/forwarding": "1", // only a router says that there is no way
		"ipv4/icmp_ratelimit":         "0", "ipv6/icmp/ratelimit": "0",
		"ipv4/ip_unprivileged_port_start": "0"}); err != nil {
		return err
	}
	return ip(
		"link set lo up",
		"addr add "+Router4+"/24 dev cable1",
		"addr add 10.9.0.1/24 dev cable1",
		"addr add "+Router6+"/64 dev cable1 nodad",
		"addr add fd09::1/64 dev cable1 nodad",
		"addr add fe80::1/64 dev cable1 nodad",
		"link set cable1 up",
		"neigh replace "+Host4+" dev cable1 nud permanent lladdr "+hostMAC,
		"neigh replace "+Host6+" dev cable1 nud permanent lladdr "+hostMAC,
		"neigh replace "+HostPrivate4+" dev cable1 nud permanent lladdr "+hostMAC,
		"neigh replace "+HostPrivate6+" dev cable1 nud permanent lladdr "+hostMAC,
		"route add local 0.0.0.0/0 dev lo table main",
		"route add local ::/0 dev lo table main",
		"route add blackhole "+Silent4,
		"route add unreachable "+Unreachable4,
	)
}

// network is what the internet knows.
type network struct {
	zone  *zone
	watch *watch
	tap   tap

	mu    sync.Mutex
	ports map[uint16]net.Listener // of canaries
}

func (n *network) start() error {
	var err error
	if n.watch, err = newWatch("cable1"); err != nil {
		return fmt.Errorf("watch the cable: %w", err)
	}
	ca, err := newAuthority()
	if err != nil {
		return err
	}
	if err := os.WriteFile(caFile, ca.pem, 0o644); err != nil {
		return err
	}
	if err := n.serveNames(); err != nil {
		return fmt.Errorf("resolver: %w", err)
	}
	if err := n.serveWeb(ca); err != nil {
		return fmt.Errorf("web: %w", err)
	}
	for port, serve := range map[uint16]func(net.Conn){EchoPort: echo, DigestPort: digest, SourcePort: source} {
		if _, err := n.listen(port, serve); err != nil {
			return err
		}
	}
	return n.serveControl()
}

// listen serves a port of all addresses.
func (n *network) listen(port uint16, serve func(net.Conn)) (net.Listener, error) {
	l, err := net.Listen("tcp", fmt.Sprintf(":%d", port))
	if err != nil {
		return nil, err
	}
	l = &tapListener{l, &n.tap}
	go func() {
		for {
			c, err := l.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err == nil {
				go func() {
					defer c.Close()
					serve(c)
				}()
			}
		}
	}()
	return l, nil
}

// begin makes everything as it was in the beginning, for the next test.
func (n *network) begin() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, l := range n.ports {
		l.Close()
	}
	clear(n.ports)
	n.zone.reset()
	n.forget()
}

// forget empties the records.
func (n *network) forget() {
	n.zone.forget()
	n.watch.forget()
	n.tap.forget()
}

// open puts a canary at a port.
func (n *network) open(port uint16) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ports[port] != nil {
		return nil
	}
	l, err := n.listen(port, canary)
	if err == nil {
		n.ports[port] = l
	}
	return err
}
