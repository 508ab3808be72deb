package sys

import (
	"runtime/debug"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Hurry puts off the collection of garbage until there are 32 MiB of it: a start makes less,
// and spent a tenth of its time on collecting. GiveBack ends it.
func Hurry() { debug.SetGCPercent(800) }

// GiveBack returns the memory that only the start needed: heap that is free, and the pages
// of our own binary that were touched. Those are the file's; whatever of them is needed
// again comes back from the kernel's cache of it.
func GiveBack() {
	debug.SetGCPercent(100)
	debug.FreeOSMemory()
	for _, s := range ownSegments() {
		unix.Syscall(unix.SYS_MADVISE, s.at, s.size, unix.MADV_DONTNEED) // refused: it stays as it is
	}
}

type segment struct{ at, size uintptr }

// ownSegments are the parts of our binary that nobody ever wrote to. They are found by the
// headers that the kernel mapped, without /proc, which is not there everywhere. A binary
// that is relocated writes to parts that are read-only afterwards: of that one there are none.
func ownSegments() (out []segment) {
	aux, err := unix.Auxv()
	if err != nil {
		return nil
	}
	var at, count, size uintptr
	for _, v := range aux {
		switch v[0] {
		case auxPHDR:
			at = v[1]
		case auxPHNum:
			count = v[1]
		case auxPHEnt:
			size = v[1]
		}
	}
	if at == 0 || size != unsafe.Sizeof(header{}) {
		return nil
	}
	page := uintptr(unix.Getpagesize())
	for _, h := range unsafe.Slice((*header)(unsafe.Add(unsafe.Pointer(nil), at)), count) {
		switch {
		case h.kind == kindDynamic, h.kind == kindRelocated:
			return nil
		case h.kind == kindLoad && h.flags&flagWrite == 0:
			from := uintptr(h.addr) &^ (page - 1)
			to := uintptr(h.addr+h.inFile) &^ (page - 1)
			if to > from {
				out = append(out, segment{from, to - from})
			}
		}
	}
	return out
}

// header is one of a program of 64 bits, as ELF has it.
type header struct {
	kind, flags                              uint32
	offset, addr, phys, inFile, inMem, align uint64
}

// Of such headers, and of the auxiliary vector that tells where they are.
const (
	kindLoad      = 1
	kindDynamic   = 2
	kindRelocated = 0x6474e552
	flagWrite     = 2

	auxPHDR  = 3
	auxPHEnt = 4
	auxPHNum = 5
)
