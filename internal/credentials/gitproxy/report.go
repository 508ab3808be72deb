package gitproxy

import ()

// report is the answer to a push that was denied, in the words in which a server
// reports: git prints them next to each ref.
func (p *push) report(reasons []string, host string) []byte {
	var b []byte
	if p.can("report-status") || p.can("report-status-v2") {
		b = AppendPacket(b, "unpack ok\n")
		for i, c := range p.commands {
			why := reasons[i]
			if why == "" {
				why = "another ref of this push is denied"
			}
			b = AppendPacket(b, "ng "+c.ref+" ringfence: "+oneLine(why)+"\n")
		}
		b = appendMark(b, packetFlush)
	}
	if !p.can("side-band-64k") {
		return b
	}
	out := appendBand(nil, 2, []byte("ringfence: nothing was sent to "+host+"\n"))
	return appendMark(appendBand(out, 1, b), packetFlush)
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
