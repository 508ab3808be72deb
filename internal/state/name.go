package state

import (
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/fault"
)

const maxName = 40

// taken are words that stand where the name of a session could.
var taken = []string{"all", "export", "list", "verify"}

// CheckName says why a session may not be called so. Without a name it has its id.
func CheckName(name string) error {
	why := ""
	switch {
	case name == "":
	case len(name) > maxName:
		why = "is too long"
	case strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" || strings.ContainsAny(name[:1], "-_"):
		why = "is not of small letters, digits, - and _"
	case len(name) == idLen && strings.Trim(name, idAlphabet) == "":
		why = "looks like the id of a session"
	case slices.Contains(taken, name):
		why = "means something else where a session is named"
	}
	if why == "" {
		return nil
	}
	return fault.New(fault.Usage, "for example: --name tests", "--name %q %s", name, why)
}
