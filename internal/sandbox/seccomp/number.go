package seccomp

import (
	"slices"
	"strings"
)

//go:generate go test -run ^TestNumbers$ . -update

// number is a syscall's number on each architecture.
type number struct {
	name         string
	amd64, arm64 int16
}

// none marks a call that an architecture does not have.
const none = -1

// maxNumber bounds the table; the kernel adds a handful of calls a year.
const maxNumber = 1023

func (n number) on(goarch string) int16 {
	if goarch == "arm64" {
		return n.arm64
	}
	return n.amd64
}

// callNumber finds the number of a call; none if the architecture does not have it. false:
// nobody has.
func callNumber(goarch, name string) (int16, bool) {
	at, ok := slices.BinarySearchFunc(numbers[:], name, func(n number, name string) int { return strings.Compare(n.name, name) })
	if !ok {
		return none, false
	}
	return numbers[at].on(goarch), true
}
