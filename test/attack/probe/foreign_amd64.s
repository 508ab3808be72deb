#include "textflag.h"

// func int80(number, arg uintptr) uintptr
// The 32-bit entry to the kernel, usable by a 64-bit process.
TEXT ·int80(SB), NOSPLIT, $0-24
	MOVQ number+0(FP), AX
	MOVQ arg+8(FP), BX
	MOVQ $0, CX
	MOVQ $0, DX
	INT  $0x80
	MOVQ AX, ret+16(FP)
	RET
