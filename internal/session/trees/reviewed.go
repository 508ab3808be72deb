package trees

import (
	"path/filepath"

	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/workspace/hostexec"
	"ringfence.dev/ringfence/internal/workspace/review"
)

// Reviewed lists paths of a review, by what the host would do with them.
func Reviewed(r *review.Report, entries []review.Entry, like journal.Record) []journal.Record {
	var out []journal.Record
	like.Kind = journal.Work
	for _, rank := range []hostexec.Rank{hostexec.Unasked, hostexec.Asked, hostexec.Secret, hostexec.Source} {
		var list []string
		for _, e := range entries {
			if e.Rank == rank {
				list = append(list, filepath.Join(r.Work.Trees[e.Tree].Path, string(e.Path)))
			}
		}
		if len(list) > 0 {
			like.State = rank.String()
			out = append(out, journal.Split(like, list)...)
		}
	}
	return out
}
