package main

import (
	"encoding/binary"
	"io"
	"net"
	"time"
)

// retryRandom marks a ServerHello as a HelloRetryRequest (RFC 8446, 4.1.3).
var retryRandom = []byte{0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91,
	0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c}

// retry answers the first ClientHello with a HelloRetryRequest and writes down
// whatever comes then. "again" is all that it says after that.
func retry(c net.Conn, out *log) {
	c.SetDeadline(time.Now().Add(10 * time.Second))
	var head [5]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return
	}
	if _, err := io.CopyN(io.Discard, c, int64(binary.BigEndian.Uint16(head[3:]))); err != nil {
		return
	}
	if _, err := c.Write(helloRetryRequest()); err != nil {
		return
	}
	buf := make([]byte, 4096)
	for {
		n, err := c.Read(buf)
		out.Write(buf[:n])
		if err != nil {
			return
		}
		io.WriteString(c, "again")
	}
}

// helloRetryRequest wants a key share of another group.
func helloRetryRequest() []byte {
	extensions := []byte{
		0, 43, 0, 2, 3, 4, // supported_versions: TLS 1.3
		0, 51, 0, 2, 0, 23, // key_share: secp256r1
	}
	body := append([]byte{3, 3}, retryRandom...)
	body = append(body, 0)          // session id
	body = append(body, 0x13, 1, 0) // cipher suite, compression
	body = binary.BigEndian.AppendUint16(body, uint16(len(extensions)))
	body = append(body, extensions...)
	message := append([]byte{2, 0, 0, byte(len(body))}, body...)
	return append([]byte{22, 3, 3, 0, byte(len(message))}, message...)
}
