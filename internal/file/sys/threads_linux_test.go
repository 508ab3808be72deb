package sys

import (
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A stack grows somewhere below the caller, at a depth that nobody knows. At each one the
// answer must be where the caller looks for it.
func TestOnAllThreadsPointsAtTheCaller(t *testing.T) {
	for depth := range 400 {
		name, done := "", make(chan error)
		go func() { // with a stack that is small again
			var err error
			name, err = nameAt(depth)
			done <- err
		}()
		if err := <-done; err != nil || name == "" {
			t.Fatalf("at depth %d: name %q, %v", depth, name, err)
		}
	}
}

//go:noinline
func nameAt(depth int) (string, error) {
	if depth > 0 {
		return nameAt(depth - 1)
	}
	var name [16]byte
	err := onAllThreads("name", unix.SYS_PRCTL, unix.PR_GET_NAME, uintptr(unsafe.Pointer(&name)), 0, 0, 0)
	return unix.ByteSliceToString(name[:]), err
}
