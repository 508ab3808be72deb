package built

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// Packager is a package manager of node: a command, and how it says that it adds a package.
type Packager struct{ Name, Command, Add string }

// Packagers are those of the lock file of `make tools`, below a directory that a session has
// to be shown, and the machine's npm. top is the top of the source.
func Packagers(top string) (dir string, all []Packager, err error) {
	lock, err := os.ReadFile(filepath.Join(top, "internal/policy/toolchain/testdata/npm/package-lock.json"))
	if err != nil {
		return "", nil, err
	}
	sum := sha256.Sum256(lock)
	dir = fmt.Sprintf("/var/cache/ringfence-test/packagers-%x", sum[:6])
	if _, err := os.Stat(dir); err != nil {
		return "", nil, fmt.Errorf("no package managers: run `make tools` as root: %w", err)
	}
	at := dir + "/node_modules/"
	node, bun := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH], map[string]string{"amd64": "x64", "arm64": "aarch64"}[runtime.GOARCH]
	return dir, []Packager{
		{"npm", "npm", "install"}, {"npm-10", "node " + at + "npm-10/bin/npm-cli.js", "install"},
		{"pnpm-10", "node " + at + "pnpm-10/bin/pnpm.cjs", "add"}, {"pnpm-12", at + "@pnpm/exe.linux-" + node + "/pnpm", "add"},
		{"yarn-1", "node " + at + "yarn-1/bin/yarn.js", "add"}, {"yarn-4", "node " + at + "yarn-4/bin/yarn.js", "add"},
		{"bun", at + "@oven/bun-linux-" + bun + "/bin/bun", "add"},
	}, nil
}
