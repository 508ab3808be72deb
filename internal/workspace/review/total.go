package review

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"ringfence.dev/ringfence/internal/file"
)

// Stored is what one session keeps for undo.
type Stored struct {
	Work  *Work
	Bytes int64
}

// Excess lists whose store has to go for all of them together to keep to a total: the
// oldest first, never one that runs or in which something waits for review. left is
// what the rest keeps, which is more than the total where what waits alone is more.
func Excess(state string, total int64) (over []Stored, left int64, err error) {
	works, err := List(state) // the latest first
	var all []Stored
	for _, w := range works {
		n, serr := w.stored()
		err = errors.Join(err, serr)
		all, left = append(all, Stored{w, n}), left+n
	}
	for _, s := range slices.Backward(all) {
		if left <= total {
			break
		}
		if s.Bytes == 0 || s.Work.Running() {
			continue
		}
		if waits, werr := s.Work.Waits(); waits || werr != nil { // not known: as if it did
			continue
		}
		over, left = append(over, s), left-s.Bytes
	}
	return over, left, err
}

// DropUndo forgets what a session keeps for undo. Its record stays until it is old: who
// asks for the latest session must not get an older one for it. It refuses where
// something waits: who asked may have looked earlier.
func (w *Work) DropUndo() error {
	release, err := w.Seize()
	if err != nil {
		return err
	}
	defer release()
	if waits, err := w.Waits(); waits || err != nil {
		return errors.Join(fmt.Errorf("changes wait in session %s", w.ID), err)
	}
	all, err := w.stores()
	if err != nil {
		return err
	}
	if err := os.WriteFile(w.dropMark(), nil, 0o600); err != nil {
		return err
	}
	for i, s := range all {
		// Half a store must never be there to be taken for a whole one.
		gone := filepath.Join(w.dir, ".gone-"+strconv.Itoa(i))
		if err := errors.Join(file.RemoveTree(gone), os.Rename(s.dir, gone), file.RemoveTree(gone)); err != nil {
			return err
		}
	}
	return nil
}

func (f folder) dropMark() string { return filepath.Join(f.dir, "undo-dropped") }

// Dropped says whether what the session kept for undo had to go.
func (f folder) Dropped() bool {
	all, err := f.stores()
	_, lerr := os.Lstat(f.dropMark())
	return err == nil && len(all) == 0 && lerr == nil
}

// stored measures them. The sum of a directory is remembered beside it for as long as no
// name came or went there: every launch asks, and there may be many files.
func (f folder) stored() (sum int64, err error) {
	all, err := f.stores()
	for _, s := range all {
		n, derr := measured(filepath.Join(s.dir, "kept"), filepath.Join(f.dir, ".size-"+filepath.Base(s.dir)))
		sum, err = sum+n, errors.Join(err, derr)
	}
	return sum, err
}

func measured(kept, note string) (int64, error) {
	st, err := os.Stat(kept)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	stamp := strconv.FormatInt(st.ModTime().UnixNano(), 10)
	if b, err := os.ReadFile(note); err == nil {
		at, size, _ := strings.Cut(string(b), " ")
		if n, err := strconv.ParseInt(size, 10, 64); err == nil && n >= 0 && at == stamp {
			return n, nil
		}
	}
	entries, err := os.ReadDir(kept)
	if err != nil {
		return 0, err
	}
	var sum int64
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			sum += info.Size()
		}
	}
	os.WriteFile(note, []byte(stamp+" "+strconv.FormatInt(sum, 10)), 0o600) // only saves time
	return sum, nil
}
