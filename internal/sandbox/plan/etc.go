package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// fileOps are the generated files: the synthetic part of /etc, then what the
// caller wants placed.
func fileOps(in Input) []Op {
	u := in.User
	files := []File{
		{Dst: "/etc/passwd", Data: passwd(u), Why: "one user"},
		{Dst: "/etc/group", Data: group(u), Why: "one group"},
		{Dst: "/etc/hosts", Data: []byte("127.0.0.1 localhost " + in.Hostname + "\n::1 localhost ip6-localhost " + in.Hostname + "\n"), Why: "no host of the network"},
		{Dst: "/etc/hostname", Data: []byte(in.Hostname + "\n"), Why: "own name"},
		resolver(in.Capture != nil && len(in.Capture.Rules) > 0),
		{Dst: "/etc/nsswitch.conf", Data: []byte("passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nnetworks: files\nprotocols: files\nservices: files\n"), Why: "files only"},
		{Dst: "/etc/machine-id", Data: []byte(machineID(in.Session) + "\n"), Why: "not the host's"},
	}
	var out []Op
	for _, f := range append(files, in.Files...) {
		mode := uint32(0o444)
		if f.Exec {
			mode = 0o555
		}
		out = append(out, Op{Do: DoFile, Dst: Raw(f.Dst), Data: f.Data, Mode: mode, Why: f.Why})
	}
	return append(out, Op{Do: DoSymlink, Dst: "/etc/mtab", Src: "/proc/self/mounts", Why: "own mounts"})
}

// resolver names the gate's resolver. Where the network is closed it is not there,
// and libraries give up at once: without a name they would ask a default of their
// own and wait for it.
func resolver(gate bool) File {
	if gate {
		return File{Dst: "/etc/resolv.conf", Data: []byte("# The gate of this sandbox: it answers names that policy allows.\nnameserver 127.0.0.1\noptions edns0\n"), Why: "the gate's resolver"}
	}
	return File{Dst: "/etc/resolv.conf", Data: []byte("# The network of this sandbox is closed: there is no resolver.\nnameserver 127.0.0.1\noptions timeout:1 attempts:1\n"), Why: "no resolver"}
}

// field keeps what would break a line of passwd out of it.
func field(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == ':' || r == 0x7f {
			return '_'
		}
		return r
	}, s)
}

func passwd(u User) []byte {
	var b strings.Builder
	if u.UID != 0 {
		b.WriteString("root:x:0:0:root:/root:/usr/sbin/nologin\n")
	}
	fmt.Fprintf(&b, "%s:x:%d:%d::%s:%s\n", field(u.Name), u.UID, u.GID, field(u.Home), field(u.Shell))
	b.WriteString("nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n")
	return []byte(b.String())
}

func group(u User) []byte {
	var b strings.Builder
	if u.GID != 0 {
		b.WriteString("root:x:0:\n")
	}
	fmt.Fprintf(&b, "%s:x:%d:\nnogroup:x:65534:\n", field(u.Group), u.GID)
	return []byte(b.String())
}

// machineID is as random as the session's id and says nothing of the machine.
func machineID(session string) string {
	sum := sha256.Sum256([]byte("machine-id " + session))
	return hex.EncodeToString(sum[:16])
}
