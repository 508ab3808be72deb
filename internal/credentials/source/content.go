package source

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

const contentVersion = 1

// content is what the store holds when it is decrypted.
type content struct {
	Version int               `json:"version"`
	Secrets map[string]string `json:"secrets"`
}

// maxContent bounds the store: it is read as a whole.
const maxContent = 4 << 20

// decodeContent reads exactly what encode writes. An error quotes nothing: what is
// in the way may be a secret.
func decodeContent(data []byte) (*content, error) {
	if len(data) > maxContent {
		return nil, fmt.Errorf("it is larger than %d MiB", maxContent>>20)
	}
	var version struct {
		Version int `json:"version"`
	}
	if json.Unmarshal(data, &version) == nil && version.Version > contentVersion {
		return nil, fmt.Errorf("it has version %d, this ringfence reads %d", version.Version, contentVersion)
	}
	var c content
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if d.Decode(&c) != nil || c.Version != contentVersion || c.Secrets == nil {
		return nil, errors.New("what is in it is not as ringfence writes it")
	}
	for name, text := range c.Secrets {
		v, err := New(text)
		if !validName(name) || err != nil || v.Reveal() != text {
			return nil, errors.New("it holds a name or a value that cannot be used")
		}
	}
	// The decoder is lenient about double keys, letter case and what follows.
	if again, err := c.encode(); err != nil || !bytes.Equal(again, data) {
		return nil, errors.New("what is in it is not as ringfence writes it")
	}
	return &c, nil
}

func (c *content) encode() ([]byte, error) {
	data, err := json.Marshal(c)
	if err == nil && len(data) > maxContent {
		err = fmt.Errorf("the store would be larger than %d MiB", maxContent>>20)
	}
	return data, err
}

// validName holds for what a policy takes for the name of a secret.
func validName(s string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
	return s != "" && len(s) <= 32 && strings.Trim(s, letters) == "" && s[0] != '-' && s[0] != '_'
}
