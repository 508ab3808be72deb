package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// ErrVersion is in the chain of a BadLine that another version wrote.
var ErrVersion = errors.New("a version that is not known")

var (
	errTorn = errors.New("torn: its end was never written")
	errLong = fmt.Errorf("longer than %d bytes", maxLine)
	errForm = errors.New("not in the form that is written")
)

// BadLine is a line that is no record. Reading can go on after it.
type BadLine struct {
	Line int // from 1 on
	Err  error
}

func (b *BadLine) Error() string { return fmt.Sprintf("line %d: %v", b.Line, b.Err) }

func (b *BadLine) Unwrap() error { return b.Err }

// decode reads one line. It takes exactly the lines that AppendJSON makes: what
// encoding/json lets pass beyond them (a key twice, or in another case, spaces,
// a missing field) does not come out the same.
func decode(line []byte) (Record, error) {
	version, rest, _ := bytes.Cut(line, []byte(","))
	if bytes.HasPrefix(version, []byte(`{"v":`)) && len(rest) > 0 && string(version) != `{"v":1` && string(version) != `{"v":2` {
		return Record{}, ErrVersion
	}
	var r Record
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return Record{}, fmt.Errorf("decode record: %w", err)
	}
	if r.V != Version && r.V != unchained || !known(r.Kind) || !bytes.Equal(r.AppendJSON(nil), line) {
		return Record{}, errForm
	}
	return r, nil
}
