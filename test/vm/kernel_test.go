//go:build amd64

package vm

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/sandbox/microvm/cpio"
)

// metaPackage always depends on the newest kernel of the release.
const metaPackage = "linux-image-cloud-amd64"

var kernelDepends = regexp.MustCompile(`(?m)^Depends: (linux-image-[\w.+~-]+) \(= ([\w.+:~-]+)\)`)

// linux is a kernel to boot.
type linux struct {
	release string // as uname says it
	image   string
	modules string // an archive for the guest
}

// kernel returns the newest of Debian's. Image and modules are kept together: they
// must be of the very same package.
func kernel(t *testing.T) linux {
	t.Helper()
	var name, version, release string
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
		return fmt.Sprintf("linux-%s_%s_%.4x", release, version, sha256.Sum256([]byte(strings.Join(wanted, " ")))), nil
	}
	dir := product{identify, func(dir, into string) error {
		// apt-get checks what it downloads against the signed lists.
		if _, err := output(dir, "apt-get", "-qq", "download", name+"="+version); err != nil {
			return err
		}
		debs, err := filepath.Glob(filepath.Join(dir, "*.deb"))
		if err != nil || len(debs) != 1 {
			return fmt.Errorf("apt-get download left %q: %w", debs, err)
		}
		return takeKernel(debs[0], into)
	}}.get(t)
	return linux{release, filepath.Join(dir, "image"), filepath.Join(dir, "modules")}
}

// takeKernel makes a directory of what matters in a package.
func takeKernel(deb, into string) error {
	image, all, err := readKernel(deb)
	if err != nil {
		return err
	}
	modules, err := choose(all, wanted)
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(deb), err)
	}
	if err := os.Mkdir(into, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(into, "image"), image, 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(into, "modules"), archived(modules), 0o644)
}

// archived is what the kernel unpacks at boot.
func archived(entries map[string]cpio.Entry) []byte {
	var b bytes.Buffer
	cpio.Write(&b, entries) // a buffer takes everything
	return b.Bytes()
}
