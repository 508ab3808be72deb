package review

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/workspace/hostexec"
)

// OfferClone gives the repository a remote of the session's name, to fetch from its clone.
// The clone is the session's alone, and git on the host follows whatever it finds there: a
// file .git, a link or an alternate would have it copy another repository of the person to
// where the next session reads it. So the remote is made when nothing runs inside any more,
// and only if the clone is a repository by itself.
func (w *Work) OfferClone() error {
	if w.Source == "" {
		return nil
	}
	defer inTurn(w.Source)()
	if _, err := w.git(w.Source, "remote", "get-url", "--", w.ID); err == nil {
		return nil // it is there
	}
	if err := plainClone(w.CloneDir()); err != nil {
		return fmt.Errorf("the clone of session %s is not offered to git fetch: %w", w.ID, err)
	}
	if has, err := w.unfetched(); err == nil && !has {
		return nil // there is nothing to fetch
	}
	if _, err := w.git(w.Source, "remote", "add", w.ID, w.CloneDir()); err != nil {
		return err
	}
	_, err := w.git(w.Source, "remote", "set-url", "--push", w.ID, noPush)
	return err
}

// inTurn keeps sessions that end at the same time from writing the settings of one
// repository at once: git refuses the second. The lock is on the directory, so that nothing
// is left. Who does not get it goes on after a while, and git decides.
func inTurn(source string) (done func()) {
	dir, err := os.Open(source)
	if err != nil {
		return func() {}
	}
	for end := time.Now().Add(turnPatience); errors.Is(file.Lock(int(dir.Fd()), unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK) && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	return func() { dir.Close() }
}

const turnPatience = 10 * time.Second

// noPush is no address. A push to the clone would run its hooks on the host, and they are
// the session's.
const noPush = "/dev/null/a-push-would-run-hooks-of-the-session"

// elsewhere are files by which a git directory has what is in it somewhere else.
var elsewhere = []string{".git", "commondir", "objects/info/alternates", "objects/info/http-alternates"}

// unserved are directories of which git reads nothing when somebody fetches.
var unserved = []string{"hooks", "logs", "modules", "worktrees", "lfs"}

// maxServed bounds the look through a clone.
const maxServed = 1 << 20

// plainClone says what in a clone leads git elsewhere, if anything does.
func plainClone(dir string) error {
	if st, err := os.Lstat(dir + "/.git"); err != nil || !st.IsDir() {
		return errors.New(".git is not a directory")
	}
	root, err := os.OpenRoot(dir + "/.git")
	if err != nil {
		return err
	}
	defer root.Close()
	for _, name := range []string{"objects", "refs"} {
		if st, err := root.Lstat(name); err != nil || !st.IsDir() {
			return fmt.Errorf(".git/%s is not a directory", name)
		}
	}
	left := maxServed
	err = fs.WalkDir(root.FS(), ".", func(p string, e fs.DirEntry, err error) error {
		if left--; left < 0 {
			return errors.New("there is too much in .git")
		}
		switch {
		case err != nil:
			return err
		case e.IsDir() && slices.Contains(unserved, p):
			return fs.SkipDir
		case slices.Contains(elsewhere, p), !e.IsDir() && !e.Type().IsRegular():
			return fmt.Errorf("%q leads git elsewhere", ".git/"+p)
		}
		return nil
	})
	if err != nil {
		return err
	}
	f, err := root.Open("HEAD") // without a good one git would look beside .git
	if err != nil {
		return err
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, 4096))
	if err == nil {
		err = hostexec.Fits(hostexec.FormRef, head, nil)
	}
	if err != nil {
		return fmt.Errorf(".git/HEAD: %w", err)
	}
	return nil
}
