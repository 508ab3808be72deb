//go:build amd64

package vm

import (
	"archive/tar"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/sandbox/microvm/cpio"

	"ringfence.dev/ringfence/test/debian"
)

// aptInstall pretends to install systemd and a bus where nothing is installed yet.
func aptInstall(dir, action string) ([]byte, error) {
	return debian.Output("", "apt-get", "-qq", action, "-o", "Dir::State::status=/dev/null", "-o", "Dir::Cache="+dir,
		"-o", "Dir::Cache::archives="+dir, "-o", "Debug::NoLocking=true", "-o", "APT::Install-Recommends=false",
		"install", "systemd", "dbus-daemon")
}

// systemdTree returns the archive of a system with systemd and a bus, made of
// their packages and what they depend on. None of what is installed here is in it.
func systemdTree(t *testing.T) string {
	t.Helper()
	identify := func() (string, error) {
		list, err := aptInstall(t.TempDir(), "--print-uris")
		return fmt.Sprintf("systemd-%.12x", sha256.Sum256(list)), err
	}
	return debian.Product{Identify: identify, Make: func(dir, into string) error {
		if err := os.Mkdir(filepath.Join(dir, "partial"), 0o755); err != nil {
			return err
		}
		if _, err := aptInstall(dir, "--download-only"); err != nil {
			return err
		}
		debs, err := filepath.Glob(filepath.Join(dir, "*.deb"))
		if err != nil {
			return err
		}
		all := map[string]cpio.Entry{}
		for _, deb := range debs {
			if err := unpack(deb, all); err != nil {
				return fmt.Errorf("%s: %w", filepath.Base(deb), err)
			}
		}
		for _, dir := range []string{"bin", "sbin", "lib", "lib64"} {
			all[dir] = cpio.Entry{Mode: fs.ModeSymlink | 0o777, Data: []byte("usr/" + dir)}
		}
		return os.WriteFile(into, archived(all), 0o644)
	}}.Get(t)
}

// unpack adds the files of a package that matter to a running system.
func unpack(deb string, all map[string]cpio.Entry) error {
	return debian.EachFile(deb, func(h *tar.Header, r io.Reader) error {
		name := merged(h.Name)
		if name == "." || strings.HasPrefix(name, "usr/share/") && !strings.HasPrefix(name, "usr/share/dbus-1/") {
			return nil
		}
		e := cpio.Entry{Mode: fs.FileMode(h.Mode).Perm()}
		switch h.Typeflag {
		case tar.TypeDir:
			e.Mode |= fs.ModeDir
		case tar.TypeSymlink:
			e.Mode |= fs.ModeSymlink
			e.Data = []byte(h.Linkname)
		case tar.TypeLink:
			e.Data = all[merged(h.Linkname)].Data
		default:
			var err error
			if e.Data, err = io.ReadAll(r); err != nil {
				return err
			}
		}
		all[name] = e
		return nil
	})
}

// merged names a file where /bin, /sbin and /lib are links into /usr.
func merged(name string) string {
	name = path.Clean(name)
	switch top, _, below := strings.Cut(name, "/"); top {
	case "bin", "sbin", "lib", "lib64":
		if !below {
			return "."
		}
		return "usr/" + name
	}
	return name
}
