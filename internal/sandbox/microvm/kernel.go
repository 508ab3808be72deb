package microvm

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/sandbox/program"
)

// kernelHint says how to get a kernel. It is never downloaded by ringfence.
const kernelHint = "sudo apt-get install linux-image-amd64; or name one that you can read: [rung] kernel = \"/path/vmlinuz-VERSION\", with its modules in /lib/modules/VERSION or ../lib/modules/VERSION beside it"

var kernelKind = program.Kind{Name: "the kernel", Hint: kernelHint, Key: "kernel-sha256", Data: true}

// kernel is one that a guest boots.
type kernel struct {
	file    *program.File
	modules string // directory
}

const imagePrefix = "vmlinuz-"

// findKernel opens the kernel that policy names, else the newest of this machine that has its
// modules and can be read.
func findKernel(named string) (*kernel, error) {
	if named != "" {
		return openKernel(named)
	}
	all, err := filepath.Glob("/boot/" + imagePrefix + "*")
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b string) int { return -compareVersions(a, b) })
	var last error = fault.New(fault.Refused, kernelHint, "there is no kernel in /boot")
	for _, at := range all {
		k, err := openKernel(at)
		if err == nil {
			return k, nil
		}
		last = err
	}
	return nil, last
}

func openKernel(at string) (*kernel, error) {
	f, err := kernelKind.Open(at)
	if err != nil {
		return nil, err
	}
	release, ok := strings.CutPrefix(filepath.Base(at), imagePrefix)
	if ok {
		for _, dir := range []string{filepath.Join(filepath.Dir(filepath.Dir(at)), "lib/modules", release), filepath.Join("/lib/modules", release)} {
			if st, err := os.Stat(dir); err == nil && st.IsDir() {
				return &kernel{f, dir}, nil
			}
		}
	}
	f.File.Close()
	return nil, fault.New(fault.Refused, kernelHint, "the kernel %q has no modules: its name must be %sVERSION", at, imagePrefix)
}

// compareVersions compares numbers as numbers.
func compareVersions(a, b string) int {
	for a != "" && b != "" {
		na, nb := digits(a), digits(b)
		if na > 0 && nb > 0 {
			x, _ := strconv.ParseUint(a[:na], 10, 64)
			y, _ := strconv.ParseUint(b[:nb], 10, 64)
			if x != y {
				return map[bool]int{true: 1, false: -1}[x > y]
			}
			a, b = a[na:], b[nb:]
			continue
		}
		if a[0] != b[0] {
			return map[bool]int{true: 1, false: -1}[a[0] > b[0]]
		}
		a, b = a[1:], b[1:]
	}
	return len(a) - len(b)
}

func digits(s string) int {
	return len(s) - len(strings.TrimLeft(s, "0123456789"))
}

// maxKernel bounds an image, and what it holds.
const maxKernel = 256 << 20

// bootable is what an emulator starts: what the image holds, since that need not unpack
// itself; or the image, where we cannot.
func (k *kernel) bootable() ([]byte, error) {
	image, err := io.ReadAll(io.NewSectionReader(k.file.File, 0, maxKernel))
	if err != nil {
		return nil, err
	}
	packed, err := payload(image)
	if err != nil {
		return image, nil
	}
	elf, err := unpack(packed)
	if err != nil || !bytes.HasPrefix(elf, []byte("\x7fELF")) {
		return image, nil
	}
	return elf, nil
}

// payload finds what a bzImage holds; see Documentation/arch/x86/boot.rst of the kernel.
func payload(image []byte) ([]byte, error) {
	const header = 0x250
	if len(image) < header || string(image[0x202:0x206]) != "HdrS" || binary.LittleEndian.Uint16(image[0x206:]) < 0x208 {
		return nil, errors.New("it is no bzImage")
	}
	sectors := int(image[0x1f1])
	if sectors == 0 {
		sectors = 4
	}
	from := (sectors+1)*512 + int(binary.LittleEndian.Uint32(image[0x248:]))
	size := int(binary.LittleEndian.Uint32(image[0x24c:]))
	if from < 0 || size < 8 || from > len(image) || size > len(image)-from {
		return nil, errors.New("what it holds lies outside of it")
	}
	packed := image[from : from+size]
	if !bytes.HasPrefix(packed, gzipped) {
		packed = packed[:size-4] // behind it stands its size, which gzip has in itself
	}
	return packed, nil
}

var gzipped = []byte("\x1f\x8b")

// packers are programs that unpack, by how what they packed begins.
var packers = []struct {
	magic string
	argv  []string
}{
	{"\xfd7zXZ\x00", []string{"xz", "--decompress", "--stdout"}},
	{"\x28\xb5\x2f\xfd", []string{"zstd", "--decompress", "--stdout", "--quiet"}},
}

// unpack unpacks a kernel or a module.
func unpack(packed []byte) ([]byte, error) {
	if bytes.HasPrefix(packed, gzipped) {
		r, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			return nil, err
		}
		r.Multistream(false)
		return bounded(r, maxKernel)
	}
	for _, p := range packers {
		if bytes.HasPrefix(packed, []byte(p.magic)) {
			return pipe(p.argv, packed, maxKernel)
		}
	}
	return nil, errors.New("it is packed in a way that is not known here")
}

// bounded reads all, and refuses more.
func bounded(r io.Reader, most int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(b)) > most {
		return nil, fmt.Errorf("it holds more than %d MB", most>>20)
	}
	return b, err
}

// unpackWithin is how long a program may take to unpack.
const unpackWithin = time.Minute

// pipe lets a program of the system unpack.
func pipe(argv []string, packed []byte, most int64) ([]byte, error) {
	f, err := (program.Kind{Name: argv[0], Hint: "sudo apt-get install xz-utils zstd"}).Find("", os.Getenv("PATH"))
	if err != nil {
		return nil, err
	}
	defer f.File.Close()
	ctx, cancel := context.WithTimeout(context.Background(), unpackWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, f.Path, argv[1:]...)
	cmd.Env, cmd.Stdin = []string{}, bytes.NewReader(packed)
	from, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", argv[0], err)
	}
	out, err := bounded(from, most)
	if err != nil {
		cancel() // it would wait for who reads on
	}
	if ended := cmd.Wait(); err == nil {
		err = ended
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", argv[0], err)
	}
	return out, nil
}
