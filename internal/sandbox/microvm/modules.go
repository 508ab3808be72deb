package microvm

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/sandbox/microvm/module"
)

// wanted are the modules without which a guest is none: its bus, link, disk and share, the
// overlay of the review, and what the gate is made of.
var wanted = []string{"virtio_pci", "virtio_console", "virtio_blk", "9pnet_virtio", "9p", "overlay", "ext4",
	"nf_tables", "nft_chain_nat", "nft_redir", "nft_ct", "nft_reject_inet"}

// welcome are those that a kernel may lack: randomness from the host, memory that is given
// back, who made a connection; and the sum that libcrc32c asks for at run time only.
var welcome = []string{"virtio_rng", "virtio_balloon", "tcp_diag"}

// before is what is loaded first, where there is such a module: others ask for it by what it
// does, which no list of theirs tells.
var before = []string{"crc32c_generic", "crc32c_cryptoapi"}

// Modules lists the modules that a guest has, where its kernel has them.
func Modules() []string { return slices.Concat(before, wanted, welcome) }

// maxModule bounds one module.
const maxModule = 64 << 20

// modulesOf reads what a guest loads, in that order.
func (k *kernel) modulesOf() (order []string, data map[string][]byte, err error) {
	where, err := k.index()
	if err != nil {
		return nil, nil, err
	}
	builtin, err := k.builtin()
	if err != nil {
		return nil, nil, err
	}
	data = map[string][]byte{}
	names := slices.DeleteFunc(Modules(), func(n string) bool { return where[n] == "" && !slices.Contains(wanted, n) })
	closure, err := module.Closure(names, func(name string) ([]string, error) {
		at := where[name]
		switch {
		case at == "" && builtin[name]:
			return nil, nil
		case at == "":
			return nil, fault.New(fault.Refused, kernelHint, "the kernel %q has no module %s: it is one for other machines than ours", k.file.Path, name)
		}
		b, err := readModule(at)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
		data[name] = b
		i, err := module.Read(bytes.NewReader(b))
		return i.Depends, err
	})
	for _, n := range closure {
		if data[n] != nil {
			order = append(order, n)
		}
	}
	return order, data, err
}

// index is where each module lies.
func (k *kernel) index() (map[string]string, error) {
	where := map[string]string{}
	err := filepath.WalkDir(k.modules, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name, _, ok := strings.Cut(d.Name(), ".ko"); ok && d.Type().IsRegular() {
			where[module.Name(name)] = p
		}
		return nil
	})
	return where, err
}

// builtin lists what the kernel has without a module.
func (k *kernel) builtin() (map[string]bool, error) {
	b, err := os.ReadFile(filepath.Join(k.modules, "modules.builtin"))
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for line := range strings.Lines(string(b)) {
		out[module.Name(strings.TrimSuffix(filepath.Base(strings.TrimSpace(line)), ".ko"))] = true
	}
	return out, nil
}

func readModule(at string) ([]byte, error) {
	f, err := os.Open(at)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := file.ReadRegular(f, maxModule)
	if err != nil || strings.HasSuffix(at, ".ko") {
		return b, err
	}
	return unpack(b)
}
