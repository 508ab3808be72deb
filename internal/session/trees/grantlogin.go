package trees

import (
	"slices"
	"time"

	"ringfence.dev/ringfence/internal/audit/scan"
	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/session/launch"
)

// grantedLogins does for directories that grants show what is done for workspaces, of the
// logins in settings of git alone: no agent starts there.
func (pt *pretrust) grantedLogins() error {
	for _, root := range pt.total.GrantDirs {
		if _, known := pt.Untrusted.watched[root]; known {
			continue
		}
		budget, began := forCopy(&pt.Base, scan.First("")), time.Now()
		report, err := scan.GitLogins(root, budget)
		if err == nil {
			err = wholly(&pt.Base, root, report.Complete)
		}
		if err != nil {
			return err
		}
		files := slices.DeleteFunc(report.Files, func(f scan.File) bool {
			at := scan.At(root, f.Path)
			return slices.Contains(pt.Untrusted.neutral, at) || // by another grant
				slices.ContainsFunc(pt.Workspaces, func(ws launch.Workspace) bool { return file.Within(at, ws.Path) && file.Within(ws.Path, root) })
		})
		if err := stops(root, files, pt.total.Masks); err != nil {
			return err
		}
		for _, f := range files {
			if f.Unlogged != nil {
				pt.Untrusted.logins = append(pt.Untrusted.logins, scan.At(root, f.Path))
			}
		}
		pt.Untrusted.watched[root] = scanned{budget: budget, at: began, git: report.GitDirs, granted: true}
		pt.neutralise(root, files)
	}
	return nil
}
