package cgroup

import "path/filepath"

// planV1 finds a place in the separate hierarchies of v1: below our own group,
// where v1 allows processes and children side by side.
func (s system) planV1(v view, name string, want Limits, r *Report) []part {
	var parts []part
	try := func(controller string, want Limits) {
		if want == (Limits{}) {
			return
		}
		dir, ok := v.v1(controller)
		switch {
		case !ok:
			r.refuse(want, "cgroup v1: controller not mounted")
		case !writable(dir):
			r.refuse(want, "cgroup v1: "+errNotWritable.Error())
		default:
			parts = append(parts, part{by: V1, dir: filepath.Join(dir, name), limits: want})
		}
	}
	try("pids", Limits{Pids: want.Pids})
	try("memory", Limits{Memory: want.Memory})
	return parts
}
