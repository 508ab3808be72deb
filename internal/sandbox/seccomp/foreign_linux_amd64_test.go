package seccomp

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// exit7 is _exit(7) of i386; in long mode the bytes mean the same.
var exit7 = []byte{
	0xb8, 1, 0, 0, 0, // mov eax, 1
	0xbb, 7, 0, 0, 0, // mov ebx, 7
	0xcd, 0x80, // int 0x80
	0xeb, 0xfe, // jmp to itself
}

const loadAt = 0x10000

// elfOf wraps code into the smallest program that the kernel starts.
func elfOf(t *testing.T, class elf.Class) string {
	t.Helper()
	ident := [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(class), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)}
	var b bytes.Buffer
	put := func(v any) {
		if err := binary.Write(&b, binary.LittleEndian, v); err != nil {
			t.Fatal(err)
		}
	}
	if class == elf.ELFCLASS32 {
		const head = 52 + 32
		size := uint32(head + len(exit7))
		put(elf.Header32{Ident: ident, Type: uint16(elf.ET_EXEC), Machine: uint16(elf.EM_386), Version: 1,
			Entry: loadAt + head, Phoff: 52, Ehsize: 52, Phentsize: 32, Phnum: 1})
		put(elf.Prog32{Type: uint32(elf.PT_LOAD), Vaddr: loadAt, Filesz: size, Memsz: size,
			Flags: uint32(elf.PF_R | elf.PF_X), Align: 0x1000})
	} else {
		const head = 64 + 56
		size := uint64(head + len(exit7))
		put(elf.Header64{Ident: ident, Type: uint16(elf.ET_EXEC), Machine: uint16(elf.EM_X86_64), Version: 1,
			Entry: loadAt + head, Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: 1})
		put(elf.Prog64{Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_X), Vaddr: loadAt,
			Filesz: size, Memsz: size, Align: 0x1000})
	}
	b.Write(exit7)
	path := filepath.Join(t.TempDir(), class.String())
	if err := os.WriteFile(path, b.Bytes(), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestI386 makes an i386 call by int 0x80, from a 32-bit program and from a
// 64-bit one, where a filter that forgets the architecture takes it for write.
func TestI386(t *testing.T) {
	for _, class := range []elf.Class{elf.ELFCLASS32, elf.ELFCLASS64} {
		path := elfOf(t, class)
		bare := command("bare", "exec", path)
		if err := bare.Run(); bare.ProcessState.ExitCode() != 7 {
			t.Errorf("%v without the filter: %v, want exit status 7", class, err)
		}
		filtered := command(runtime.GOARCH, "exec", path)
		err := filtered.Run()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != unix.SIGSYS {
			t.Errorf("%v under the filter: %v, want SIGSYS", class, err)
		}
	}
}
