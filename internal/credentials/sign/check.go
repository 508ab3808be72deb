package sign

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"ringfence.dev/ringfence/internal/fault"
)

// Check says what on the host stands in the way of signing. It runs nothing.
func (c Config) Check() error {
	if err := c.check(); err != nil {
		return fault.New(fault.Refused, "see: git config --global --list", "sign with %s: %w", c.Key.Format, err)
	}
	return nil
}

func (c *Config) check() error {
	if !filepath.IsAbs(c.Runtime) {
		return errors.New("no directory for the files of a signature")
	}
	if _, err := c.findProgram(c.Key.Program); err != nil {
		return err
	}
	if c.Key.Format == SSH {
		return c.checkSSH()
	}
	return c.checkGnuPG()
}

func (c *Config) checkSSH() error {
	if c.Key.Name == "" {
		if c.Key.DefaultCommand == "" {
			return errors.New("neither user.signingkey nor gpg.ssh.defaultKeyCommand is set")
		}
		argv, err := splitCommand(c.Key.DefaultCommand)
		if err != nil {
			return fmt.Errorf("gpg.ssh.defaultKeyCommand %w", err)
		}
		_, err = c.findProgram(argv[0])
		return err
	}
	if key, ok := literal(c.Key.Name); ok {
		return checkPublic(key)
	}
	path := c.expand(c.Key.Name)
	if !filepath.IsAbs(path) {
		return errors.New("user.signingkey is neither a public key nor an absolute path")
	}
	for _, p := range []string{path, path + ".pub", strings.TrimSuffix(path, ".pub")} {
		if err := c.trusted(p); err != nil {
			return fmt.Errorf("key %w", err)
		}
	}
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("user.signingkey: %w", err)
	}
	return nil
}

func checkPublic(key string) error {
	if strings.ContainsAny(key, "\n\r\x00") || !strings.Contains(key, " ") {
		return errors.New("user.signingkey is not one public key")
	}
	return nil
}

// checkGnuPG refuses settings of GnuPG that lie in a workspace: they can name
// programs to run.
func (c *Config) checkGnuPG() error {
	home := c.getenv("GNUPGHOME")
	if home == "" {
		home = filepath.Join(c.getenv("HOME"), ".gnupg")
	}
	if !filepath.IsAbs(home) {
		return errors.New("GNUPGHOME is not an absolute path")
	}
	if err := c.trusted(home); err != nil {
		return fmt.Errorf("home of GnuPG %w", err)
	}
	confs, err := filepath.Glob(globQuote(home) + "/*.conf")
	if err != nil {
		return err
	}
	for _, conf := range confs {
		if err := c.trusted(conf); err != nil {
			return fmt.Errorf("settings of GnuPG: %w", err)
		}
	}
	return nil
}

func globQuote(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}
