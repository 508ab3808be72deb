package clienthello

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
)

// What can be wrong. Every error of this package is one of these, or wraps the
// error of the reader.
var (
	ErrNotTLS    = errors.New("not TLS")
	ErrSSLv2     = errors.New("SSLv2 hello")
	ErrMalformed = errors.New("malformed ClientHello")
	ErrTooLong   = errors.New("ClientHello too long")
	ErrTruncated = errors.New("ClientHello cut short")
)

// Bounds of what no real client comes near: they offer up to three protocols in
// up to thirty extensions, and a name in DNS has 253 bytes.
const (
	maxName       = 255
	maxProtocols  = 32
	maxExtensions = 100
)

// The extensions that are looked into (IANA's TLS ExtensionType values).
const (
	extServerName        = 0
	extALPN              = 16
	extEarlyData         = 42
	extSupportedVersions = 43
)

// Hello is what a ClientHello says.
type Hello struct {
	// ServerName is the name asked for exactly as it was sent, or "" if there
	// is none. It is printable ASCII without space and not longer than 255
	// bytes; whether it is a host name is not judged here.
	ServerName string

	// ALPN are the protocols offered: any bytes, at most 32 of them.
	ALPN []string

	// ECH says that an encrypted name may be hidden behind ServerName: there is
	// an encrypted_client_hello extension, or its predecessor ESNI. Browsers
	// send one with random content to every server (GREASE ECH), beside the
	// true name, and nobody without the server's key can tell the two apart.
	// To refuse all of them locks browsers out. To let them pass is safe as far
	// as the client cannot learn a server's key: its DNS answers carry none.
	// But who brings a key along can hide a name from us.
	ECH bool

	// EarlyData says that the client sends data at once, before the server
	// answers, in records after this message.
	EarlyData bool

	// Version is the highest version offered, such as 0x0304 for TLS 1.3, or 0
	// if there is none that we know.
	Version uint16
}

// Parse reads the body of a ClientHello: the handshake message without its four
// bytes of type and length.
func Parse(body []byte) (Hello, error) {
	if len(body) > Max {
		return Hello{}, fmt.Errorf("%w: %d bytes", ErrTooLong, len(body))
	}
	var h Hello
	rest := cursor(body)
	if err := h.fixed(&rest); err != nil {
		return Hello{}, err
	}
	if len(rest) == 0 { // before 2003 there were no extensions
		return h, nil
	}
	list, ok := rest.vector16()
	if !ok || len(rest) != 0 {
		return Hello{}, malformed("length of the extensions")
	}
	if err := h.extensions(list); err != nil {
		return Hello{}, err
	}
	return h, nil
}

// fixed reads the fields that every ClientHello has.
func (h *Hello) fixed(c *cursor) error {
	version, ok := c.uint16()
	if !ok || version>>8 != 3 {
		return malformed("version")
	}
	h.Version = min(version, 0x0303) // above that, another field decides
	if _, ok := c.take(32); !ok {
		return malformed("random")
	}
	if id, ok := c.vector8(); !ok || len(id) > 32 {
		return malformed("session id")
	}
	if suites, ok := c.vector16(); !ok || len(suites) < 2 || len(suites)%2 != 0 {
		return malformed("cipher suites")
	}
	if methods, ok := c.vector8(); !ok || bytes.IndexByte(methods, 0) < 0 {
		return malformed("compression methods")
	}
	return nil
}

func (h *Hello) extensions(list cursor) error {
	var room [maxExtensions]uint16
	seen := room[:0]
	for len(list) > 0 {
		kind, _ := list.uint16()
		data, ok := list.vector16()
		if !ok {
			return malformed("length of an extension")
		}
		if slices.Contains(seen, kind) {
			return malformed(fmt.Sprintf("extension %d twice", kind))
		}
		if len(seen) == maxExtensions {
			return malformed("too many extensions")
		}
		seen = append(seen, kind)
		if err := h.extension(kind, data); err != nil {
			return err
		}
	}
	return nil
}

func (h *Hello) extension(kind uint16, data cursor) error {
	switch {
	case kind == extServerName:
		return h.serverName(data)
	case kind == extALPN:
		return h.protocols(data)
	case kind == extSupportedVersions:
		return h.versions(data)
	case kind == extEarlyData:
		if len(data) != 0 {
			return malformed("early data")
		}
		h.EarlyData = true
	case hidesName(kind):
		h.ECH = true
	}
	return nil
}

// hidesName knows encrypted_client_hello (0xfe0d), the numbers that its later
// drafts used, and ESNI.
func hidesName(kind uint16) bool {
	return kind >= 0xfe08 && kind <= 0xfe0d || kind == 0xffce
}

// serverName takes a list of exactly one host_name. The RFC has room for other
// types and forbids two of one; nobody ever sent either, and servers differ in
// which they would follow.
func (h *Hello) serverName(data cursor) error {
	list, ok := data.vector16()
	if !ok || len(data) != 0 {
		return malformed("length of the server name list")
	}
	if kind, ok := list.uint8(); !ok || kind != 0 {
		return malformed("type of the server name")
	}
	name, ok := list.vector16()
	if !ok || len(list) != 0 {
		return malformed("server name list has not one entry")
	}
	if len(name) == 0 || len(name) > maxName {
		return malformed(fmt.Sprintf("server name of %d bytes", len(name)))
	}
	if name[len(name)-1] == '.' { // RFC 6066, 3: without it; to some servers it is another name
		return malformed("server name that ends in a dot")
	}
	for _, b := range name {
		if b <= ' ' || b > '~' {
			return malformed(fmt.Sprintf("byte %#02x in the server name", b))
		}
	}
	h.ServerName = string(name)
	return nil
}

func (h *Hello) protocols(data cursor) error {
	list, ok := data.vector16()
	if !ok || len(data) != 0 || len(list) == 0 {
		return malformed("length of the protocol list")
	}
	for len(list) > 0 {
		name, ok := list.vector8()
		if !ok || len(name) == 0 {
			return malformed("length of a protocol")
		}
		if len(h.ALPN) == maxProtocols {
			return malformed("too many protocols")
		}
		h.ALPN = append(h.ALPN, string(name))
	}
	return nil
}

// versions replaces what the old field says: since TLS 1.3 that one is frozen.
func (h *Hello) versions(data cursor) error {
	list, ok := data.vector8()
	if !ok || len(data) != 0 || len(list) == 0 || len(list)%2 != 0 {
		return malformed("supported versions")
	}
	h.Version = 0
	for len(list) > 0 {
		v, _ := list.uint16()
		if v >= 0x0300 && v <= 0x0304 { // others are GREASE or drafts
			h.Version = max(h.Version, v)
		}
	}
	return nil
}

func malformed(what string) error { return fmt.Errorf("%w: %s", ErrMalformed, what) }
