package undo

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync"

	"golang.org/x/sys/unix"
)

// recordFile is a file of records that only grows. Every record is written by one system
// call.
type recordFile struct {
	fd     int
	size   int64
	broken error // half a record stands at its end
}

// frame is what stands before a record: its length, the same with all bits turned
// (a wrong length must not pass for a record that was cut short), its checksum.
const frame = 12

var castagnoli = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })

// pack appends records as they stand in the file.
func pack(b []byte, records ...*record) []byte {
	for _, r := range records {
		start := len(b)
		b = r.append(append(b, make([]byte, frame)...))
		body := b[start+frame:]
		binary.LittleEndian.PutUint32(b[start:], uint32(len(body)))
		binary.LittleEndian.PutUint32(b[start+4:], ^uint32(len(body)))
		binary.LittleEndian.PutUint32(b[start+8:], crc32.Checksum(body, castagnoli()))
	}
	return b
}

// write appends all of b or nothing.
func (t *recordFile) write(b []byte) error {
	if t.broken != nil {
		return t.broken
	}
	var err error
	for done := 0; done < len(b) && err == nil; {
		var n int
		if n, err = unix.Write(t.fd, b[done:]); err == unix.EINTR {
			err = nil
		}
		done += max(n, 0)
	}
	if err == nil {
		t.size += int64(len(b))
		return nil
	}
	err = fmt.Errorf("write undo log: %w", err)
	if cut := unix.Ftruncate(t.fd, t.size); cut != nil {
		t.broken = fmt.Errorf("%w, and cut it: %w", err, cut)
	}
	return err
}

var errTorn = errors.New("torn")

// readRecords hands out every record of a file. What is cut short at its end was
// never finished and is left out; whole is the length without it.
func readRecords(r io.Reader, trees int, each func(record) error) (whole int64, err error) {
	in := bufio.NewReaderSize(r, maxRecord)
	for n := 1; ; n++ {
		body, err := nextBody(in)
		if err == io.EOF || err == errTorn {
			return whole, nil
		}
		var rec record
		if err == nil && whole > maxLog+maxRecord {
			err = fmt.Errorf("past %d bytes", maxLog)
		}
		if err == nil {
			rec, err = decode(body, trees)
		}
		if err == nil && (rec.op == opHead) != (n == 1) {
			err = errors.New("out of order")
		}
		if err == nil {
			if rec.op == opHead {
				trees = len(rec.trees)
			}
			err = each(rec)
		}
		if err != nil {
			return whole, fmt.Errorf("record %d: %w", n, err)
		}
		whole += frame + int64(len(body))
	}
}

func nextBody(in *bufio.Reader) ([]byte, error) {
	var head [frame]byte
	if _, err := io.ReadFull(in, head[:]); err == io.ErrUnexpectedEOF {
		return nil, errTorn
	} else if err != nil {
		return nil, err
	}
	size := binary.LittleEndian.Uint32(head[:])
	if size == 0 || size > maxRecord || size != ^binary.LittleEndian.Uint32(head[4:]) {
		return nil, fmt.Errorf("a length of %d bytes", size)
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(in, body); err == io.EOF || err == io.ErrUnexpectedEOF {
		return nil, errTorn
	} else if err != nil {
		return nil, err
	}
	if crc32.Checksum(body, castagnoli()) != binary.LittleEndian.Uint32(head[8:]) {
		return nil, errors.New("the checksum is wrong")
	}
	return body, nil
}
