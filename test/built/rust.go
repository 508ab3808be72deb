package built

import (
	"os/user"
	"path/filepath"
)

// Rust is where the toolchain of Rust lies whose home is the user's own and not the
// stage's; "" if there is none.
func Rust() string {
	who, err := user.Current()
	if err != nil {
		return ""
	}
	found, _ := filepath.Glob(filepath.Join(who.HomeDir, ".rustup/toolchains/stable-*"))
	if len(found) == 0 {
		return ""
	}
	return found[0]
}
