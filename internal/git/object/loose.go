package object

import (
	"bufio"
	"compress/zlib"
	"errors"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// loose looks for the object in a file of its own.
func (s *Store) loose(d *os.File, id ID) (Type, []byte, error) {
	name := id.String()
	f, _, err := openFile(d, name[:2]+"/"+name[2:])
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil, ErrMissing
	}
	if err != nil {
		return "", nil, err
	}
	defer f.Close()
	return readLoose(f, &s.budget)
}

// readLoose reads "type size", a NUL and the content, all of it deflated.
func readLoose(r io.Reader, b *budget) (Type, []byte, error) {
	head, rest, err := looseHead(r)
	if err != nil {
		return "", nil, err
	}
	name, digits, _ := strings.Cut(head, " ")
	size, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || strconv.FormatInt(size, 10) != digits || !Type(name).known() {
		return "", nil, errLoose
	}
	if err := b.take(size); err != nil {
		return "", nil, err
	}
	content, err := io.ReadAll(io.LimitReader(rest, size+1))
	if err != nil || int64(len(content)) != size {
		return "", nil, errLoose
	}
	return Type(name), content, nil
}

var errLoose = errors.New("not a loose object")

// looseHead returns what stands before the NUL, and a reader of what follows.
func looseHead(r io.Reader) (string, io.Reader, error) {
	z, err := zlib.NewReader(r)
	if err != nil {
		return "", nil, errLoose
	}
	br := bufio.NewReaderSize(z, 4<<10)
	var head []byte
	for len(head) < 32 {
		c, err := br.ReadByte()
		if err != nil {
			return "", nil, errLoose
		}
		if c == 0 {
			return string(head), br, nil
		}
		head = append(head, c)
	}
	return "", nil, errLoose
}
