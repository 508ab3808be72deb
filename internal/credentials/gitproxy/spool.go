package gitproxy

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// spool is a file without a name that holds bytes until they have been judged.
type spool struct {
	*os.File
	size int64
}

var errTooLarge = errors.New("too large")

// newSpool reads r to its end into a spool. dir is where; most is how much.
func newSpool(dir string, r io.Reader, most int64) (*spool, error) {
	file, err := os.CreateTemp(dir, "ringfence-push-")
	if err != nil {
		return nil, fmt.Errorf("spool: %w", err)
	}
	if err := os.Remove(file.Name()); err != nil {
		file.Close()
		return nil, fmt.Errorf("spool: %w", err)
	}
	n, err := io.Copy(file, io.LimitReader(r, most+1))
	if err == nil && n > most {
		err = fmt.Errorf("%w: %d bytes are the most", errTooLarge, most)
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("spool: %w", err)
	}
	return &spool{file, n}, nil
}
