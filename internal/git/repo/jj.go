package repo

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
)

const jjHint = "share it by hand with --rw, or start in the main workspace"

// maxJJIndex bounds jj's list of workspaces.
const maxJJIndex = 1 << 20

// jjStore is the repository that a further jj workspace points to.
type jjStore struct {
	main string // the workspace that holds the repository
	repo string // main/.jj/repo
	git  string // main/.git when colocated, else ""
}

func (s *jjStore) dirs() []string {
	if s == nil {
		return nil
	}
	return []string{s.repo, s.git}
}

// jjStore judges at/.jj/repo where that is a file: a pointer to another
// workspace's repository. As with git's worktrees the other side has to name at,
// which jj does in workspace_store/index. A directory there needs no help.
func (f finder) jjStore(at *dir) (*jjStore, error) {
	jj, err := openDir(at.fd, ".jj", unix.RESOLVE_NO_SYMLINKS)
	if err != nil {
		return nil, nil
	}
	defer jj.close()
	if st, err := jj.lstat("repo"); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, nil
	}
	text, err := jj.readPath("repo")
	if err != nil {
		return nil, refuse(jjHint, "%q: %w", jj.path+"/repo", err)
	}
	repo, err := jj.resolve(text)
	if err != nil {
		return nil, refuse(jjHint, "%q points to %q: %w", jj.path+"/repo", text, unwrapPath(err))
	}
	defer repo.close()
	main := filepath.Dir(filepath.Dir(repo.path))
	if repo.path != filepath.Join(main, ".jj", "repo") || f.tooHigh(repo.path) || !f.owns(repo.uid) {
		return nil, refuse(jjHint, "%q is not a jj repository of yours", repo.path)
	}
	if err := repo.jjNames(at); err != nil {
		return nil, refuse(jjHint, "jj repository %q does not name workspace %q: %w", repo.path, at.path, err)
	}
	git, err := f.jjGit(repo, main)
	if err != nil {
		return nil, refuse(jjHint, "jj repository %q: %w", repo.path, err)
	}
	return &jjStore{main: main, repo: repo.path, git: git}, nil
}

// jjNames checks that the repository lists at among its workspaces.
func (d *dir) jjNames(at *dir) error {
	b, err := d.read("workspace_store/index", maxJJIndex)
	if err != nil {
		return err
	}
	paths, err := parseJJIndex(b)
	if err != nil {
		return err
	}
	for _, p := range paths {
		if d.names(p, at) == nil {
			return nil
		}
	}
	return fmt.Errorf("it is none of its %d workspaces", len(paths))
}

// jjGit returns the git directory that stores the commits, when it lies outside
// repo. Only the colocated one is granted: git_target lies where an agent that
// was once granted repo can write, and could name any repository.
func (f finder) jjGit(repo *dir, main string) (string, error) {
	text, err := repo.readPath("store/git_target")
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	store, err := openDir(repo.fd, "store", unix.RESOLVE_NO_SYMLINKS)
	if err != nil {
		return "", err
	}
	defer store.close()
	git, err := store.resolve(text)
	if err != nil {
		return "", err
	}
	defer git.close()
	if file.Within(git.path, repo.path) {
		return "", nil
	}
	if git.path != filepath.Join(main, ".git") || git.has("commondir") {
		return "", fmt.Errorf("it keeps its commits in %q, which is not its own", git.path)
	}
	return git.path, f.grantable(git)
}

// parseJJIndex returns the paths in jj's list of workspaces, a protocol buffer:
// repeated message 1 { string name = 1; bytes path = 2 }.
func parseJJIndex(b []byte) ([]string, error) {
	var paths []string
	err := eachField(b, func(num uint64, entry []byte) error {
		if num != 1 {
			return nil
		}
		return eachField(entry, func(num uint64, v []byte) error {
			if num != 2 {
				return nil
			}
			p, err := parsePath(v)
			paths = append(paths, p)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return paths, nil
}

// eachField calls do for each length-delimited field and passes over numbers,
// which a later jj may add; any other wire type is an error.
func eachField(b []byte, do func(num uint64, v []byte) error) error {
	errShort := errors.New("list of workspaces is damaged")
	for len(b) > 0 {
		tag, n := binary.Uvarint(b)
		if n <= 0 {
			return errShort
		}
		b = b[n:]
		v, n := binary.Uvarint(b)
		if n <= 0 {
			return errShort
		}
		b = b[n:]
		switch tag & 7 {
		case 0:
		case 2:
			if v > uint64(len(b)) {
				return errShort
			}
			if err := do(tag>>3, b[:v]); err != nil {
				return err
			}
			b = b[v:]
		default:
			return errShort
		}
	}
	return nil
}
