package ssh

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file/sys"
)

// build is our program for a machine.
type build struct {
	*os.File
	sum, arch string
	size      int64
}

// arches are what uname calls the processors that there are builds for.
var arches = map[string]string{"x86_64": "amd64", "aarch64": "arm64"}

// buildFor finds the build for a machine, by what its uname says.
func buildFor(is string) (*build, error) {
	machine, ok := strings.CutPrefix(is, "is Linux ")
	arch := arches[machine]
	if !ok || arch == "" {
		return nil, fault.New(fault.Refused, "name a machine with Linux on x86_64 or aarch64", "there is no ringfence for %q", shown(is))
	}
	path := "/proc/self/exe"
	if arch != runtime.GOARCH {
		own, err := os.Executable()
		if err != nil {
			return nil, err
		}
		path = filepath.Join(filepath.Dir(own), "ringfence-linux-"+arch) // as `make release` calls it
		if path, err = sys.Owned(path); err == nil {
			_, err = os.Stat(path)
		}
		if err != nil {
			return nil, fault.New(fault.Refused, "put ringfence-linux-"+arch+" of the same release beside "+own, "the machine is %s and this one is %s: %w", arch, runtime.GOARCH, err)
		}
	}
	return openBuild(path, arch)
}

func openBuild(path, arch string) (*build, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	n, err := io.Copy(sum, f)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &build{f, hex.EncodeToString(sum.Sum(nil)), arch, n}, nil
}
