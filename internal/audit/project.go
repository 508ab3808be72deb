package audit

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ringfence.dev/ringfence/internal/audit/scan"
	"ringfence.dev/ringfence/internal/file"
)

// OpenedID is the row that tells what a project runs when it is opened.
const OpenedID = "AU-170"

// projectChecks: the project as a place.
var projectChecks = []Check{
	{ID: OpenedID, Severity: High, Title: "The project runs something when it is opened",
		Gets: "code as the user, before anybody has read the project", Fix: "ringfence scan (then read {})", probe: opened},
	{ID: "AU-171", Severity: High, Title: "Others can write to the project",
		Gets: "instructions for the agent, and code that the user runs", Fix: "chmod go-w {}", probe: openProject},
	{ID: "AU-172", Severity: Low, Title: "The project lies in a directory that is synchronised",
		Gets: "what an agent writes is on every other machine, and in the cloud, at once",
		Fix:  "move {} out of it, or work with: ringfence claude --review", probe: synced},
	{ID: "AU-173", Severity: Medium, Title: "The project is the home directory, or holds it",
		Gets: "everything: all that a project may be read for is read", Fix: "cd to the directory of one project", probe: homeProject},
}

// scanBudget is more than a launch has, and less than a person who asks for a scan.
var scanBudget = scan.Budget{Entries: 200_000, Depth: 32, Bytes: 64 << 20, Time: 2 * time.Second}

// opened asks the scan that a launch asks, with less patience than a person has.
func opened(l *look) (hits []hit) {
	if l.Project == "" || file.Within(l.Home, l.Project) {
		return nil
	}
	report, err := scan.Scan(l.Project, scanBudget)
	if err != nil {
		l.notes = append(l.notes, "the project cannot be scanned for what runs on opening")
		return nil
	}
	for _, f := range report.Findings {
		h := hit{path: filepath.Join(l.Project, f.Path), line: f.Line, detail: f.ID + ": " + f.Who + " " + f.When}
		if f.Level != scan.Danger {
			h.severity = Info
		}
		hits = append(hits, h)
	}
	return hits
}

func openProject(l *look) []hit {
	if l.Project == "" {
		return nil
	}
	if st, ok := l.stat(l.Project); ok && l.everybody().writable(st) {
		return []hit{{path: l.Project, detail: modeWords(st)}}
	}
	return nil
}

// clouds are names of directories that clients of clouds keep the same everywhere.
var clouds = []string{"Dropbox", "OneDrive", "Google Drive", "GoogleDrive", "Nextcloud", "ownCloud", "pCloudDrive", "MEGA", "Syncthing", "Sync", "iCloudDrive", "Seafile", "Insync", "Box"}

// synced goes up from the project and looks for such a name, or for the mark that
// clients leave in the directory they keep.
func synced(l *look) []hit {
	if l.Project == "" {
		return nil
	}
	for dir := l.Project; dir != "/" && dir != l.Home && dir != "."; dir = filepath.Dir(dir) {
		name := filepath.Base(dir)
		if slices.ContainsFunc(clouds, func(c string) bool { return name == c || strings.HasPrefix(name, c+" - ") }) {
			return []hit{{path: l.Project, detail: "in " + l.word(dir)}}
		}
		for _, mark := range []string{".dropbox", ".stfolder", ".sync_ctrl", ".owncloudsync.log", ".nextcloudsync.log"} {
			if _, ok := l.stat(filepath.Join(dir, mark)); ok {
				return []hit{{path: l.Project, detail: "in " + l.word(dir)}}
			}
		}
	}
	return nil
}

func homeProject(l *look) []hit {
	if l.Project != "" && file.Within(l.Home, l.Project) {
		return []hit{{path: l.Project}}
	}
	return nil
}
