package microvm

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/sandbox/microvm/cpio"
	"ringfence.dev/ringfence/internal/sandbox/microvm/guest"
	"ringfence.dev/ringfence/internal/sandbox/program"
	"ringfence.dev/ringfence/internal/sandbox/self"
)

// made is what a guest boots, ready in files: the kernel without its wrapping, and the
// archive with our program and the modules. Both are made once and kept, under a name that
// stands for everything they were made of.
type made struct{ kernel, archive string }

// form is another one whenever what is made of the same things is another.
const form = "1"

// keep makes what is not there yet. The directory is ours alone.
func (k *kernel) keep(dir string) (made, error) {
	key, err := k.key()
	if err != nil {
		return made{}, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return made{}, err
	}
	lock, err := file.LockDir(dir, unix.LOCK_EX) // who began at the same time finds the first one's
	if err != nil {
		return made{}, err
	}
	defer lock.Close()
	m := made{filepath.Join(dir, key+".kernel"), filepath.Join(dir, key+".archive")}
	if whole(m.kernel) && whole(m.archive) {
		return m, nil
	}
	thin(dir)
	image, err := k.bootable()
	if err != nil {
		return made{}, err
	}
	if err := file.Replace(m.kernel, image, keptMode); err != nil {
		return made{}, err
	}
	return m, file.ReplaceWith(m.archive, keptMode, k.archive)
}

const keptMode = 0o400

// whole judges a file that was kept: it has its name only once it is complete.
func whole(path string) bool {
	var st unix.Stat_t
	return unix.Lstat(path, &st) == nil && st.Mode == unix.S_IFREG|keptMode && int(st.Uid) == os.Geteuid() && st.Nlink == 1
}

// used is how long what was made is left alone: somebody may be about to open it.
const used = time.Hour

// most is for how many kernels and versions of ringfence files are kept.
const most = 3

func thin(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) < 2*most {
		return
	}
	for _, e := range entries {
		if i, err := e.Info(); err == nil && time.Since(i.ModTime()) > used {
			os.Remove(filepath.Join(dir, e.Name())) // who has one open goes on with it
		}
	}
}

// key names what is made by what it is made of.
func (k *kernel) key() (string, error) {
	exe, err := os.Open(self.Whole)
	if err != nil {
		return "", err
	}
	defer exe.Close()
	parts := []string{form, k.modules}
	for _, f := range []*program.File{{File: exe}, k.file} {
		id := f.ID(time.Now())
		if id == "" {
			if id, err = f.Sum(); err != nil {
				return "", err
			}
		}
		parts = append(parts, id)
	}
	var st unix.Stat_t
	for _, name := range []string{"kernel", "modules.builtin", "modules.dep"} { // of which a package changes one at least
		if unix.Stat(filepath.Join(k.modules, name), &st) == nil {
			parts = append(parts, fmt.Sprintf("%s:%d:%d:%d.%d", name, st.Ino, st.Size, st.Ctim.Sec, st.Ctim.Nsec))
		}
	}
	return fmt.Sprintf("%.16x", sha256.Sum256([]byte(strings.Join(parts, "\n")))), nil
}

// archive writes all that there is in the guest before it has the host's files.
func (k *kernel) archive(to *os.File) error {
	order, data, err := k.modulesOf()
	if err != nil {
		return err
	}
	own, err := os.ReadFile(self.Whole)
	if err != nil {
		return err
	}
	entries := map[string]cpio.Entry{
		guest.Name[1:]:  {Mode: 0o755, Data: own},
		guest.Order[1:]: {Mode: 0o644, Data: []byte(strings.Join(order, "\n"))},
	}
	for name, b := range data {
		entries[guest.ModulesAt[1:]+"/"+name] = cpio.Entry{Mode: 0o644, Data: b}
	}
	return cpio.Write(to, entries)
}
