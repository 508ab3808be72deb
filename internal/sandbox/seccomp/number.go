package seccomp

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
