package clienthello_test

import (
	"encoding/binary"
	"slices"
)

// The parts of a ClientHello, put together as the RFCs have them.

func vec8(parts ...[]byte) []byte {
	all := slices.Concat(parts...)
	return append([]byte{byte(len(all))}, all...)
}

func vec16(parts ...[]byte) []byte {
	all := slices.Concat(parts...)
	return append(binary.BigEndian.AppendUint16(nil, uint16(len(all))), all...)
}

func ext(kind uint16, data ...[]byte) []byte {
	return append(binary.BigEndian.AppendUint16(nil, kind), vec16(data...)...)
}

// name is one entry of a server name list.
func name(kind byte, s string) []byte { return append([]byte{kind}, vec16([]byte(s))...) }

func sni(s string) []byte { return ext(0, vec16(name(0, s))) }

func alpn(names ...string) []byte {
	var list []byte
	for _, n := range names {
		list = append(list, vec8([]byte(n))...)
	}
	return ext(16, vec16(list))
}

// fields are those that every hello has.
type fields struct {
	version []byte
	random  int // how many bytes
	session int
	suites  []byte // with length
	methods []byte // with length
}

func good() fields {
	return fields{[]byte{3, 3}, 32, 32, vec16([]byte{0x13, 1, 0x13, 2}), vec8([]byte{0})}
}

func (f fields) bytes() []byte {
	return slices.Concat(f.version, make([]byte, f.random), vec8(make([]byte, f.session)), f.suites, f.methods)
}

// body is a hello with these extensions.
func body(exts ...[]byte) []byte { return append(good().bytes(), vec16(exts...)...) }

func message(body []byte) []byte {
	n := len(body)
	return append([]byte{1, byte(n >> 16), byte(n >> 8), byte(n)}, body...)
}

func record(payload []byte) []byte { return append([]byte{22, 3, 1}, vec16(payload)...) }

// records cuts b into records of n bytes.
func records(b []byte, n int) []byte {
	var all []byte
	for part := range slices.Chunk(b, n) {
		all = append(all, record(part)...)
	}
	return all
}

// browser is shaped like the hello of a browser: made-up values in every list,
// an encrypted_client_hello of random content, a large key share before the name.
func browser(host string) []byte {
	f := good()
	f.suites = vec16([]byte{0x3a, 0x3a, 0x13, 1, 0x13, 2, 0x13, 3, 0xc0, 0x2b})
	exts := vec16(
		ext(0x8a8a),
		ext(51, vec16(
			[]byte{0xca, 0xca}, vec16([]byte{0}),
			[]byte{0x11, 0xec}, vec16(make([]byte, 1216)),
			[]byte{0, 0x1d}, vec16(make([]byte, 32)))),
		ext(0xfe0d, []byte{0, 0, 1, 0, 1, 0x6f}, vec16(make([]byte, 32)), vec16(make([]byte, 208))),
		ext(10, vec16([]byte{0xca, 0xca, 0x11, 0xec, 0, 0x1d, 0, 0x17})),
		ext(43, vec8([]byte{0x5a, 0x5a, 3, 4, 3, 3})),
		sni(host),
		alpn("h2", "http/1.1"),
		ext(0x44cd, vec16(vec8([]byte("h2")))),
		ext(13, vec16([]byte{4, 3, 8, 4})),
		ext(0xdada, []byte{0}),
	)
	return append(f.bytes(), exts...)
}
