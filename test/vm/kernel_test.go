//go:build amd64

package vm

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/sandbox/microvm/cpio"

	"ringfence.dev/ringfence/test/debian"
)

// metaPackage always depends on the newest kernel of the release.
const metaPackage = "linux-image-cloud-amd64"

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
	identify := func() (_ string, err error) {
		name, version, release, err = debian.NewestKernel(metaPackage)
		return fmt.Sprintf("linux-%s_%s_%.4x", release, version, sha256.Sum256([]byte(strings.Join(wanted, " ")))), err
	}
	dir := debian.Product{Identify: identify, Make: func(dir, into string) error {
		deb, err := debian.Download(dir, name, version)
		if err != nil {
			return err
		}
		return takeKernel(deb, into)
	}}.Get(t)
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
