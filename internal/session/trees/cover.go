package trees

import (
	"path"
	"slices"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// CoverLayers puts what stands for files of a live tree, and what hides them, into
// the tree's layer too. When a directory above one becomes private, the layer is
// mounted over it, and would show the host's file again.
func (ts *Trees) CoverLayers(p *plan.Plan) error {
	for _, t := range p.Trees {
		own, err := treeAt(ts.list, t.Path)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(p.Ops, func(o plan.Op) bool {
			return o.Do == plan.DoMask && t.Layer != "" && string(o.Dst) == path.Dir(string(t.Layer))
		})
		if at < 0 {
			continue
		}
		var ops []plan.Op
		for _, o := range p.Ops {
			if o.Do != plan.DoFile && o.Do != plan.DoMask || o.Dst == t.Path || !file.Within(string(o.Dst), string(t.Path)) {
				continue
			}
			rel := string(o.Dst[len(t.Path)+1:])
			if root, held := own.rules.HoldRoot(rel); held && root != rel {
				o.Dst = t.Layer + "/" + plan.Raw(rel)
				ops = append(ops, o)
			}
		}
		p.Ops = slices.Insert(p.Ops, at, ops...)
	}
	roomFor(p.Ops)
	return nil
}

// roomFor makes the directory of ours as large as the files that come to lie in it:
// how many stand for those of a repository is for the repository to say.
func roomFor(ops []plan.Op) {
	const room, page = 4 << 20, 16 << 10 // a page brings an inode along
	size := int64(room)
	for _, o := range ops {
		if o.Do == plan.DoFile {
			size += page + (int64(len(o.Data))+page-1)/page*page
		}
	}
	for i := range ops {
		if ops[i].Do == plan.DoTmpfs && ops[i].Dst == plan.Own {
			ops[i].Size = size
		}
	}
}
