package keeper

import (
	"io"
	"os"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/hostexec"
)

// seal reads a file that is about to get a name at which its content counts, and
// says whether it has the form. Until release is called nobody can change it: it has
// one name, and nobody has it open to write. If somebody may have, a copy takes its
// place first, of which nobody can know.
//
// git writes its references and its index so: to a lock, closed, then renamed.
func (w *worker) seal(t, to *target, form hostexec.Form) (release func(), fits bool) {
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
	if st.Nlink != 1 || !leased(in) {
		if f, err = w.copyOwn(t, f); err != nil {
			return nil, false
		}
	}
	content, err := io.ReadAll(io.LimitReader(f, hostexec.MaxJudged+1))
	if err != nil || hostexec.FitsAfter(form, w.formerIndex(to, form), content) != nil {
		f.Close()
		return nil, false
	}
	return func() { f.Close() }, true
}

// formerIndex reads the index that another is to replace.
func (w *worker) formerIndex(to *target, form hostexec.Form) []byte {
	if form != hostexec.FormIndex || !to.is || to.kind() != unix.S_IFREG || to.st.Size > hostexec.MaxJudged {
		return nil
	}
	in, err := openFile(to.dir, to.name, unix.O_RDONLY, 0)
	if err != nil {
		return nil
	}
	f := os.NewFile(uintptr(in), to.name)
	defer f.Close()
	old, err := io.ReadAll(io.LimitReader(f, hostexec.MaxJudged))
	if err != nil {
		return nil
	}
	return old
}

// leased takes a lease to read: the kernel gives it only if nobody has the file open
// to write, and closing the file gives it back. Not every file system has leases.
func leased(fd int) bool {
	_, err := unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_RDLCK)
	return err == nil
}
