package keeper

import (
	"io"
	"os"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/workspace/hostexec"
)

// seal reads a file that is about to get a name at which its content counts, and
// says whether it has the form. Until release is called nobody can change it: it has
// one name, and nobody has it open to write. If somebody may have, a copy takes its
// place first, of which nobody can know.
//
// git writes its references and its index so: to a lock, closed, then renamed.
func (w *work) seal(t, to *target, form hostexec.Form) (release func(), fits bool) {
	in, err := openFile(t.dir, t.name, unix.O_RDONLY, 0)
	if err != nil {
		return nil, false
	}
	f := os.NewFile(uintptr(in), t.name)
	var st unix.Stat_t
	if unix.Fstat(in, &st) != nil || st.Ino != t.st.Ino || st.Dev != t.st.Dev || st.Size > hostexec.MaxJudged {
		f.Close()
		return nil, false
	}
	if st.Nlink != 1 || lease(in) != nil {
		if f, err = w.copyOwn(t, f); err != nil {
			return nil, false
		}
	}
	content, err := io.ReadAll(io.LimitReader(f, hostexec.MaxJudged+1))
	if err != nil || hostexec.Fits(form, content, w.settingsOf(to)) != nil {
		f.Close()
		return nil, false
	}
	return func() { f.Close() }, true
}

// maxSettings bounds the settings of a repository.
const maxSettings = 1 << 20

// settingsOf reads the settings of the repository that a path belongs to, as the host
// has them. nil: there are none to be read.
func (w *work) settingsOf(t *target) []byte {
	tree := &w.conf.Trees[t.tree]
	part, ok := tree.Rules.Part(hostTree{tree.Host}, t.rel, hostexec.KindFile)
	if !ok {
		return nil
	}
	dir, name, err := w.parentIn(int(tree.Host.Fd()), part.Settings(hostTree{tree.Host}))
	if err != nil {
		return nil
	}
	fd, err := openFile(dir, name, unix.O_RDONLY, 0)
	if err != nil {
		return nil
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxSettings+1))
	if err != nil || len(b) > maxSettings {
		return nil
	}
	return b
}

// lease takes a lease to read: the kernel gives it only if nobody has the file open
// to write, and closing the file gives it back. Not every file system has leases.
func lease(fd int) error {
	_, err := unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_RDLCK)
	return err
}
