package parcel

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/file/sys"
)

// Unpacked is a parcel that arrives on this machine.
type Unpacked struct {
	list  *List
	all   []content
	store string // contents of this project, by digest
	lock  *os.File
	needs []byte
}

// Arrive looks at what a parcel needs. Contents are kept below store, and read before they
// are taken for what they were.
func Arrive(list *List, store string) (*Unpacked, error) {
	u := &Unpacked{list: list, store: filepath.Join(store, list.Key)}
	if raw, err := hex.DecodeString(list.Key); err != nil || len(raw) != sha256.Size {
		return nil, errors.New("a project without a key")
	}
	var err error
	if u.all, err = list.contents(); err != nil {
		return nil, err
	}
	if err := u.hold(); err != nil {
		return nil, err
	}
	u.needs = make([]byte, (len(u.all)+7)/8)
	for i, one := range u.all {
		if !u.has(one) {
			u.needs[i/8] |= 1 << (i % 8)
		}
	}
	return u, nil
}

// hold makes the store of the project, and keeps others away. Its time says when it was used
// last; who thins out stores may have removed one that was waited for.
func (u *Unpacked) hold() (err error) {
	for range 10 {
		if err = os.MkdirAll(u.store, 0o700); err != nil {
			return err
		}
		if u.lock, err = file.LockDir(u.store, unix.LOCK_EX); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil || file.Named(unix.AT_FDCWD, u.store, int(u.lock.Fd())) {
			break
		}
		u.lock.Close()
		err = errors.New("what was kept of the project is removed again and again")
	}
	if err != nil {
		return err
	}
	return os.Chtimes(u.store, time.Now(), time.Now())
}

// Needs are the contents that are not here, as Send takes them.
func (u *Unpacked) Needs() []byte { return u.needs }

// Close lets go of what is kept.
func (u *Unpacked) Close() { u.lock.Close() }

func (u *Unpacked) path(one content) string {
	return filepath.Join(u.store, hex.EncodeToString(one.sum[:]))
}

func (u *Unpacked) has(one content) bool {
	f, err := os.Open(u.path(one))
	if err != nil {
		return false
	}
	defer f.Close()
	sum := sha256.New()
	n, err := io.Copy(sum, f)
	return err == nil && n == one.size && [sha256.Size]byte(sum.Sum(nil)) == one.sum
}

// Take reads the contents that were needed, makes the trees below dir, and forgets contents
// that are in none of them.
func (u *Unpacked) Take(r io.Reader, dir string) error {
	for i, one := range u.all {
		if u.needs[i/8]>>(i%8)&1 == 0 {
			continue
		}
		if err := u.keep(r, one); err != nil {
			return err
		}
	}
	for n, t := range u.list.Trees {
		if err := u.make(filepath.Join(dir, strconv.Itoa(n)), t); err != nil {
			return err
		}
	}
	u.forget()
	return nil
}

// keep stores one content that comes.
func (u *Unpacked) keep(r io.Reader, one content) error {
	at := u.path(one)
	f, err := os.CreateTemp(u.store, ".new-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	sum := sha256.New()
	if _, err := io.CopyN(io.MultiWriter(f, sum), r, one.size); err != nil {
		return err
	}
	if [sha256.Size]byte(sum.Sum(nil)) != one.sum {
		return errors.New("a content is not what it was said to be: it changed while it was sent")
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), at)
}

// forget removes contents that nothing here has any more.
func (u *Unpacked) forget() {
	want := map[string]bool{}
	for _, one := range u.all {
		want[hex.EncodeToString(one.sum[:])] = true
	}
	entries, err := os.ReadDir(u.store)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !want[e.Name()] {
			os.Remove(filepath.Join(u.store, e.Name()))
		}
	}
}

// make makes one tree. Modes and times come last: some forbid to write.
func (u *Unpacked) make(at string, t []Entry) error {
	if len(t) == 0 || len(t[0].Path) != 0 {
		return errors.New("a tree without a root")
	}
	for i := range t {
		if err := u.one(at, &t[i], i == 0); err != nil {
			return fmt.Errorf("%q: %w", t[i].Path, err)
		}
	}
	for i := len(t) - 1; i >= 0; i-- {
		if e := &t[i]; e.Kind != Link {
			p := filepath.Join(at, string(e.Path))
			if err := errors.Join(os.Chmod(p, os.FileMode(e.Mode&0o777)), setTime(p, e)); err != nil {
				return err
			}
		}
	}
	return nil
}

func setTime(p string, e *Entry) error {
	return unix.UtimesNanoAt(unix.AT_FDCWD, p, []unix.Timespec{{Nsec: unix.UTIME_OMIT}, {Sec: e.Sec, Nsec: e.Nsec}}, unix.AT_SYMLINK_NOFOLLOW)
}

func (u *Unpacked) one(at string, e *Entry, root bool) error {
	rel := string(e.Path)
	if !root && (!filepath.IsLocal(rel) || filepath.Clean(rel) != rel || strings.ContainsRune(rel, 0)) {
		return errors.New("is no path of a tree")
	}
	p := filepath.Join(at, rel)
	switch e.Kind {
	case Dir:
		return os.Mkdir(p, 0o700)
	case Link:
		if bytes.IndexByte(e.Target, 0) >= 0 {
			return errors.New("a link with a zero byte")
		}
		if err := os.Symlink(string(e.Target), p); err != nil {
			return err
		}
		return setTime(p, e)
	case File:
		return u.file(p, e)
	}
	return fmt.Errorf("an entry of kind %q", e.Kind)
}

// file copies a content: a link to what is kept would share its mode.
func (u *Unpacked) file(p string, e *Entry) error {
	to, err := os.OpenFile(p, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer to.Close()
	if e.Size == 0 {
		return nil
	}
	from, err := os.Open(u.path(content{[sha256.Size]byte(e.Sum), e.Size}))
	if err != nil {
		return err
	}
	defer from.Close()
	if err := sys.CopyData(int(to.Fd()), int(from.Fd()), e.Size); err != nil {
		return err
	}
	return to.Close()
}
