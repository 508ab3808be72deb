package launch

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
)

// ProjectEnv is the project's env file; it takes trust like its policy.
const ProjectEnv = ".ringfence.env"

// MaxEnvFile bounds an env file.
const MaxEnvFile = 256 << 10

// ReadProjectEnv reads the project's env file once, without following a link that
// the project may have planted, and digests those same bytes.
func ReadProjectEnv(root string) (data []byte, digest string, err error) {
	name := filepath.Join(root, ProjectEnv)
	data, err = file.Read(name, MaxEnvFile, unix.O_NOFOLLOW)
	if errors.Is(err, os.ErrNotExist) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	sum := sha256.Sum256(data)
	return data, hex.EncodeToString(sum[:]), nil
}

// Umask reads the launcher's umask; there is no call that only reads it.
func Umask() int {
	m := unix.Umask(0o077)
	unix.Umask(m)
	return m
}
