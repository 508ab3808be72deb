package state

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// maxRecord bounds the record file: the longest path, every byte escaped.
const maxRecord = 32 << 10

// record is the file that says which root a project's state belongs to. When it
// was last used is its mtime, so that a launch writes no data.
type record struct {
	Root    string // any bytes
	Created time.Time
}

// recordJSON keeps the root as a quoted string, readable and lossless where JSON
// alone would replace bytes that are not UTF-8.
type recordJSON struct {
	Version int       `json:"version"`
	Root    string    `json:"root"`
	Created time.Time `json:"created"`
}

const recordVersion = 1

func (r record) encode() ([]byte, error) {
	b, err := json.Marshal(recordJSON{recordVersion, strconv.QuoteToASCII(r.Root), r.Created.UTC()})
	return append(b, '\n'), err
}

func decodeRecord(b []byte) (record, error) {
	var j recordJSON
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&j); err != nil {
		return record{}, fmt.Errorf("record: %w", err)
	}
	if dec.More() {
		return record{}, fmt.Errorf("record: more than one value")
	}
	if j.Version != recordVersion {
		return record{}, fmt.Errorf("record: version %d is not known", j.Version)
	}
	root, err := strconv.Unquote(j.Root)
	if err != nil {
		return record{}, fmt.Errorf("record: root: %w", err)
	}
	return record{root, j.Created}, nil
}
