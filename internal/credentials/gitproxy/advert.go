package gitproxy

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
)

// capabilities are those of a push that we understand. The server's others are
// not shown to the client, so that an honest one does not use them: signed
// pushes above all, in which the commands stand elsewhere.
var capabilities = []string{"report-status", "report-status-v2", "delete-refs", "quiet", "atomic", "ofs-delta", "no-thin",
	"side-band-64k", "push-options", "object-format", "agent"}

// advertisement reads the server's list of refs for a push up to the first ref,
// where the capabilities are, and returns that much with ours only.
func advertisement(r io.Reader) (io.Reader, error) {
	pr, out := newPacketReader(r), []byte(nil)
	kind, p, err := pr.Next()
	if err != nil || kind != packetData || string(packetText(p)) != "# service="+pushService {
		return nil, fmt.Errorf("the server does not answer in git's smart protocol")
	}
	out = AppendPacket(out, string(p))
	if kind, _, err = pr.Next(); err != nil || kind != packetFlush {
		return nil, fmt.Errorf("the server does not answer in git's smart protocol")
	}
	out = appendMark(out, packetFlush)
	kind, p, err = pr.Next()
	if err == nil && kind == packetData && string(packetText(p)) == "version 1" {
		out = AppendPacket(out, string(p))
		kind, p, err = pr.Next()
	}
	if err != nil || kind != packetData {
		return nil, fmt.Errorf("the server lists neither refs nor capabilities")
	}
	if bytes.HasPrefix(p, []byte("ERR ")) {
		return bytes.NewReader(AppendPacket(out, string(p))), nil
	}
	ref, caps, ok := strings.Cut(string(packetText(p)), "\x00")
	if !ok {
		return nil, fmt.Errorf("the server lists no capabilities")
	}
	words := strings.Fields(caps)
	if slices.Contains(words, "object-format=sha256") || len(ref) > 64 && ref[64] == ' ' {
		return nil, errSHA256
	}
	words = slices.DeleteFunc(words, func(word string) bool {
		key, _, _ := strings.Cut(word, "=")
		return !slices.Contains(capabilities, key)
	})
	return bytes.NewReader(AppendPacket(out, ref+"\x00"+strings.Join(words, " ")+"\n")), nil
}

var errSHA256 = fmt.Errorf("the repository names objects by SHA-256; pushes to such are not supported")
