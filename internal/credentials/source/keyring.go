package source

import (
	"errors"
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/fault"
)

// keyring reads a key of type user from the user's keyring in the kernel.
func keyring(description string) (string, error) {
	if description == "" {
		return "", errors.New("a key has a description")
	}
	// A key is read by who possesses it. Where no login made a session keyring, as in
	// a service, that takes a link from a keyring of our own: a thread's, which is
	// nobody else's.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if _, err := unix.KeyctlInt(unix.KEYCTL_LINK, unix.KEY_SPEC_USER_KEYRING, unix.KEY_SPEC_THREAD_KEYRING, 0, 0); err == nil {
		defer unix.KeyctlInt(unix.KEYCTL_UNLINK, unix.KEY_SPEC_USER_KEYRING, unix.KEY_SPEC_THREAD_KEYRING, 0, 0)
	}
	id, err := unix.KeyctlSearch(unix.KEY_SPEC_USER_KEYRING, "user", description, 0)
	if err != nil {
		return "", keyError("find the key", err, description)
	}
	buf := make([]byte, maxValue+2)
	n, err := unix.KeyctlBuffer(unix.KEYCTL_READ, id, buf, 0)
	switch {
	case err != nil:
		return "", keyError("read the key", err, description)
	case n > len(buf):
		return "", fmt.Errorf("the key is longer than %d KiB", maxValue>>10)
	}
	return string(buf[:n]), nil
}

func keyError(what string, err error, description string) error {
	switch {
	case errors.Is(err, unix.ENOKEY):
		return fault.New(fault.Refused, fmt.Sprintf("keyctl padd user %s @u", shown(description)), "the user's keyring has no such key")
	case errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM):
		return fault.New(fault.Refused, "", "%s: this host lets nobody use the kernel's keyring (%w)", what, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}
