package cli

import "ringfence.dev/ringfence/internal/fault"

func verifyCommand(c *context, name string, args []string) (int, error) {
	return 2, fault.New(fault.Failed, "", "verify is being wired up")
}
