package projectimage

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/file/settings"
)

// idle are instructions after which an image has the same files and the same PATH. What they
// set does not count in any image (docs/rungs.md), so that the image which they start from
// is as good as the one that they make.
var idle = []string{"CMD", "ENTRYPOINT", "EXPOSE", "HEALTHCHECK", "LABEL", "MAINTAINER", "ONBUILD", "SHELL", "STOPSIGNAL", "USER"}

// dockerfile reads a Dockerfile. It names an image if all that it does is to start from one:
// what it would add is not in that image, and to leave it out unsaid would be a lie.
func dockerfile(text []byte) Image {
	all, err := instructions(text)
	if err != nil {
		return Image{Why: "it cannot be read: " + err.Error()}
	}
	var out Image
	for _, in := range all {
		switch {
		case in.word == "FROM" && out.Name == "":
			if out.Name, err = from(in.rest); err != nil {
				return Image{Why: err.Error(), Builds: errors.Is(err, errBuilds)}
			}
			out.Line = in.line
		case out.Name != "" && slices.Contains(idle, in.word):
			if !slices.Contains(out.Unused, in.word) {
				out.Unused = append(out.Unused, in.word)
			}
		default:
			return Image{Why: builds, Builds: true}
		}
	}
	if out.Name == "" {
		return Image{Why: "it has no FROM"}
	}
	return out
}

var errBuilds = errors.New(builds)

// from is the name in `FROM NAME [AS STAGE]`.
func from(rest string) (string, error) {
	f := strings.Fields(rest)
	switch {
	case len(f) != 1 && !(len(f) == 3 && strings.EqualFold(f[1], "AS")):
		return "", errors.New("its FROM is not `FROM NAME`")
	case f[0] == "scratch":
		return "", errBuilds
	}
	return f[0], nil
}

// instruction is one of a Dockerfile, in one line.
type instruction struct {
	word string // in capitals
	rest string
	line int
}

// instructions takes a Dockerfile apart. Lines may go on in the next, and comments may stand
// between. What only another reader would understand is an error: another sign for a line that
// goes on, another language (a `syntax` that is not Docker's own).
func instructions(text []byte) ([]instruction, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if err := settings.OneReading(text); err != nil {
		return nil, err
	}
	var out []instruction
	open, head := false, true
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") {
			name, value, ok := directive(line)
			if head = head && ok && !open; head && !plainDirective(name, value) {
				return nil, fmt.Errorf("line %d: only a reader of its own would understand the file: %s", n, name)
			}
			continue
		}
		head = false
		if line == "" {
			if open {
				return nil, fmt.Errorf("line %d: an empty line in the middle of an instruction", n)
			}
			continue
		}
		part, more := strings.CutSuffix(line, `\`)
		if open {
			out[len(out)-1].rest += " " + part
		} else {
			word, rest, _ := strings.Cut(strings.ReplaceAll(part, "\t", " "), " ")
			out = append(out, instruction{strings.ToUpper(word), rest, n})
		}
		open = more
	}
	if open {
		return nil, errors.New("its last line goes on, and nothing follows")
	}
	return out, nil
}

// directive takes `# name=value` apart, which is more than a comment at the head of a file.
func directive(line string) (name, value string, ok bool) {
	name, value, ok = strings.Cut(strings.TrimPrefix(line, "#"), "=")
	return strings.ToLower(strings.TrimSpace(name)), strings.TrimSpace(value), ok
}

func plainDirective(name, value string) bool {
	switch name {
	case "escape":
		return value == `\`
	case "syntax":
		own, _, _ := strings.Cut(strings.TrimPrefix(value, "docker.io/"), ":")
		return own == "docker/dockerfile"
	}
	return true // "check", or a comment
}
