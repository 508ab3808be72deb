package journal

import (
	"bytes"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/fault"
)

// settleLook is how much of the end of the register Settle looks at: some hundred
// sessions, so that it costs the same however many there were.
const settleLook = 128 << 10

// Settle ends the journals of sessions whose writers were killed: it writes down
// that they are lost, signs what is there, and tells the register. Until then, only
// the head says how long such a journal is. It returns the sessions.
func Settle(dir string) ([]string, error) { return settle(dir, settleLook) }

// SettleAll is Settle for the whole register: a session that was killed long after it
// began may stand far before its end.
func SettleAll(dir string) ([]string, error) { return settle(dir, math.MaxInt64) }

func settle(dir string, look int64) ([]string, error) {
	f, err := os.OpenFile(filepath.Join(sealDir(dir), registerName), os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	open, err := unsettled(f, look)
	if err != nil {
		return nil, err
	}
	var done []string
	var failed error
	for _, id := range open {
		err := Append(dir, id)
		switch {
		case err == nil:
			done = append(done, id)
		case fault.KindOf(err) != fault.Refused: // else it runs
			failed = errors.Join(failed, err)
		}
	}
	return done, failed
}

// unsettled lists the sessions that began and are not said to have ended.
func unsettled(f *os.File, look int64) ([]string, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	buf := make([]byte, min(st.Size(), look))
	if _, err := f.ReadAt(buf, st.Size()-int64(len(buf))); err != nil {
		return nil, err
	}
	// It is fast, and trusts the lines: whether one can be gone on with, its head decides.
	open := map[string]bool{}
	var order []string
	for line := range bytes.Lines(buf) {
		event, session, ok := glanceEntry(line)
		if !ok {
			continue // the first may be half of one
		}
		going := event == begun || event == resumed
		if going {
			order = append(order, session)
		}
		if event != broken {
			open[session] = going
		}
	}
	var out []string
	for _, id := range order {
		if open[id] {
			out = append(out, id)
			open[id] = false
		}
	}
	return out, nil
}
