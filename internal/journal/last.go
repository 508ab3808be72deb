package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// ErrNoRecord means that no record of a journal is one that was looked for.
var ErrNoRecord = errors.New("no such record")

// Last returns the last record of a session for which match holds, reading from the
// end. Lines that are no records are passed over. It is ErrNoRecord if there is none.
func Last(dir, session string, match func(Record) bool) (Record, error) {
	if !isSession(session) {
		return Record{}, notSession(session)
	}
	fd, err := openDir(dir)
	if err != nil {
		return Record{}, fmt.Errorf("journal of session %s: %w", session, err)
	}
	defer unix.Close(fd)
	for part := lastPart(fd, session); part >= 1; part-- {
		f, err := openFile(fd, partName(session, part), unix.O_RDONLY)
		if err != nil {
			return Record{}, fmt.Errorf("journal of session %s: %w", session, err)
		}
		rec, err := lastIn(f, session, match)
		f.Close()
		if !errors.Is(err, ErrNoRecord) {
			return rec, err
		}
	}
	return Record{}, fmt.Errorf("journal of session %s: %w", session, ErrNoRecord)
}

// lastPart is the number of parts, and 1 also if there is none.
func lastPart(dir int, session string) int {
	part := 1
	for part < maxParts {
		var st unix.Stat_t
		if unix.Fstatat(dir, partName(session, part+1), &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
			break
		}
		part++
	}
	return part
}

func lastIn(f *os.File, session string, match func(Record) bool) (Record, error) {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return Record{}, err
	}
	for line, err := range backwards(f, size) {
		if err != nil {
			return Record{}, fmt.Errorf("journal of session %s: %w", session, err)
		}
		if rec, err := decode(line); err == nil && rec.Session == session && match(rec) {
			return rec, nil
		}
	}
	return Record{}, ErrNoRecord
}

// backwards yields the whole lines of f before end, the last first. A line that is
// longer than a record can be is yielded in pieces, which are no records.
func backwards(f *os.File, end int64) func(yield func([]byte, error) bool) {
	return func(yield func([]byte, error) bool) {
		store := make([]byte, 2*maxLine)
		whole := false // what stands before end ends in a newline
		for end > 0 {
			from := max(end-int64(len(store)), 0)
			buf := store[:end-from]
			if _, err := f.ReadAt(buf, from); err != nil {
				yield(nil, err)
				return
			}
			for {
				i := bytes.LastIndexByte(buf, '\n')
				if i < 0 && from > 0 && len(buf) < maxLine {
					break // the rest of it comes with the next block
				}
				if whole && !yield(buf[i+1:], nil) {
					return
				}
				whole = i >= 0
				buf = buf[:max(i, 0)]
				if len(buf) == 0 && i <= 0 {
					break
				}
			}
			end = from + int64(len(buf))
		}
	}
}
