package faults

import "syscall"

// setResult replaces what a call returned.
func setResult(pid int, value int64) {
	var r syscall.PtraceRegs
	if syscall.PtraceGetRegs(pid, &r) == nil {
		r.Regs[0] = uint64(value)
		syscall.PtraceSetRegs(pid, &r)
	}
}
