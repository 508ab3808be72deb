package agent

import (
	"bytes"
	"path/filepath"
	"strings"

	"ringfence.dev/ringfence/internal/fault"
)

// maxShebang is what the kernel reads of a #! line.
const maxShebang = 256

// interpreter returns the program that runs the script at path, or "". What
// /usr/bin/env is asked for is looked for like an agent: not in a workspace.
func (q Query) interpreter(path string) (string, error) {
	data, err := q.Look.Head(path, maxShebang)
	if err != nil {
		return "", fault.New(fault.NotExecutable, "", "%q: %w", path, err)
	}
	program, byName := shebang(data)
	if program == "" || !byName {
		return program, nil
	}
	for _, dir := range filepath.SplitList(q.Path) {
		candidate := filepath.Join(dir, program)
		if q.usable(dir, candidate) && q.Look.program(candidate) == nil {
			return candidate, nil
		}
	}
	return "", fault.New(fault.NotFound, "install "+program+" or put it on PATH", "%q needs %q, which is not on PATH", path, program)
}

// shebang returns the interpreter that a #! line names: a path, or, if the line
// goes through env, a bare name for PATH to resolve.
func shebang(data []byte) (program string, byName bool) {
	line, ok := bytes.CutPrefix(data, []byte("#!"))
	if !ok {
		return "", false
	}
	line, _, _ = bytes.Cut(line, []byte{'\n'})
	words := strings.Fields(string(line))
	if len(words) == 0 || !filepath.IsAbs(words[0]) {
		return "", false
	}
	if filepath.Base(words[0]) != "env" {
		return words[0], false
	}
	for _, w := range words[1:] {
		w = strings.TrimPrefix(w, "-S")
		if w != "" && w[0] != '-' && !strings.Contains(w, "=") {
			return w, !filepath.IsAbs(w)
		}
	}
	return words[0], false
}
