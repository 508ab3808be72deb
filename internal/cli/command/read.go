package command

import (
	"errors"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// MaxRead bounds a file of settings, or of tests.
const MaxRead = 1 << 20

// ReadFile reads a file that somebody named.
func ReadFile(name string) ([]byte, error) {
	data, err := file.Read(name, MaxRead, 0)
	switch {
	case errors.Is(err, file.ErrNotRegular):
		return nil, fault.New(fault.Usage, "", "%s is not a regular file", plan.Show(name))
	case errors.Is(err, file.ErrLong):
		return nil, fault.New(fault.Usage, "", "%s is larger than %s", plan.Show(name), plan.Size(MaxRead))
	}
	return data, err
}
