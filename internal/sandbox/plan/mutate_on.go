//go:build ringfence_mutate

package plan

import (
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/file"
)

// without are the walls that stand on another one.
var without = map[Wall][]Wall{WallUser: {WallNested}, WallNoNewPriv: {WallLandlock, WallSeccomp}}

// Without takes walls away by their names, with a comma between them, and what stands on them. It
// exists in test builds only, so that a check can be seen to report them.
func (p *Plan) Without(names string) {
	for name := range strings.SplitSeq(names, ",") {
		w := Wall(name)
		p.Walls = slices.DeleteFunc(slices.Clone(p.Walls), func(o Wall) bool { return o == w || slices.Contains(without[w], o) })
		switch w {
		case WallNet: // PID 1 must not change a network that is the host's
			p.Capture = nil
		case WallPID: // a fresh proc cannot be mounted then
			p.ShowOutside("/proc")
		case WallTTY: // it is the own devpts
			p.ShowOutside("/dev/pts")
		}
	}
}

// ShowOutside shows a directory of whoever starts the sandbox in the place of an own one.
func (p *Plan) ShowOutside(dir string) {
	stays := []Do{DoTmpfs, DoBind, DoFile, DoLayer}
	p.Ops = slices.DeleteFunc(slices.Clone(p.Ops), func(o Op) bool {
		return !slices.Contains(stays, o.Do) && string(o.Dst) != dir && file.Within(string(o.Dst), dir)
	})
	for i, o := range p.Ops {
		if string(o.Dst) == dir && (o.Do == DoTmpfs || o.Do == DoProc || o.Do == DoPts) {
			p.Ops[i] = Op{Do: DoBind, Dst: o.Dst, Src: o.Dst, Write: o.Do != DoProc}
		}
	}
}
