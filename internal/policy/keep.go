package policy

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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
	if p != nil && !onlyHosts(p) {
		return fmt.Errorf("%s holds more than granted hosts: add %q to [network] allow by hand", printable(path), r)
	}
	text := []byte(keepHead + "[network]\nallow = [\n]\n")
	if p != nil {
		if text, err = readRegular(path, 0); err != nil {
			return err
		}
	}
	text, err = Append(text, path, []Addition{{Section: "network", Key: "allow", Value: r.String(), Comment: day.Format(time.DateOnly) + " " + reason}})
	if err != nil {
		return err
	}
	return replace(path, text, 0o600)
}

// onlyHosts holds for a policy that has nothing but hosts that are allowed.
func onlyHosts(p *Policy) bool {
	var all, kept bytes.Buffer
	err := errors.Join(Write(&all, p), Write(&kept, &Policy{Network: Network{Allow: p.Network.Allow}}))
	return err == nil && bytes.Equal(all.Bytes(), kept.Bytes())
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
