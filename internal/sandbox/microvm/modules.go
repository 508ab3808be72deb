package microvm

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/sandbox/microvm/module"
	"ringfence.dev/ringfence/internal/sandbox/program"
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

// moduleKind judges a module as the kernel is judged: it runs as that.
var moduleKind = program.Kind{Name: "a module of the guest's kernel", Hint: kernelHint, Data: true}

// source is a file that something was made of, and the digest that it had.
type source struct{ path, sum string }

// packed are the modules of a guest, in the order of loading.
type packed struct {
	order []string
	data  map[string][]byte
	from  []source
}

// modulesOf reads what a guest loads.
func (k *kernel) modulesOf() (*packed, error) {
	where, err := k.index()
	if err != nil {
		return nil, err
	}
	builtin, err := k.builtin()
	if err != nil {
		return nil, err
	}
	p := &packed{data: map[string][]byte{}}
	names := slices.DeleteFunc(Modules(), func(n string) bool { return where[n] == "" && !slices.Contains(wanted, n) })
	closure, err := module.Closure(names, func(name string) ([]string, error) {
		at := where[name]
		switch {
		case at == "" && builtin[name]:
			return nil, nil
		case at == "":
			return nil, fault.New(fault.Refused, kernelHint, "the kernel %q has no module %s: it is one for other machines than ours", k.file.Path, name)
		}
		return p.read(name, at)
	})
	for _, n := range closure {
		if p.data[n] != nil {
			p.order = append(p.order, n)
		}
	}
	return p, err
}

// read takes a module in, and says which others it needs.
func (p *packed) read(name, at string) ([]string, error) {
	raw, real, err := readJudged(at, maxModule)
	if err != nil {
		return nil, err
	}
	b := raw
	if !strings.HasSuffix(at, plainModule) {
		if b, err = unpack(raw); err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
	}
	p.data[name] = b
	p.from = append(p.from, source{real, fmt.Sprintf("%x", sha256.Sum256(raw))})
	i, err := module.Read(bytes.NewReader(b))
	return i.Depends, err
}

// readJudged reads a file that nobody but root and the user can change.
func readJudged(at string, most int64) (b []byte, real string, err error) {
	f, err := moduleKind.Open(at)
	if err != nil {
		return nil, "", err
	}
	defer f.File.Close()
	b, err = file.ReadRegular(f.File, most)
	if err != nil {
		err = fmt.Errorf("%s: %w", at, err)
	}
	return b, f.Path, err
}

// plainModule ends the name of a module; what is packed has one of the others behind it.
const plainModule = ".ko"

var packedEnds = []string{"", ".gz", ".xz", ".zst"}

// moduleName is the module that a file is, if it is one. A copy that somebody put aside is none.
func moduleName(base string) (string, bool) {
	for _, end := range packedEnds {
		if name, ok := strings.CutSuffix(base, plainModule+end); ok && name != "" {
			return module.Name(name), true
		}
	}
	return "", false
}

// index is where each module lies. Of two the last holds, as in updates/.
func (k *kernel) index() (map[string]string, error) {
	where := map[string]string{}
	err := filepath.WalkDir(k.modules, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name, ok := moduleName(d.Name()); ok && d.Type().IsRegular() {
			where[name] = p
		}
		return nil
	})
	return where, err
}

// maxBuiltin bounds the list of what a kernel has without a module.
const maxBuiltin = 4 << 20

// builtin lists what the kernel has without a module.
func (k *kernel) builtin() (map[string]bool, error) {
	b, _, err := readJudged(filepath.Join(k.modules, "modules.builtin"), maxBuiltin)
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for line := range strings.Lines(string(b)) {
		out[module.Name(strings.TrimSuffix(filepath.Base(strings.TrimSpace(line)), plainModule))] = true
	}
	return out, nil
}

// sumOf is one digest for all modules of a guest: that of what sha256sum says of their files, by
// their names.
func sumOf(from []source) string {
	var lines []string
	for _, s := range from {
		lines = append(lines, s.sum+"  "+filepath.Base(s.path)+"\n")
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[2*sha256.Size:], b[2*sha256.Size:]) })
	return fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(lines, ""))))
}
