package agent

import (
	"bytes"
	"path/filepath"
)

// ShadowMark begins the second line of a shadow: a launcher of ours that stands on
// PATH under an agent's name. An agent is never one of those.
const ShadowMark = "# ringfence shadow "

// KeptName is where a shadow keeps what stood under the same name before it.
func KeptName(name string) string { return "." + name + ".ringfence-kept" }

// IsShadow reports whether a file that begins so is a shadow.
func IsShadow(head []byte) bool {
	return bytes.HasPrefix(head, []byte("#!/bin/sh\n"+ShadowMark))
}

// behind returns what is to be taken in the place of a path on PATH: itself; or, if
// it is a shadow, what that keeps.
func (l Lookup) behind(path string) string {
	head, err := l.Head(path, 64)
	if err != nil || !IsShadow(head) {
		return path
	}
	if real, err := l.Resolve(path); err == nil {
		path = real // a link to a shadow
	}
	return filepath.Join(filepath.Dir(path), KeptName(filepath.Base(path)))
}
