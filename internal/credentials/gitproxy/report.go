package gitproxy

import (
	"ringfence.dev/ringfence/internal/git/pktline"
)

// report is the answer to a push that was denied, in the words in which a server
// reports: git prints them next to each ref.
func (p *push) report(reasons []string, host string) []byte {
	var b []byte
	if p.can("report-status") || p.can("report-status-v2") {
		b = pktline.Append(b, "unpack ok\n")
		for i, c := range p.commands {
			why := reasons[i]
			if why == "" {
				why = "another ref of this push is denied"
			}
			b = pktline.Append(b, "ng "+c.ref+" ringfence: "+oneLine(why)+"\n")
		}
		b = pktline.AppendMark(b, pktline.Flush)
	}
	if !p.can("side-band-64k") {
		return b
	}
	out := pktline.AppendBand(nil, 2, []byte("ringfence: nothing was sent to "+host+"\n"))
	return pktline.AppendMark(pktline.AppendBand(out, 1, b), pktline.Flush)
}

// oneLine keeps a reason, which may hold words of the server, to one line.
func oneLine(s string) string {
	out := []byte(clean(s))
	for i, c := range out {
		if c == '\n' {
			out[i] = ' '
		}
	}
	return string(out[:min(len(out), 1000)])
}
