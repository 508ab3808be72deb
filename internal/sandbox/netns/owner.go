package netns

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Owner finds the process that made a connection.
func (n *Network) Owner(from, to netip.AddrPort) (int, string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	inode, err := n.inode(from, to)
	if err != nil || inode == 0 {
		return 0, ""
	}
	pid := n.search.Holder(uint64(inode), func(deadline time.Time) []int { return tree(n.pid, deadline) })
	if pid == 0 {
		return 0, ""
	}
	return Describe(pid)
}

// inode asks the sandbox's network for one socket (inet_diag_req_v2).
func (n *Network) inode(from, to netip.AddrPort) (uint32, error) {
	if n.diag < 0 {
		return 0, os.ErrClosed
	}
	n.id++
	ne, be := binary.NativeEndian, binary.BigEndian
	family := byte(unix.AF_INET)
	if from.Addr().Is6() {
		family = unix.AF_INET6
	}
	b := askSockets(n.id, 0, family, ^uint32(0)) // in any state
	q := b[unix.NLMSG_HDRLEN:]
	be.PutUint16(q[8:], from.Port())
	be.PutUint16(q[10:], to.Port())
	copy(q[12:28], from.Addr().AsSlice())
	copy(q[28:44], to.Addr().AsSlice())
	copy(q[48:56], bytes.Repeat([]byte{0xff}, 8)) // no cookie
	if err := unix.Sendto(n.diag, b, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return 0, err
	}
	buf := n.room()
	for {
		size, _, err := unix.Recvfrom(n.diag, buf, 0)
		if err != nil {
			return 0, err
		}
		if size >= unix.NLMSG_HDRLEN && ne.Uint32(buf[8:]) != n.id {
			continue // of a question before
		}
		if size < unix.NLMSG_HDRLEN+72 || ne.Uint16(buf[4:]) != sockDiag {
			return 0, errors.New("no such socket")
		}
		return ne.Uint32(buf[unix.NLMSG_HDRLEN+68:]), nil // idiag_inode
	}
}

// maxTree bounds the processes that are looked at.
const maxTree = 4096

// tree lists the processes below one, the youngest generation last.
func tree(root int, deadline time.Time) []int {
	out := []int{}
	queue := []int{root}
	for len(queue) > 0 && len(out) < maxTree && root != 0 && time.Now().Before(deadline) {
		pid := queue[0]
		queue = queue[1:]
		out = append(out, pid)
		tasks, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
		if err != nil {
			continue
		}
		for _, t := range tasks {
			b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/task/" + t.Name() + "/children")
			if err != nil {
				continue
			}
			for f := range strings.FieldsSeq(string(b)) {
				if child, err := strconv.Atoi(f); err == nil {
					queue = append(queue, child)
				}
			}
		}
	}
	slices.Reverse(out) // whoever connects is young
	return out
}

// Describe returns the number that a process has inside, and its name.
func Describe(pid int) (int, string) {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0, ""
	}
	inside, name := 0, ""
	for line := range strings.Lines(string(status)) {
		if v, ok := strings.CutPrefix(line, "Name:\t"); ok {
			name = strings.TrimSuffix(v, "\n")
		}
		if v, ok := strings.CutPrefix(line, "NSpid:"); ok {
			if f := strings.Fields(v); len(f) > 0 {
				inside, _ = strconv.Atoi(f[len(f)-1])
			}
		}
	}
	return inside, name
}
