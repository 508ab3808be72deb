package gitproxy

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/git/pktline"
)

// capabilities are those of a push that we understand. The server's others are
// not shown to the client, so that an honest one does not use them: signed
// pushes above all, in which the commands stand elsewhere.
var capabilities = []string{"report-status", "report-status-v2", "delete-refs", "quiet", "atomic", "ofs-delta", "no-thin",
	"side-band-64k", "push-options", "object-format", "agent"}

// advertisement reads the server's list of refs for a push up to the first ref,
// where the capabilities are, and returns that much with ours only.
func advertisement(r io.Reader) (io.Reader, error) {
	pr, out := pktline.NewReader(r), []byte(nil)
	kind, p, err := pr.Next()
	if err != nil || kind != pktline.Data || string(pktline.Line(p)) != "# service="+pushService {
		return nil, fmt.Errorf("the server does not answer in git's smart protocol")
	}
	out = pktline.Append(out, string(p))
	if kind, _, err = pr.Next(); err != nil || kind != pktline.Flush {
		return nil, fmt.Errorf("the server does not answer in git's smart protocol")
	}
	out = pktline.AppendMark(out, pktline.Flush)
	kind, p, err = pr.Next()
	if err == nil && kind == pktline.Data && string(pktline.Line(p)) == "version 1" {
		out = pktline.Append(out, string(p))
		kind, p, err = pr.Next()
	}
	if err != nil || kind != pktline.Data {
		return nil, fmt.Errorf("the server lists neither refs nor capabilities")
	}
	if bytes.HasPrefix(p, []byte("ERR ")) {
		return bytes.NewReader(pktline.Append(out, string(p))), nil
	}
	ref, caps, ok := strings.Cut(string(pktline.Line(p)), "\x00")
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
	return bytes.NewReader(pktline.Append(out, ref+"\x00"+strings.Join(words, " ")+"\n")), nil
}

var errSHA256 = fmt.Errorf("the repository names objects by SHA-256; pushes to such are not supported")
