package environ

import (
	"fmt"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/policy"
)

// The kernel takes no string of 128 KiB, its NUL included, and by default no more than 2 MiB
// for arguments and environment together. Half of that is ours.
const (
	maxString = 128<<10 - 1
	maxTotal  = 1 << 20
)

func checkSize(env Environment) error {
	total, largest, size := 0, "", 0
	for _, entry := range env.Environ() {
		total += len(entry) + 1
		if len(entry) > size {
			size = len(entry)
			largest, _, _ = strings.Cut(entry, "=")
		}
	}
	if size <= maxString && total <= maxTotal {
		return nil
	}
	return fault.New(fault.Refused, "run `ringfence env` to see what enters, and leave some of it out",
		"the environment is too large: %d bytes of at most %d, of which %s takes %d of at most %d",
		total, maxTotal, largest, size, maxString)
}

// refusal says which names were refused, who asked, and how to insist.
func refusal(denied []Entry) error {
	var lines, flags, names []string
	slices.SortStableFunc(denied, func(x, y Entry) int { return strings.Compare(x.Name, y.Name) })
	for _, e := range denied {
		lines = append(lines, fmt.Sprintf("%s (%s): %s", e.Name, e.Source, e.Reason))
		if quoted := fmt.Sprintf("%q", e.Name); !slices.Contains(names, quoted) {
			names = append(names, quoted)
			flags = append(flags, "--force-env "+e.Name)
		}
	}
	hint := fmt.Sprintf("to insist: %s, or [env] force = [%s] in your policy",
		strings.Join(flags, " "), strings.Join(names, ", "))
	if len(lines) == 1 {
		return fault.New(fault.Refused, hint, "environment: refused %s", lines[0])
	}
	return fault.New(fault.Refused, hint, "environment: refused %d names\n  %s", len(lines), strings.Join(lines, "\n  "))
}

const nameRule = "a name has letters, digits and _, and begins with no digit"

// badName complains about a name and prints it only up to what is wrong with it:
// somebody may have put the value where the name belongs.
func badName(name string, source policy.Source, rule string) error {
	what := "is empty"
	if n := plainPrefix(name); n < len(name) {
		what = fmt.Sprintf("has %q after %q", name[n:n+1], name[:min(n, maxName)])
	} else if name != "" {
		what = fmt.Sprintf("is longer than %d bytes", maxName)
	}
	return fault.New(fault.Usage, rule, "%s: the name of a variable %s", source, what)
}
