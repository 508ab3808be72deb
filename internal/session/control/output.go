package control

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// logLimit is what one of the two files of a log holds. When it is full it becomes the
// older one, and what the older one held is gone.
const logLimit = 4 << 20

const (
	logFile = "output"
	logOld  = "output.1"
)

// Log keeps the last of what a session printed, in the session's directory.
type Log struct {
	dir  string
	file *os.File
	size int64
}

// CreateLog begins the log in dir.
func CreateLog(dir string) (*Log, error) {
	f, err := os.OpenFile(filepath.Join(dir, logFile), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return &Log{dir: dir, file: f}, nil
}

// Write never fails: a session goes on when nobody can read later what it printed.
func (l *Log) Write(p []byte) (int, error) {
	if l.file == nil {
		return len(p), nil
	}
	if l.size+int64(len(p)) > logLimit {
		l.turn()
	}
	if l.file != nil {
		n, _ := l.file.Write(p)
		l.size += int64(n)
	}
	return len(p), nil
}

// turn begins a new file.
func (l *Log) turn() {
	l.Close()
	name := filepath.Join(l.dir, logFile)
	if os.Rename(name, filepath.Join(l.dir, logOld)) != nil {
		return
	}
	if f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err == nil {
		l.file, l.size = f, 0
	}
}

// Close ends the log.
func (l *Log) Close() error {
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return err
}

// Reader reads a log, also while it is written.
type Reader struct {
	dir  string
	file *os.File // of which more may come
	rest io.Reader
}

// OpenLog opens the log in dir.
func OpenLog(dir string) (*Reader, error) {
	r := &Reader{dir: dir}
	var err error
	if r.file, err = os.Open(filepath.Join(dir, logFile)); err != nil {
		return nil, err
	}
	old, err := os.Open(filepath.Join(dir, logOld))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.rest = r.file
	case err != nil:
		r.file.Close()
		return nil, err
	default:
		r.rest = io.MultiReader(old, r.file)
	}
	return r, nil
}

// Read returns io.EOF where there is no more yet; a later call may find more.
func (r *Reader) Read(p []byte) (int, error) {
	n, err := r.rest.Read(p)
	if n > 0 || err != io.EOF {
		return n, err
	}
	if n, err = r.file.Read(p); n > 0 || err != io.EOF {
		return n, err
	}
	// It may have become the older one.
	next, fail := os.Open(filepath.Join(r.dir, logFile))
	if fail != nil {
		return 0, err
	}
	if same(next, r.file) {
		next.Close()
		return 0, err
	}
	r.file.Close()
	r.file, r.rest = next, next
	return r.file.Read(p)
}

func same(a, b *os.File) bool {
	x, err := a.Stat()
	if err != nil {
		return false
	}
	y, err := b.Stat()
	return err == nil && os.SameFile(x, y)
}

// Close closes the log.
func (r *Reader) Close() error { return r.file.Close() }
