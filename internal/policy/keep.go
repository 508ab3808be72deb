package policy

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/file"
)

// keepHead says whose file it is.
const keepHead = "# Kept by `ringfence grant`. Lines may be removed by hand.\n\n"

// Keep adds a rule to the hosts that the file at path allows, with the day and the reason
// beside it, and makes the file where there is none. The file is replaced as a whole or
// not at all, and its other lines stay as they are: people may have written in it. One
// that holds anything else than such rules is left alone: it is somebody's own.
func Keep(path string, r address.Rule, day time.Time, reason string) error {
	unlock, err := lockDir(filepath.Dir(path)) // two grants at once: both are kept
	if err != nil {
		return err
	}
	defer unlock()
	p, err := Load(path)
	if err != nil {
		return err
	}
	line := "  " + quote(r.String()) + ",  # " + commentText(day.Format(time.DateOnly)+" "+reason) + "\n"
	if p == nil {
		return replace(path, []byte(keepHead+"[network]\nallow = [\n"+line+"]\n"), 0o600)
	}
	byHand := fmt.Errorf("%s holds more than granted hosts: add %q to [network] allow by hand", printable(path), r)
	if onlyHosts(p) != nil {
		return byHand
	}
	old, err := readRegular(path, 0)
	if err != nil {
		return err
	}
	text, ok := withLine(string(old), r, line)
	if !ok || !holds(text, append(p.Network.Allow, Rule{Value: r.String()})) {
		return byHand
	}
	return replace(path, []byte(text), 0o600)
}

// onlyHosts holds for a policy that has nothing but hosts that are allowed.
func onlyHosts(p *Policy) error {
	var all, kept bytes.Buffer
	if err := errors.Join(Write(&all, p), Write(&kept, &Policy{Network: Network{Allow: p.Network.Allow}})); err != nil {
		return err
	}
	if !bytes.Equal(all.Bytes(), kept.Bytes()) {
		return errors.New("it holds more")
	}
	return nil
}

// withLine puts a line at the end of the list, in the place of an earlier one of the same
// rule.
func withLine(text string, r address.Rule, line string) (string, bool) {
	var lines []string
	end := -1
	for have := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(have), quote(r.String())+",") {
			continue
		}
		if strings.TrimSpace(have) == "]" {
			end = len(lines)
		}
		lines = append(lines, have)
	}
	if end < 0 {
		return "", false
	}
	return strings.Join(slices.Insert(lines, end, line), ""), true
}

// holds reports whether a text allows these hosts and says nothing else: whatever was in
// it, a line of ours must not have changed what it means.
func holds(text string, want List) bool {
	p, err := decode([]byte(text), "")
	if err != nil || onlyHosts(p) != nil {
		return false
	}
	have, all := p.Network.Allow.Values(), want.Values()
	slices.Sort(have)
	slices.Sort(all)
	return slices.Equal(slices.Compact(have), slices.Compact(all))
}

// commentText is a text that ends no comment and that no terminal obeys.
func commentText(s string) string {
	s = strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' {
			return '?'
		}
		return c
	}, s)
	return s[:min(len(s), 200)]
}

// lockDir makes a directory and keeps others who do the same out of it.
func lockDir(dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	dir, err = file.Behind(dir)
	if err != nil {
		return nil, err
	}
	f, err := file.LockDir(dir, unix.LOCK_EX)
	if err != nil {
		return nil, err
	}
	return func() { f.Close() }, nil
}

// replace writes a policy file. A link in the user's own directory stays.
func replace(path string, data []byte, mode fs.FileMode) error {
	path, err := file.Behind(path)
	if err != nil {
		return err
	}
	return file.Replace(path, data, mode)
}
