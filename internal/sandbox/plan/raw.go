package plan

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// Raw is a string of bytes as Linux means it: a path, an argument or a variable
// may hold bytes that are not UTF-8, and JSON would silently replace them.
type Raw string

type rawBytes struct {
	Base64 string `json:"base64"`
}

// MarshalJSON writes a plain string where that is lossless, else base64.
func (r Raw) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(r)) {
		return json.Marshal(string(r))
	}
	return json.Marshal(rawBytes{base64.StdEncoding.EncodeToString([]byte(r))})
}

// UnmarshalJSON reads both forms.
func (r *Raw) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		var s string
		if err := json.Unmarshal(b, &s); err != nil {
			return err
		}
		*r = Raw(s)
		return nil
	}
	var v rawBytes
	if err := json.Unmarshal(b, &v); err != nil {
		return fmt.Errorf("raw string: %w", err)
	}
	d, err := base64.StdEncoding.DecodeString(v.Base64)
	if err != nil {
		return fmt.Errorf("raw string: %w", err)
	}
	*r = Raw(d)
	return nil
}
