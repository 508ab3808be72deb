package trees

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/workspace/review"
)

// layMasks writes down what is masked since the launch, before anything runs. Under
// review the phantoms are put into the layer itself, where they can be changed, and no
// mount is needed.
func (k *Changes) layMasks(p plan.Plan) (plan.Plan, error) {
	p.Ops = slices.Clone(p.Ops)
	for n := range k.trees.list {
		t := &k.trees.list[n]
		if len(t.masked) == 0 {
			continue
		}
		if err := k.Work.Masked(n, t.masked); err != nil {
			return p, err
		}
		if k.Work.Trees[n].View != review.Review {
			k.likeHost(p.Ops, n)
			continue
		}
		for rel, data := range t.masked {
			if err := layPhantom(k.Work.Trees[n].Path, k.Work.Upper(n), rel, data); err != nil {
				return p, err
			}
			dst := plan.Raw(filepath.Join(k.Work.Trees[n].Path, rel))
			p.Ops = slices.DeleteFunc(p.Ops, func(o plan.Op) bool { return o.Do == plan.DoFile && o.Dst == dst })
		}
	}
	return p, nil
}

// likeHost gives the phantoms of a live tree the modes of the host's files: tools that
// write a file anew take them over.
func (k *Changes) likeHost(ops []plan.Op, n int) {
	for i := range ops {
		rel, below := strings.CutPrefix(string(ops[i].Dst), k.Work.Trees[n].Path+"/")
		if _, ok := k.trees.list[n].masked[rel]; !ok || !below || ops[i].Do != plan.DoFile {
			continue
		}
		if st, err := os.Lstat(string(ops[i].Dst)); err == nil {
			ops[i].Mode = uint32(st.Mode().Perm())
		}
	}
}

// layPhantom makes a file in a layer, with the modes of the host's.
func layPhantom(root, upper, rel string, data []byte) error {
	for i := range rel {
		if rel[i] != '/' {
			continue
		}
		st, err := os.Lstat(filepath.Join(root, rel[:i]))
		if err != nil {
			return err
		}
		dir := filepath.Join(upper, rel[:i])
		if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := os.Chmod(dir, st.Mode().Perm()|0o700); err != nil {
			return err
		}
	}
	st, err := os.Lstat(filepath.Join(root, rel))
	if err != nil {
		return err
	}
	at := filepath.Join(upper, rel)
	if err := os.WriteFile(at, data, 0o600); err != nil {
		return err
	}
	return os.Chmod(at, st.Mode().Perm())
}

// liftMasks takes them out again: without overlayfs there is no layer, and mounts do.
func (k *Changes) liftMasks() error {
	for n := range k.trees.list {
		if k.Work.Trees[n].View != review.Review {
			continue
		}
		for rel := range k.trees.list[n].masked {
			if err := os.Remove(filepath.Join(k.Work.Upper(n), rel)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}
