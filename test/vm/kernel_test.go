//go:build amd64

package vm

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// metaPackage always depends on the newest kernel of the release. In the cloud
// flavour everything that ringfence touches is built in, so no module is needed.
const metaPackage = "linux-image-cloud-amd64"

var kernelDepends = regexp.MustCompile(`(?m)^Depends: (linux-image-[\w.+~-]+) \(= ([\w.+:~-]+)\)`)

// kernel returns a kernel to boot and what uname says under it.
func kernel(t *testing.T) (path, release string) {
	t.Helper()
	var name, version string
	identify := func() (string, error) {
		out, err := output("", "apt-cache", "--no-all-versions", "show", metaPackage)
		if err != nil {
			return "", err
		}
		m := kernelDepends.FindStringSubmatch(string(out))
		if m == nil {
			return "", fmt.Errorf("package %s names no kernel:\n%s", metaPackage, out)
		}
		name, version, release = m[1], m[2], strings.TrimPrefix(m[1], "linux-image-")
		return "kernel-" + release + "_" + version, nil
	}
	return product{identify, func(dir, into string) error {
		// apt-get checks what it downloads against the signed lists.
		if _, err := output(dir, "apt-get", "-qq", "download", name+"="+version); err != nil {
			return err
		}
		debs, err := filepath.Glob(filepath.Join(dir, "*.deb"))
		if err != nil || len(debs) != 1 {
			return fmt.Errorf("apt-get download left %q: %w", debs, err)
		}
		return extract(debs[0], "./boot/vmlinuz-"+release, into)
	}}.get(t), release
}

// extract takes one file out of a package.
func extract(deb, name, into string) error {
	found := false
	err := eachFile(deb, func(h *tar.Header, r io.Reader) error {
		if h.Name != name || h.Typeflag != tar.TypeReg {
			return nil
		}
		found = true
		f, err := os.OpenFile(into, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, r)
		return errors.Join(err, f.Close())
	})
	if err == nil && !found {
		err = fmt.Errorf("%s has no %s", filepath.Base(deb), name)
	}
	return err
}
