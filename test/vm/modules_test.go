//go:build amd64

package vm

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/sandbox/microvm/cpio"
	"ringfence.dev/ringfence/internal/sandbox/microvm/module"

	"ringfence.dev/ringfence/test/debian"
)

// wanted are the modules that the gate needs, and the one that tells it who owns a
// connection. Those that they need come with them. Everything else that ringfence
// touches is built in, in the cloud flavour.
var wanted = []string{"nf_tables", "nft_chain_nat", "nft_redir", "nft_ct", "nft_reject_inet", "tcp_diag"}

// packed is a module as it is in a package.
type packed struct {
	file string // its name, which says how it is compressed
	data []byte
}

// readKernel takes the image and the modules out of a package.
func readKernel(deb string) (image []byte, modules map[string]packed, err error) {
	modules = map[string]packed{}
	err = debian.EachFile(deb, func(h *tar.Header, r io.Reader) (err error) {
		file := path.Base(h.Name)
		name, _, isModule := strings.Cut(file, ".ko")
		switch {
		case h.Typeflag != tar.TypeReg:
		case isModule:
			p := packed{file: file}
			p.data, err = io.ReadAll(r)
			modules[module.Name(name)] = p
		case strings.HasPrefix(merged(h.Name), "boot/vmlinuz-"):
			image, err = io.ReadAll(r)
		}
		return err
	})
	if err == nil && image == nil {
		err = fmt.Errorf("%s has no kernel", path.Base(deb))
	}
	return image, modules, err
}

// choose returns the modules that are named and those that they need, as files of
// the guest.
func choose(all map[string]packed, names []string) (map[string]cpio.Entry, error) {
	chosen := map[string]cpio.Entry{}
	_, err := module.Closure(names, func(name string) ([]string, error) {
		p, ok := all[name]
		if !ok {
			return nil, fmt.Errorf("there is no module %s", name)
		}
		data, err := p.unpack()
		if err != nil {
			return nil, err
		}
		chosen["usr/lib/modules/"+name+".ko"] = cpio.Entry{Mode: 0o644, Data: data}
		i, err := module.Read(bytes.NewReader(data))
		return i.Depends, err
	})
	return chosen, err
}

// unpack: the guest could not.
func (p packed) unpack() ([]byte, error) {
	switch path.Ext(p.file) {
	case ".ko":
		return p.data, nil
	case ".xz": // from Debian 13 on
		cmd := exec.Command("xz", "--decompress", "--stdout")
		cmd.Stdin = bytes.NewReader(p.data)
		out, err := cmd.Output()
		if errors.Is(err, exec.ErrNotFound) {
			return nil, fmt.Errorf("%w; as root: apt-get install xz-utils", err)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.file, err)
		}
		return out, nil
	}
	return nil, fmt.Errorf("%s: compressed in a way that is not known here", p.file)
}

func TestUnpackModule(t *testing.T) {
	const plain = "a module"
	xz := exec.Command("xz", "--stdout")
	xz.Stdin = strings.NewReader(plain)
	compressed, err := xz.Output()
	if err != nil {
		t.Fatalf("%v; as root: apt-get install xz-utils", err)
	}
	for _, p := range []packed{{"a.ko", []byte(plain)}, {"a.ko.xz", compressed}} {
		if got, err := p.unpack(); err != nil || string(got) != plain {
			t.Errorf("%s: %q, %v", p.file, got, err)
		}
	}
	for _, p := range []packed{{"a.ko.xz", []byte(plain)}, {"a.ko.zst", compressed}} {
		if got, err := p.unpack(); err == nil {
			t.Errorf("%s: %q is taken", p.file, got)
		}
	}
}
