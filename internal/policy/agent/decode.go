package agent

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/pelletier/go-toml/v2"

	"ringfence.dev/ringfence/internal/fault"
)

// decode reads a profile strictly: an unknown key, a wrong type, a key given
// twice or a value that makes no sense is an error that shows the line.
func decode(data []byte, name, source string) (*Profile, error) {
	if err := shallow(data); err != nil {
		return nil, fault.New(fault.Usage, "", "%s: %w", source, err)
	}
	p := new(Profile)
	d := toml.NewDecoder(bytes.NewReader(data))
	if err := d.DisallowUnknownFields().Decode(p); err != nil {
		return nil, fault.New(fault.Usage, "", "%w", located(data, source, err))
	}
	p.Source = source
	if p.Name != name {
		return nil, fault.New(fault.Usage, "", "%s: name is %q, the file says %q", source, p.Name, name)
	}
	if err := p.check(); err != nil {
		return nil, fault.New(fault.Usage, "", "%s: %w", source, err)
	}
	return p, nil
}

// maxBrackets bounds how deep a TOML text can nest, whatever its strings hold.
const maxBrackets = 10000

// shallow refuses a text on which a recursive parser could exhaust its stack.
func shallow(data []byte) error {
	if bytes.Count(data, []byte{'['})+bytes.Count(data, []byte{'{'}) > maxBrackets {
		return errors.New("more than 10000 opening brackets")
	}
	return nil
}

// located adds file, line and an underline to an error of the decoder.
func located(data []byte, source string, err error) error {
	var missing *toml.StrictMissingError
	if errors.As(err, &missing) && len(missing.Errors) > 0 {
		first := &missing.Errors[0]
		return pointed(data, source, first, fmt.Sprintf("unknown key %q", strings.Join(first.Key(), ".")))
	}
	var wrong *toml.DecodeError
	if errors.As(err, &wrong) {
		return pointed(data, source, wrong, strings.TrimPrefix(wrong.Error(), "toml: "))
	}
	return fmt.Errorf("%s: %w", source, err)
}

// pointed shows the line of the mistake with the mistake underlined.
func pointed(data []byte, source string, at *toml.DecodeError, what string) error {
	row, column := at.Position()
	lines := strings.Split(string(data), "\n")
	if row < 1 || row > len(lines) {
		return fmt.Errorf("%s: %s", source, what)
	}
	line := strings.Map(printable, strings.TrimRight(lines[row-1], "\r"))
	start := min(max(column-1, 0), len(line))
	length := strings.IndexAny(line[start:]+" ", " \t=]},#")
	margin := fmt.Sprintf("%4d | ", row)
	gap := strings.Repeat(" ", len(margin)-2) + "| "
	return fmt.Errorf("%s:%d:%d: %s\n%s%s\n%s%s%s", source, row, column, what,
		margin, line, gap, strings.Repeat(" ", start), strings.Repeat("~", max(length, 1)))
}

// printable replaces what a terminal might obey.
func printable(r rune) rune {
	if !unicode.IsPrint(r) {
		return ' '
	}
	return r
}
