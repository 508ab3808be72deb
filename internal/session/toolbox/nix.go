package toolbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// NixStore is where nix keeps all that it builds. Its files never change.
const NixStore = "/nix/store"

// NixBuild are the arguments by which the host's own nix builds a tool, or fetches it, and
// prints where it is. Its daemon builds in a sandbox of its own.
func NixBuild(name string) []string {
	return []string{"--extra-experimental-features", "nix-command flakes", "build", "--no-link", "--print-out-paths", "nixpkgs#" + name}
}

// LinkNix leads to the commands of what nix printed. Nothing is copied.
func (f *Fetch) LinkNix(printed string) error { return f.linkNix(NixStore, printed) }

func (f *Fetch) linkNix(store, printed string) error {
	bin := filepath.Join(f.Outside(), "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		return err
	}
	n := 0
	for line := range strings.Lines(printed) {
		at := strings.TrimSpace(line)
		if at == "" {
			continue
		}
		if filepath.Dir(at) != store || strings.Trim(filepath.Base(at), "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-._?=") != "" {
			return fmt.Errorf("nix printed %.80q, which is no place in its store", at)
		}
		entries, err := os.ReadDir(filepath.Join(at, "bin"))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		for _, e := range entries {
			if !validCommand(e.Name()) {
				continue
			}
			text := "#!/bin/sh\nexec " + quote(filepath.Join(at, "bin", e.Name())) + " \"$@\"\n"
			if err := os.WriteFile(filepath.Join(bin, e.Name()), []byte(text), 0o700); err != nil {
				return err
			}
			n++
		}
	}
	if n == 0 {
		return errors.New("what nix built has no command")
	}
	return nil
}
