package policy

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

type unit struct {
	name  string
	bytes int64
}

// units are the only ones of a size: GB and G mean different things to different
// people.
var units = []unit{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}

// netUnits are those of what is sent: there a megabyte is a million bytes, and who
// means the other writes it.
var netUnits = []unit{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}}

// ParseSize reads a positive number of bytes: "4096", "512MiB", "2GiB".
func ParseSize(s string) (int64, error) {
	return parseUnits(s, units, "KiB, MiB, GiB or TiB")
}

// ParseBytes reads a positive number of bytes to send: "4096", "50MB", "2GiB".
func ParseBytes(s string) (int64, error) {
	return parseUnits(s, netUnits, "KB, MB, GB, KiB, MiB or GiB")
}

func parseUnits(s string, units []unit, known string) (int64, error) {
	digits, unit := s, int64(1)
	for _, u := range units {
		if d, ok := strings.CutSuffix(s, u.name); ok {
			digits, unit = d, u.bytes
			break
		}
	}
	n, err := strconv.ParseUint(digits, 10, 63) // takes no sign, no space, no underscore
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%q is no size: write a positive number of bytes, %s", s, known)
	}
	if int64(n) > math.MaxInt64/unit {
		return 0, fmt.Errorf("size %q is too large", s)
	}
	return int64(n) * unit, nil
}

// formatSize writes n with the largest unit that divides it.
func formatSize(n int64) string {
	for _, u := range units {
		if n > 0 && n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10)
}
