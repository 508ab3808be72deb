package change

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"sync"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// Digest takes in what a file holds, part by part.
type Digest struct {
	Size int64
	// Plain holds while every byte is ASCII: then no character in it can hide another, and
	// who looks for such need not read the file once more.
	Plain bool
	sum   hash.Hash
}

// NewDigest is the digest of an empty file.
func NewDigest() *Digest { return &Digest{Plain: true, sum: sha256.New()} }

// Write takes in the next part. It never fails.
func (d *Digest) Write(b []byte) (int, error) {
	d.sum.Write(b)
	d.Size += int64(len(b))
	d.Plain = d.Plain && ascii(b)
	return len(b), nil
}

// Hash is the SHA-256 of all that came, hexadecimal.
func (d *Digest) Hash() string {
	var sum [sha256.Size]byte
	return hex.EncodeToString(d.sum.Sum(sum[:0]))
}

// room is what files are read into: a session may have made hundreds of thousands.
var room = sync.Pool{New: func() any { return new([128 << 10]byte) }}

// Read takes in what an open file holds, to its end. A file that gives as much as it should
// have is not asked once more whether that was all.
func Read(fd int, size int64) (*Digest, error) {
	d, buf := NewDigest(), room.Get().(*[128 << 10]byte)
	defer room.Put(buf)
	for {
		n, err := unix.Read(fd, buf[:])
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return d, err
		}
		d.Write(buf[:n])
		if n == 0 || n < len(buf) && d.Size == size {
			return d, nil
		}
	}
}

func ascii(b []byte) bool {
	for ; len(b) >= 8; b = b[8:] {
		if binary.LittleEndian.Uint64(b)&0x8080808080808080 != 0 {
			return false
		}
	}
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
