package debian

import (
	"archive/tar"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"ringfence.dev/ringfence/internal/sandbox/microvm/module"
)

var kernelDepends = regexp.MustCompile(`(?m)^Depends: (linux-image-[\w.+~-]+) \(= ([\w.+:~-]+)\)`)

// NewestKernel is the package of the newest kernel of a flavour, of which a package that is
// always there depends on: its name, its version, and the release as uname says it.
func NewestKernel(meta string) (name, version, release string, err error) {
	out, err := Output("", "apt-cache", "--no-all-versions", "show", meta)
	if err != nil {
		return "", "", "", err
	}
	m := kernelDepends.FindStringSubmatch(string(out))
	if m == nil {
		return "", "", "", fmt.Errorf("package %s names no kernel:\n%s", meta, out)
	}
	return m[1], m[2], strings.TrimPrefix(m[1], "linux-image-"), nil
}

// Download brings a package into a directory. apt-get checks it against the signed lists.
func Download(dir, name, version string) (string, error) {
	if _, err := Output(dir, "apt-get", "-qq", "download", name+"="+version); err != nil {
		return "", err
	}
	debs, err := filepath.Glob(filepath.Join(dir, "*.deb"))
	if err != nil || len(debs) != 1 {
		return "", fmt.Errorf("apt-get download left %q: %w", debs, err)
	}
	return debs[0], nil
}

// Installed is a product with a kernel for every machine as it would be installed: its image
// in boot, and below lib/modules those that are named, with all that they need.
func Installed(modules []string) Product {
	var name, version, release string
	return Product{Identify: func() (_ string, err error) {
		name, version, release, err = NewestKernel("linux-image-amd64")
		return fmt.Sprintf("installed-%s_%s_%.4x", release, version, sha256.Sum256([]byte(strings.Join(modules, " ")))), err
	}, Make: func(dir, into string) error {
		deb, err := Download(dir, name, version)
		if err != nil {
			return err
		}
		all := filepath.Join(dir, "all")
		if err := unpackKernel(deb, all); err != nil {
			return err
		}
		return install(all, into, release, modules)
	}}
}

// unpackKernel writes the image, the modules and the list of what is built in, each by its
// last name.
func unpackKernel(deb, into string) error {
	if err := os.Mkdir(into, 0o755); err != nil {
		return err
	}
	return EachFile(deb, func(h *tar.Header, r io.Reader) error {
		base := path.Base(h.Name)
		name, _, isModule := strings.Cut(base, ".ko")
		if h.Typeflag != tar.TypeReg || !isModule && !strings.HasPrefix(base, "vmlinuz-") && base != "modules.builtin" {
			return nil
		}
		if isModule {
			base = module.Name(name) + base[len(name):]
		}
		b, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(into, base), b, 0o644)
	})
}

// install takes what is needed. A module that is not there is built in.
func install(all, into, release string, names []string) error {
	boot, modules := filepath.Join(into, "boot"), filepath.Join(into, "lib/modules", release)
	err := errors.Join(os.MkdirAll(boot, 0o755), os.MkdirAll(modules, 0o755))
	take := func(file, dir string) error { return os.Rename(filepath.Join(all, file), filepath.Join(dir, file)) }
	err = errors.Join(err, take("vmlinuz-"+release, boot), take("modules.builtin", modules))
	_, cerr := module.Closure(names, func(name string) ([]string, error) {
		found, err := filepath.Glob(filepath.Join(all, name+".ko*"))
		if err != nil || len(found) == 0 {
			return nil, err
		}
		if path.Ext(found[0]) == ".xz" {
			if _, err := Output("", "xz", "--decompress", found[0]); err != nil {
				return nil, err
			}
		}
		f, err := os.Open(filepath.Join(all, name+".ko"))
		if err != nil {
			return nil, err
		}
		defer f.Close()
		i, err := module.Read(f)
		return i.Depends, errors.Join(err, take(name+".ko", modules))
	})
	return errors.Join(err, cerr)
}
