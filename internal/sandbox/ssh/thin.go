package ssh

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
)

// keptFor is how long something stays here that nobody uses: contents of a project, and
// builds of our program. Without another session nothing is removed: no program of ours stays.
const keptFor = 30 * 24 * time.Hour

// used notes that the program which runs is used.
func used() {
	if self, err := os.Readlink("/proc/self/exe"); err == nil {
		touch(filepath.Dir(self))
	}
}

// touch notes that a directory is used. One whose time stays is removed too early, and brought
// again.
func touch(dir string) { os.Chtimes(dir, time.Now(), time.Now()) }

// thin removes what nobody has used for long from our directory here.
func thin(cache string) {
	store := filepath.Join(cache, "store")
	for _, name := range stale(store) {
		removeUnused(filepath.Join(store, name))
	}
	left := filepath.Join(cache, "waiting")
	for _, name := range stale(left) {
		file.RemoveTree(filepath.Join(left, name)) // for a session that has ended: nobody has its lock
	}
	for _, name := range stale(cache) { // builds, by digest
		if raw, err := hex.DecodeString(name); err == nil && len(raw) == 32 {
			removeUnused(filepath.Join(cache, name))
		}
	}
}

// stale lists what was not used for long.
func stale(dir string) (out []string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if st, err := e.Info(); err == nil && time.Since(st.ModTime()) > keptFor {
			out = append(out, e.Name())
		}
	}
	return out
}

// removeUnused removes one, unless a session has its lock or has used it meanwhile.
func removeUnused(dir string) {
	lock, err := file.LockDir(dir, unix.LOCK_EX|unix.LOCK_NB)
	if err != nil {
		return
	}
	defer lock.Close()
	if st, err := lock.Stat(); err == nil && time.Since(st.ModTime()) > keptFor {
		file.RemoveTree(dir)
	}
}
