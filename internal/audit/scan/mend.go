package scan

import (
	"bytes"
	"encoding/json"
)

// Mend returns other content for a file of this name without what is dangerous in it,
// such as a phantom of its secrets.
func Mend(rel string, data []byte) []byte {
	if len(rules()) == 0 {
		return nil
	}
	r, _ := ruleOf(rel)
	if r == nil || r.Shown {
		return data
	}
	if out := r.judge(data); out.mended {
		return out.neutral
	}
	return data
}

// fit gives a neutral file the size of the one it stands for, where it can: git takes
// a file of another size for changed before it looks into it.
func fit(r *rule, neutral []byte, size int) []byte {
	if len(neutral) > size && r != nil && r.Form == asJSON {
		var b bytes.Buffer
		if json.Compact(&b, neutral) == nil {
			neutral = b.Bytes()
		}
	}
	if len(neutral) > size && r != nil && r.Form == asCode {
		neutral = nil
	}
	if missing := size - len(neutral); missing > 0 {
		neutral = append(neutral[:len(neutral):len(neutral)], bytes.Repeat([]byte{'\n'}, missing)...)
	}
	return neutral
}
