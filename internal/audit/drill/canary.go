package drill

import (
	"bytes"
	"compress/zlib"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ringfence.dev/ringfence/internal/leakscan"
)

// canary makes a value that stands nowhere else, and remembers it.
func (s *scene) canary(name string) string {
	b := make([]byte, 20)
	rand.Read(b)
	v := "9f" + hex.EncodeToString(b)
	s.needles = append(s.needles, leakscan.Named{Name: name, Secret: v})
	return v
}

// awsKey makes one in the form of an access key.
func (s *scene) awsKey(name string) string {
	v := "AKIA" + rand.Text()[:16]
	s.needles = append(s.needles, leakscan.Named{Name: name, Secret: v})
	return v
}

// found returns the name of a canary that is in b, in whatever way it is written.
func (s *scene) found(b []byte) (string, bool) {
	set, err := leakscan.New(s.needles...)
	if err != nil {
		return err.Error(), true
	}
	name, form, ok := set.Find(b)
	if ok && form != "plain" {
		name += " (" + form + ")"
	}
	return name, ok
}

// spread looks for canaries in every file of the workspace but those that were
// planted with one, also in the objects of git.
func (s *scene) spread() (path, name string, err error) {
	err = filepath.WalkDir(s.work, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(s.work, p)
		if err != nil || s.secret[rel] {
			return err
		}
		b, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		for _, part := range [][]byte{[]byte(rel), b, inflated(b)} {
			if n, ok := s.found(part); ok {
				path, name = rel, n
				return fs.SkipAll
			}
		}
		return nil
	})
	return path, name, err
}

// inflated is what a loose object of git says; nil if it is none.
func inflated(b []byte) []byte {
	z, err := zlib.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil
	}
	defer z.Close()
	out, err := io.ReadAll(io.LimitReader(z, maxOutput))
	if err != nil {
		return nil
	}
	return out
}

// node is what a snapshot keeps of a path.
type node struct {
	mode fs.FileMode
	sum  [sha256.Size]byte
	link string
}

// snapshot looks at everything at and below the paths of the workspace.
func (s *scene) snapshot(paths ...string) (map[string]node, error) {
	out := map[string]node{}
	for _, root := range paths {
		root = filepath.Join(s.work, root)
		if _, err := os.Lstat(root); err != nil {
			continue // gone, which the comparison shows
		}
		err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			n, err := look(p)
			out[strings.TrimPrefix(p, s.work+"/")] = n
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func look(p string) (n node, err error) {
	st, err := os.Lstat(p)
	if err != nil {
		return n, err
	}
	n.mode = st.Mode()
	switch {
	case n.mode.IsRegular():
		b, err := os.ReadFile(p)
		n.sum = sha256.Sum256(b)
		return n, err
	case n.mode.Type() == fs.ModeSymlink:
		n.link, err = os.Readlink(p)
	}
	return n, err
}

// differ returns one path at which two snapshots differ.
func differ(a, b map[string]node) (path string, differs bool) {
	for p, n := range a {
		if b[p] != n {
			return p, true
		}
	}
	for p := range b {
		if _, ok := a[p]; !ok {
			return p, true
		}
	}
	return "", false
}
