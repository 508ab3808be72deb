package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// inline is the longest content of a file that stands in the plan itself.
const inline = 4 << 10

// Encode writes a plan as Decode reads it: JSON, and after it the contents of the
// longer files, as they are and in their order. Certificates of a host are half a
// megabyte, which as text would be written, scanned and read back at every launch.
func Encode(p *Plan) (head []byte, contents [][]byte, err error) {
	c := *p
	c.Ops = slices.Clone(p.Ops)
	for i := range c.Ops {
		if o := &c.Ops[i]; o.Do == DoFile && len(o.Data) > inline {
			contents = append(contents, o.Data)
			o.After, o.Data = len(o.Data), nil
		}
	}
	if head, err = json.Marshal(&c); err != nil {
		return nil, nil, fmt.Errorf("encode plan: %w", err)
	}
	return head, contents, nil
}

// take gives the files what follows the plan, all of it.
func (p *Plan) take(rest []byte) error {
	for i := range p.Ops {
		o := &p.Ops[i]
		if o.After == 0 {
			continue
		}
		if o.After < 0 || o.After > len(rest) || len(o.Data) > 0 || o.Do != DoFile {
			return fmt.Errorf("decode plan: operation %d: %d bytes are not there", i, o.After)
		}
		o.Data, rest, o.After = rest[:o.After:o.After], rest[o.After:], 0
	}
	if len(rest) > 0 {
		return errors.New("decode plan: bytes after the end")
	}
	return nil
}
