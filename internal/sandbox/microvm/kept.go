package microvm

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/sandbox/microvm/cpio"
	"ringfence.dev/ringfence/internal/sandbox/microvm/guest"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/program"
	"ringfence.dev/ringfence/internal/sandbox/self"
)

// made is what a guest boots, ready in files: the kernel without its wrapping, and the
// archive with our program and the modules. Both are made once and kept, under a name that
// stands for what they were made of, with the digests of what was made and of each module.
type made struct {
	kernel, archive kept
	modules         string // the digest of all of them
}

// kept is a file whose content was compared, and the inode that has it.
type kept struct {
	path string
	id   plan.Identity
}

// form is another one whenever what is made of the same things is another.
const form = "3"

// keep makes what a guest boots, of the modules that policy demands: with others nothing boots.
func (p Place) keep(found *parts) (made, error) {
	dir, err := cache()
	if err != nil {
		return made{}, err
	}
	m, err := found.kernel.keep(dir)
	if err == nil && p.ModulesSum != "" && m.modules != p.ModulesSum {
		err = fault.New(fault.Refused, "install those modules, or change [rung] modules-sha256", "the modules in %q have the SHA-256 %s, and policy demands %s", found.kernel.modules, m.modules, p.ModulesSum)
	}
	return m, err
}

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
	at := filepath.Join(dir, key)
	if m, err := compared(at); err == nil {
		touch(at)
		return m, nil
	}
	thin(dir)
	image, err := k.bootable()
	if err != nil {
		return made{}, err
	}
	if err := fill(at, image, k.archive); err != nil {
		return made{}, err
	}
	return compared(at)
}

const keptMode = 0o400

// fill writes both files, and then the digests of what was written and of what it was made of.
func fill(at string, image []byte, archive func(io.Writer) ([]source, error)) error {
	if err := file.Replace(at+".kernel", image, keptMode); err != nil {
		return err
	}
	sum := sha256.New()
	var from []source
	err := file.ReplaceWith(at+".archive", keptMode, func(to *os.File) (err error) {
		from, err = archive(io.MultiWriter(to, sum))
		return err
	})
	if err != nil {
		return err
	}
	text := fmt.Appendf(nil, "%x %x\n", sha256.Sum256(image), sum.Sum(nil))
	for _, s := range from {
		text = fmt.Appendf(text, "%s %q\n", s.sum, s.path)
	}
	return file.Replace(at+".sums", text, keptMode)
}

// maxSums bounds the digests that are kept.
const maxSums = 1 << 20

// compared opens what was kept, and wants it to be what was made, of modules that are the same
// still: another content under the same name is no kernel of ours, whoever wrote it.
func compared(at string) (m made, err error) {
	b, err := file.ReadOwn(at+".sums", maxSums)
	if err != nil {
		return made{}, err
	}
	first, rest, _ := strings.Cut(string(b), "\n")
	image, archive, _ := strings.Cut(first, " ")
	if m.kernel, err = compare(at+".kernel", image); err != nil {
		return made{}, err
	}
	if m.archive, err = compare(at+".archive", archive); err != nil {
		return made{}, err
	}
	from, err := unchanged(rest)
	m.modules = sumOf(from)
	return m, err
}

// unchanged wants the files of a list to have the digests that they had, and to be judged as well.
func unchanged(list string) (from []source, err error) {
	for line := range strings.Lines(list) {
		var s source
		if n, err := fmt.Sscanf(line, "%s %q\n", &s.sum, &s.path); n != 2 || err != nil {
			return nil, errChanged
		}
		raw, _, err := readJudged(s.path, maxModule)
		if err != nil {
			return nil, err
		}
		if fmt.Sprintf("%x", sha256.Sum256(raw)) != s.sum {
			return nil, errChanged
		}
		from = append(from, s)
	}
	return from, nil
}

var errChanged = errors.New("what was kept for a machine is not what was made")

func compare(path, want string) (kept, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return kept{}, err
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return kept{}, err
	}
	if st.Mode != unix.S_IFREG|keptMode || int(st.Uid) != os.Geteuid() || st.Nlink != 1 {
		return kept{}, errChanged
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return kept{}, err
	}
	if hex.EncodeToString(sum.Sum(nil)) != want {
		return kept{}, errChanged
	}
	return kept{path, plan.Identity{Dev: st.Dev, Ino: st.Ino}}, nil
}

// bind shows it at a place, and nothing else that has its name then.
func (k kept) bind(dst plan.Raw) plan.Op {
	return plan.Op{Do: plan.DoBind, Dst: dst, Src: plan.Raw(k.path), ID: &k.id}
}

// used is how long what was made, or taken, is left alone: somebody may be about to open it.
const used = time.Hour

// touch says that it is used.
func touch(at string) {
	for _, end := range []string{".kernel", ".archive", ".sums"} {
		os.Chtimes(at+end, time.Time{}, time.Now()) // what is not told is made anew
	}
}

// most is for how many kernels and versions of ringfence files are kept.
const most = 3

func thin(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) < 4*most {
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
func (k *kernel) archive(to io.Writer) ([]source, error) {
	all, err := k.modulesOf()
	if err != nil {
		return nil, err
	}
	own, err := os.ReadFile(self.Whole)
	if err != nil {
		return nil, err
	}
	entries := map[string]cpio.Entry{
		guest.Name[1:]:  {Mode: 0o755, Data: own},
		guest.Order[1:]: {Mode: 0o644, Data: []byte(strings.Join(all.order, "\n"))},
	}
	for name, b := range all.data {
		entries[guest.ModulesAt[1:]+"/"+name] = cpio.Entry{Mode: 0o644, Data: b}
	}
	return all.from, cpio.Write(to, entries)
}
