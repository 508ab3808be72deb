package policy

import (
	"strings"

	"ringfence.dev/ringfence/internal/fault"
)

// maxMistakes bounds what is said of one file.
const maxMistakes = 20

// note remembers a mistake and lets the reading go on, so that a person is told of all at
// once. A file with one has no rules.
func (d *decoder) note(err error) {
	if err != nil && !d.full() {
		d.mistakes = append(d.mistakes, err)
	}
}

// full holds once enough was said.
func (d *decoder) full() bool { return len(d.mistakes) == maxMistakes }

// All makes one error of several. Those that are nil do not count.
func All(errs ...error) error {
	var m mistakes
	for _, err := range errs {
		if err != nil {
			m = append(m, err)
		}
	}
	switch len(m) {
	case 0:
		return nil
	case 1:
		return m[0]
	}
	return &fault.Error{Kind: fault.KindOf(m[0]), Err: m}
}

// mistakes are told one after the other, each with its own hint.
type mistakes []error

func (m mistakes) Error() string {
	var lines []string
	for _, err := range m {
		lines = append(lines, err.Error())
		if hint := fault.HintOf(err); hint != "" {
			lines = append(lines, "      = hint: "+hint)
		}
	}
	return strings.Join(lines, "\n")
}
