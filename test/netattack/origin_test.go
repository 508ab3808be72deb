package netattack

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strings"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/test/world"
)

// judged counts the requests that the journal says were let through, by "METHOD HOST".
func judged(records []journal.Record) map[string]int {
	out := map[string]int{}
	for _, r := range records {
		if r.Event == journal.Decision && r.Verdict == journal.Allow && r.Method != "" {
			out[r.Method+" "+r.Name]++
		}
	}
	return out
}

// arrived counts the requests that origins read in what they got in the clear. An
// origin must never read one that was not judged.
func arrived(heard []world.Heard) map[string]int {
	out := map[string]int{}
	for _, h := range heard {
		if h.Port != 80 {
			continue
		}
		if rest, ok := bytes.CutPrefix(h.First, []byte(http2.ClientPreface)); ok {
			arrivedFrames(out, rest)
			continue
		}
		r := bufio.NewReader(bytes.NewReader(h.First))
		for {
			q, err := http.ReadRequest(r)
			if err != nil {
				break
			}
			out[q.Method+" "+q.Host]++
			if _, err := io.Copy(io.Discard, q.Body); err != nil {
				break
			}
		}
	}
	return out
}

// arrivedFrames counts those of one connection of HTTP/2.
func arrivedFrames(out map[string]int, b []byte) {
	fr := http2.NewFramer(io.Discard, bytes.NewReader(b))
	fr.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	for {
		f, err := fr.ReadFrame()
		if err != nil {
			return
		}
		if m, ok := f.(*http2.MetaHeadersFrame); ok {
			out[m.PseudoValue("method")+" "+strings.TrimSuffix(m.PseudoValue("authority"), ":80")]++
		}
	}
}
