// Package envelope is a stream of bytes that only the holder of a key can read. Who seals one
// needs the public half alone, and cannot open it again.
//
// A stream is sealed in pieces. Each is bound to its place, to whether it is the last, and to
// what the stream is for: a piece that is changed, left out, moved or taken from another
// stream is refused, and so is a stream without its end.
//
// Left at risk: who knows the public half can seal another stream. Nobody signs it.
package envelope

import (
	"crypto/hpke"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// The words of RFC 9180: a key agreement that also stands against who records it today for a
// computer of another kind, and AES-256-GCM.
func kem() hpke.KEM   { return hpke.MLKEM768X25519() }
func kdf() hpke.KDF   { return hpke.HKDFSHA256() }
func aead() hpke.AEAD { return hpke.AES256GCM() }

// A sealed stream is the magic, the encapsulated key, and pieces: a byte that says whether it
// is the last, four bytes of length, and the sealed bytes.
const (
	magic    = "rfsealed\x01"
	encSize  = 1120 // of the encapsulated key
	piece    = 64 << 10
	overhead = 16 // of a sealed piece
	headSize = 5

	more = 0
	last = 1
)

// Broken is a stream that is not what was sealed for this key and purpose.
type Broken string

func (b Broken) Error() string { return "what was sealed is not whole: " + string(b) }

// Key is the private half.
type Key struct{ key hpke.PrivateKey }

// NewKey makes one.
func NewKey() (*Key, error) {
	k, err := kem().GenerateKey()
	if err != nil {
		return nil, err
	}
	return &Key{k}, nil
}

// ParseKey reads what Bytes gave.
func ParseKey(b []byte) (*Key, error) {
	k, err := kem().NewPrivateKey(b)
	if err != nil {
		return nil, fmt.Errorf("the key of a sealed stream: %w", err)
	}
	return &Key{k}, nil
}

// Bytes is the private half as it is kept.
func (k *Key) Bytes() ([]byte, error) { return k.key.Bytes() }

// Public is the half for who seals.
func (k *Key) Public() []byte { return k.key.PublicKey().Bytes() }

// Sealer seals what is written to it. Close seals the end.
type Sealer struct {
	to     io.Writer
	sender *hpke.Sender
	buf    []byte
	err    error
}

// Seal begins a stream for a public key and a purpose.
func Seal(to io.Writer, public []byte, purpose string) (*Sealer, error) {
	key, err := kem().NewPublicKey(public)
	if err != nil {
		return nil, fmt.Errorf("the key to seal with: %w", err)
	}
	enc, sender, err := hpke.NewSender(key, kdf(), aead(), []byte(purpose))
	if err != nil {
		return nil, err
	}
	if _, err := to.Write(append([]byte(magic), enc...)); err != nil {
		return nil, err
	}
	return &Sealer{to: to, sender: sender, buf: make([]byte, 0, piece)}, nil
}

// Write implements io.Writer.
func (s *Sealer) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		if len(s.buf) == piece {
			s.flush(more)
		}
		if s.err != nil {
			return n, s.err
		}
		m := min(len(p), piece-len(s.buf))
		s.buf = append(s.buf, p[:m]...)
		p, n = p[m:], n+m
	}
	return n, s.err
}

// Close seals the end. Without it nobody can open the stream.
func (s *Sealer) Close() error {
	if s.err == nil {
		s.flush(last)
	}
	err := s.err
	if err == nil {
		s.err = errors.New("a sealed stream has ended")
	}
	return err
}

func (s *Sealer) flush(kind byte) {
	sealed, err := s.sender.Seal([]byte{kind}, s.buf)
	if err == nil {
		head := binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(sealed)))
		_, err = s.to.Write(append(head, sealed...))
	}
	s.buf, s.err = s.buf[:0], err
}

// opener opens a stream.
type opener struct {
	from io.Reader
	key  *hpke.Recipient
	left []byte // opened and not read
	err  error
}

// Open reads a stream that was sealed for the key and the purpose. What it gives was sealed
// so; only io.EOF says that it was all.
func (k *Key) Open(from io.Reader, purpose string) (io.Reader, error) {
	head := make([]byte, len(magic)+encSize)
	if _, err := io.ReadFull(from, head); err != nil {
		return nil, cut(err)
	}
	if string(head[:len(magic)]) != magic {
		return nil, Broken("it begins as none does")
	}
	key, err := hpke.NewRecipient(head[len(magic):], k.key, kdf(), aead(), []byte(purpose))
	if err != nil {
		return nil, Broken("it is for another key")
	}
	return &opener{from: from, key: key}, nil
}

func cut(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return Broken("its end is missing")
	}
	return err
}

// Read implements io.Reader.
func (o *opener) Read(p []byte) (int, error) {
	for len(o.left) == 0 && o.err == nil {
		o.next()
	}
	if len(o.left) == 0 {
		return 0, o.err
	}
	n := copy(p, o.left)
	o.left = o.left[n:]
	return n, nil
}

// next opens one piece.
func (o *opener) next() {
	var head [headSize]byte
	if _, err := io.ReadFull(o.from, head[:]); err != nil {
		o.err = cut(err)
		return
	}
	n := binary.BigEndian.Uint32(head[1:])
	full := n == piece+overhead
	if head[0] > last || n < overhead || n > piece+overhead || head[0] == more && !full {
		o.err = Broken("a piece of a length that none has")
		return
	}
	sealed := make([]byte, n)
	if _, err := io.ReadFull(o.from, sealed); err != nil {
		o.err = cut(err)
		return
	}
	plain, err := o.key.Open(head[:1], sealed)
	if err != nil {
		o.err = Broken("a piece is not what it was, or not in its place")
		return
	}
	o.left = plain
	if head[0] == last {
		o.err = o.end()
	}
}

// end sees to it that nothing follows.
func (o *opener) end() error {
	var one [1]byte
	if n, err := o.from.Read(one[:]); n > 0 || err == nil {
		return Broken("something follows its end")
	}
	return io.EOF
}
