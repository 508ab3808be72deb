package sys

import (
	"os"
	"strconv"
	"strings"
)

// Listeners lists the TCP ports at which somebody listens in a network, by its directory in
// procfs.
func Listeners(dir string) []uint16 {
	var out []uint16
	var seen [1 << 16]bool
	for _, name := range []string{"tcp", "tcp6"} {
		b, err := os.ReadFile(dir + "/" + name)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(b)) {
			f := strings.Fields(line)
			if len(f) < 4 || f[3] != "0A" {
				continue
			}
			_, hex, ok := strings.Cut(f[1], ":")
			if port, err := strconv.ParseUint(hex, 16, 16); ok && err == nil && !seen[port] {
				seen[port], out = true, append(out, uint16(port))
			}
		}
	}
	return out
}
