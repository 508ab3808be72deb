package clienthello

import "encoding/binary"

// cursor walks over bytes; what it takes is gone from it. ok is false if there
// are not enough.
type cursor []byte

func (c *cursor) take(n int) (part cursor, ok bool) {
	if n > len(*c) {
		return nil, false
	}
	part, *c = (*c)[:n:n], (*c)[n:]
	return part, true
}

func (c *cursor) uint8() (v uint8, ok bool) {
	b, ok := c.take(1)
	if !ok {
		return 0, false
	}
	return b[0], true
}

func (c *cursor) uint16() (v uint16, ok bool) {
	b, ok := c.take(2)
	if !ok {
		return 0, false
	}
	return binary.BigEndian.Uint16(b), true
}

// vector8 takes a length of one byte and that many bytes.
func (c *cursor) vector8() (part cursor, ok bool) {
	n, ok := c.uint8()
	if !ok {
		return nil, false
	}
	return c.take(int(n))
}

// vector16 takes a length of two bytes and that many bytes.
func (c *cursor) vector16() (part cursor, ok bool) {
	n, ok := c.uint16()
	if !ok {
		return nil, false
	}
	return c.take(int(n))
}
