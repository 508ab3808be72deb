package file

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

var (
	// ErrLong is returned for more bytes than a reader takes.
	ErrLong = errors.New("too long")
	// ErrNotRegular is returned for a directory, a device, a pipe or a socket.
	ErrNotRegular = errors.New("not a regular file")
	// ErrNotOurs is returned for a file that somebody else could have written.
	ErrNotOurs = errors.New("others could have written it")
)

// ReadAll reads to the end. More than most bytes are ErrLong, with the first of them.
func ReadAll(r io.Reader, most int64) ([]byte, error) { return readSized(r, 0, most) }

// readSized reads what says how long it is. That may be wrong: files of proc say nothing.
func readSized(r io.Reader, size, most int64) ([]byte, error) {
	data := make([]byte, min(size, most))
	n, err := io.ReadFull(r, data)
	if data = data[:n]; err == io.EOF || err == io.ErrUnexpectedEOF {
		return data, nil
	}
	if err == nil {
		var rest []byte
		rest, err = io.ReadAll(io.LimitReader(r, most+1-int64(n)))
		data = append(data, rest...)
	}
	if err == nil && int64(len(data)) > most {
		return data[:most], fmt.Errorf("%w: larger than %d bytes", ErrLong, most)
	}
	return data, err
}

// Read reads a regular file of at most most bytes. A pipe cannot make it wait. flags is
// O_NOFOLLOW where somebody else may have made a link.
func Read(path string, most int64, flags int) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|flags, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadRegular(f, most)
}

// ReadOwn reads a file that only this user can have written.
func ReadOwn(path string, most int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return nil, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || int(st.Uid) != os.Geteuid() || st.Mode&0o022 != 0 {
		return nil, &os.PathError{Op: "read", Path: path, Err: ErrNotOurs}
	}
	return ReadRegular(f, most)
}

// ReadRegular reads a file that is open, from where it stands.
func ReadRegular(f *os.File, most int64) ([]byte, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, &os.PathError{Op: "read", Path: f.Name(), Err: ErrNotRegular}
	}
	data, err := readSized(f, st.Size(), most)
	if errors.Is(err, ErrLong) {
		err = &os.PathError{Op: "read", Path: f.Name(), Err: err}
	}
	return data, err
}
