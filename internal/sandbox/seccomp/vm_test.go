package seccomp

import (
	"encoding/binary"
	"fmt"
	"testing"
)

// data is struct seccomp_data.
type data struct {
	nr   uint32
	arch uint32
	_    uint64 // instruction pointer
	args [6]uint64
}

// run interprets a raw program as the kernel does, by an own reading of the
// encoding, and fails on everything that the kernel's checker would refuse.
func run(raw []byte, d data) (verdict, error) {
	input, err := binary.Append(nil, binary.LittleEndian, d)
	if err != nil {
		return 0, err
	}
	var acc uint32
	for pc := 0; pc*8+8 <= len(raw); pc++ {
		at := raw[pc*8:]
		jt, jf, k := int(at[2]), int(at[3]), binary.LittleEndian.Uint32(at[4:])
		branch := func(cond bool) {
			if cond {
				pc += jt
			} else {
				pc += jf
			}
		}
		switch code := binary.LittleEndian.Uint16(at); code {
		case 0x20:
			if k%4 != 0 || int(k)+4 > len(input) {
				return 0, fmt.Errorf("pc %d: load at %d", pc, k)
			}
			acc = binary.LittleEndian.Uint32(input[k:])
		case 0x54:
			acc &= k
		case 0x05:
			pc += int(k)
		case 0x15:
			branch(acc == k)
		case 0x35:
			branch(acc >= k)
		case 0x06:
			return verdict(k), nil
		default:
			return 0, fmt.Errorf("pc %d: instruction %#x", pc, code)
		}
	}
	return 0, fmt.Errorf("the program ran off its end")
}

// machine is a filter with the numbers to call it by.
type machine struct {
	goarch string
	audit  uint32
	raw    []byte
	nr     map[string]uint32
}

var goarches = []string{"amd64", "arm64"}

func newMachine(t testing.TB, goarch string) *machine {
	t.Helper()
	raw, err := Filter(goarch)
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{goarch: goarch, raw: raw, nr: map[string]uint32{}}
	m.audit = map[string]uint32{"amd64": 0xc000003e, "arm64": 0xc00000b7}[goarch]
	for _, n := range numbers {
		if nr := n.on(goarch); nr != none {
			m.nr[n.name] = uint32(nr)
		}
	}
	return m
}

func (m *machine) verdict(t testing.TB, nr uint32, args ...uint64) verdict {
	t.Helper()
	d := data{nr: nr, arch: m.audit}
	copy(d.args[:], args)
	v, err := run(m.raw, d)
	if err != nil {
		t.Fatalf("%s: call %d%x: %v", m.goarch, nr, args, err)
	}
	return v
}
