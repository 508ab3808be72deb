package netattack

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"ringfence.dev/ringfence/test/netattack/probe"
)

// hello is a ClientHello in the making.
type hello struct {
	mark  string // in its random, so that a server is seen to have got it
	names []string
	more  [][]byte // further extensions, before the name
}

func vec8(b ...[]byte) []byte {
	all := slices.Concat(b...)
	return append([]byte{byte(len(all))}, all...)
}

func vec16(b ...[]byte) []byte {
	all := slices.Concat(b...)
	return append(binary.BigEndian.AppendUint16(nil, uint16(len(all))), all...)
}

func extension(kind uint16, data ...[]byte) []byte {
	return append(binary.BigEndian.AppendUint16(nil, kind), vec16(data...)...)
}

func serverName(name string) []byte {
	return extension(0, vec16([]byte{0}, vec16([]byte(name))))
}

func alpn(names ...string) []byte {
	var list [][]byte
	for _, n := range names {
		list = append(list, vec8([]byte(n)))
	}
	return extension(16, vec16(list...))
}

// message is the handshake message without a record around it.
func (h hello) message() []byte {
	random := make([]byte, 32)
	copy(random, h.mark)
	extensions := [][]byte{
		extension(43, vec8([]byte{3, 4})),                                          // versions: TLS 1.3
		extension(10, vec16([]byte{0, 0x1d, 0, 0x17})),                             // groups
		extension(13, vec16([]byte{4, 3, 8, 4})),                                   // signatures
		extension(51, vec16([]byte{0, 0x1d}, vec16(slices.Repeat([]byte{9}, 32)))), // a key share
	}
	extensions = append(extensions, h.more...)
	for _, n := range h.names {
		extensions = append(extensions, serverName(n))
	}
	body := slices.Concat([]byte{3, 3}, random, vec8(nil), vec16([]byte{0x13, 1, 0x13, 2}), vec8([]byte{0}), vec16(extensions...))
	return append([]byte{1, byte(len(body) >> 16), byte(len(body) >> 8), byte(len(body))}, body...)
}

func record(payload []byte) []byte { return append([]byte{22, 3, 1}, vec16(payload)...) }

func (h hello) record() []byte { return record(h.message()) }

// records spreads the message over records of n bytes.
func (h hello) records(n int) []byte {
	var out []byte
	for part := range slices.Chunk(h.message(), n) {
		out = append(out, record(part)...)
	}
	return out
}

// secure is a row about the first bytes on port 443, by three ways. The bytes hold the
// mark and two dots, which become a mark of each way's own: where a server has heard
// it, the row is open.
func secure(id, what, want, mark string, step probe.Step) []row {
	enough := "\x16\x03" // the server's own hello
	if want == closed {
		step.Shut, enough = true, ""
	}
	tunnel := probe.Step{Send: []byte(connectTo("allowed.test:443")), Until: established}
	rows := []row{
		{what: what, p: talk("allowed.test:443", 4, enough), family: "4", record: "tcp allowed.test:443"},
		{what: what + ", IPv6", p: talk("allowed.test:443", 6, enough), family: "6", record: "tcp allowed.test:443"},
		{what: what + " by CONNECT", p: talk(probe.Proxy4, 0, enough, tunnel), record: "connect allowed.test:443"},
	}
	for i := range rows {
		own, s := fmt.Sprintf("%s.%d", mark, i), step
		s.Send = bytes.Replace(step.Send, []byte(mark+".."), []byte(own), 1)
		rows[i].id, rows[i].want, rows[i].open = id, want, sign{heard: own}
		rows[i].p.Talk.Steps = append(rows[i].p.Talk.Steps, s)
	}
	return rows
}

func send(b []byte) probe.Step { return probe.Step{Send: b} }

func tlsRows() []row {
	ech := extension(0xfe0d, []byte{0, 0, 1, 0, 1, 7}, vec16(make([]byte, 32)), vec16(make([]byte, 144)))
	late := extension(51+1000, make([]byte, 1300)) // what comes before the name is large
	padding := extension(21, make([]byte, 15000))
	h := func(mark string, names ...string) hello { return hello{mark: mark + "..", names: names} }
	with := func(h hello, more ...[]byte) hello { h.more = more; return h }
	const ok, no = "allowed.test", "denied.test"
	return slices.Concat(
		secure("PX-047", "no name", closed, "t47a", send(h("t47a").record())),
		secure("PX-048", "another name", closed, "t48a", send(h("t48a", no).record())),
		secure("PX-048", "two names", closed, "t48b", send(h("t48b", ok, no).record())),
		secure("PX-048", "an address for a name", closed, "t48c", send(h("t48c", "203.0.113.66").record())),
		secure("PX-048", "a name that ends in NUL", closed, "t48d", send(h("t48d", ok+"\x00").record())),
		secure("PX-048", "two entries in one list", closed, "t48e", send(with(h("t48e"), extension(0, vec16([]byte{0}, vec16([]byte(ok)), []byte{0}, vec16([]byte(no))))).record())),
		secure("PX-048", "a name below the allowed one", closed, "t48f", send(h("t48f", "sub."+ok).record())),
		secure("PX-048", "a name that ends in a dot", closed, "t48h", send(h("t48h", ok+".").record())),
		secure("PX-048", "the same name in capitals", works, "t48g", send(h("t48g", "ALLOWED.Test").record())),

		secure("PX-050", "in pieces of one byte", works, "t50a", probe.Step{Send: h("t50a", ok).record(), Chop: 1}),
		secure("PX-050", "in records of 40 bytes", works, "t50b", send(h("t50b", ok).records(40))),
		secure("PX-050", "the name late", works, "t50c", send(with(h("t50c", ok), late).record())),
		secure("PX-050", "16 KB of padding", works, "t50d", send(with(h("t50d", ok), padding).record())),
		secure("PX-050", "another name in pieces of one byte", closed, "t50e", probe.Step{Send: h("t50e", no).record(), Chop: 1}),
		secure("PX-050", "another name in records of 40 bytes", closed, "t50f", send(h("t50f", no).records(40))),
		secure("PX-050", "another name late", closed, "t50g", send(with(h("t50g", no), late).record())),
		secure("PX-050", "another name after padding", closed, "t50h", send(with(h("t50h", no), padding).record())),
		secure("PX-050", "too long", closed, "t50i", send(with(h("t50i", ok), padding, extension(5000, make([]byte, 17000)), extension(5001, make([]byte, 17000)), extension(5002, make([]byte, 16200))).records(500))),
		secure("PX-050", "a second hello in the same record", closed, "t50j", send(record(append(h("t50j", ok).message(), h("....", no).message()...)))),

		secure("PX-052", "ECH behind another name", closed, "t52a", send(with(h("t52a", "cloudflare-ech.com"), ech).record())),
		secure("PX-052", "ECH without a name", closed, "t52b", send(with(h("t52b"), ech).record())),

		secure("PX-052", "ECH beside the allowed name, which may hide another: a residual", works, "t52c", send(with(h("t52c", ok), ech).record())),

		secure("PX-053", "SSLv2", closed, "t53a", send(append([]byte{0x80, 0x40, 1, 0, 2, 0, 0x15, 0, 0, 0, 0x10}, []byte("t53a..aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")...))),
		secure("PX-053", "early data behind another name", closed, "t53b", send(append(with(h("t53b", no), extension(42)).record(), []byte("\x17\x03\x03\x00\x05early")...))),
		secure("PX-053", "early data", works, "t53c", send(append(with(h("t53c", ok), extension(42)).record(), []byte("\x17\x03\x03\x00\x05early")...))),
		secure("PX-053", "a protocol that nobody knows, with another name", closed, "t53d", send(with(h("t53d", no), alpn("ssh", "h3")).record())),

		secure("PX-026", "SSH", closed, "t26a", send([]byte("SSH-2.0-t26a..\r\n"))),
		secure("PX-026", "HTTP in the clear", closed, "t26b", send([]byte("GET /t26b.. HTTP/1.1\r\nHost: allowed.test\r\n\r\n"))),
		secure("PX-026", "the beginning of a hello", closed, "t26c", send([]byte("\x16\x03\x01\x40\x00t26c.."))),
		secure("PX-026", "an alert", closed, "t26d", send([]byte("\x15\x03\x01\x00\x08t26d..xx"))),
		secure("PX-026", "data of an application", closed, "t26e", send([]byte("\x17\x03\x03\x00\x08t26e..xx"))),
		secure("PX-026", "a handshake that is no hello", closed, "t26f", send([]byte("\x16\x03\x01\x00\x0c\x02\x00\x00\x08t26f..xx"))),
		secure("PX-026", "NUL bytes", closed, "t26g", send([]byte("\x00\x00\x00\x00t26g.."))),
	)
}
