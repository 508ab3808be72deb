package keeper

import (
	"encoding/binary"
	"runtime"
	"testing"

	"golang.org/x/net/bpf"

	"ringfence.dev/ringfence/internal/sandbox/seccomp"
)

// TestHandlers: what the filter hands over is served here or is to be refused, and nothing
// is served that it never hands over.
func TestHandlers(t *testing.T) {
	const notify = 0x7fc00000
	raw, err := seccomp.Watch(runtime.GOARCH)
	if err != nil {
		t.Fatal(err)
	}
	var program []bpf.Instruction
	for i := 0; i < len(raw); i += 8 {
		program = append(program, bpf.RawInstruction{Op: binary.LittleEndian.Uint16(raw[i:]), Jt: raw[i+2], Jf: raw[i+3],
			K: binary.LittleEndian.Uint32(raw[i+4:])}.Disassemble())
	}
	vm, err := bpf.NewVM(program)
	if err != nil {
		t.Fatal(err)
	}
	audit := map[string]uint32{"amd64": 0xc000003e, "arm64": 0xc00000b7}[runtime.GOARCH]
	watched := func(nr uint32, arg uint32) bool {
		var data [64]byte // its words in the order of bytes of a packet, which is what the machine reads
		binary.BigEndian.PutUint32(data[0:], nr)
		binary.BigEndian.PutUint32(data[4:], audit)
		for at := 16; at < len(data); at += 8 {
			binary.BigEndian.PutUint32(data[at:], arg)
		}
		v, err := vm.Run(data[:])
		if err != nil {
			t.Fatal(err)
		}
		_, refused := seccomp.Told(runtime.GOARCH, int32(nr), &[6]uint64{uint64(arg), uint64(arg), uint64(arg), uint64(arg), uint64(arg), uint64(arg)})
		return v == notify && !refused
	}
	for nr := range uint32(1024) {
		got := handlers[int32(nr)] != nil
		want := watched(nr, 0) || watched(nr, 2)
		if got != want {
			t.Errorf("call %d: handed over: %v; served: %v", nr, want, got)
		}
	}
}
