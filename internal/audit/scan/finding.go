package scan

import (
	"path"
	"time"
)

// Level says how much a finding asks of a person.
type Level string

// The levels.
const (
	Danger Level = "danger" // runs unasked or misleads: shown before the agent starts
	Note   Level = "note"   // runs when somebody asks for it, or asks itself first
)

// Finding is one thing that opening the tree would make run or change.
type Finding struct {
	ID    string `json:"id"`
	Level Level  `json:"level"`
	Path  string `json:"path"` // relative to the tree
	Line  int    `json:"line,omitempty"`
	Who   string `json:"who"`
	When  string `json:"when"`
	What  string `json:"what"`           // quoted: it is the repository's own text
	Full  string `json:"full,omitempty"` // all of it, where What does not say all
	Gets  string `json:"gets"`           // what an attacker gets of it
	// Cured: the file is shown without it inside, unless it is trusted.
	Cured bool `json:"cured"`

	real string // the path without links
}

// File is the path of the file that it is about, without links.
func (f Finding) File() string { return f.real }

// At is where a file of a report lies, of the tree at root.
func At(root, file string) string {
	if path.IsAbs(file) {
		return file
	}
	return path.Join(root, file)
}

// File is a file with findings.
type File struct {
	Path string
	// Digest is of what would be trusted. A change of it is another matter. What was not
	// read has none, and cannot be trusted.
	Digest string
	// With are the files of the tree that are trusted together with this one, because it
	// uses them. WithAll: any file may be what it runs, so every change counts.
	With    []string
	WithAll bool
	// Neutral is what stands for the file; nil if it is shown as it is.
	Neutral []byte
	// Unlogged is the file without the credentials in it; nil if there are none. It stands
	// for the file whoever trusts the rest.
	Unlogged []byte
	// Content is the file as it is.
	Content []byte
	Danger  bool // one of its findings is
	// Mended: Neutral was made. An empty one is an empty file.
	Mended bool
	// Stops says why no agent may start while this is not trusted: nothing can stand in
	// its place.
	Stops string
}

// Report is what a scan found.
type Report struct {
	Findings []Finding
	Files    []File
	// Known are the paths below the root whose content counts, found or not: where a
	// later scan looks without a walk.
	Known []string
	// GitDirs are the directories in which settings of git lie, or may come to lie.
	GitDirs  []string
	Entries  int  // names that were looked at
	Read     int  // files that were read
	Complete bool // nothing was left out
}

// InHistory adds a file of secrets that git has in its history as it is.
func (r *Report) InHistory(rel string) {
	r.Findings = append(r.Findings, Finding{ID: kHistory.id, Level: kHistory.level, Path: rel, Who: "an agent, and whoever has a clone",
		When: "at any time", What: "a secret is in git's history", Gets: kHistory.gets, real: rel})
}

// About lists the findings of one file.
func (r *Report) About(f File) []Finding {
	var out []Finding
	for _, x := range r.Findings {
		if x.real == f.Path {
			out = append(out, x)
		}
	}
	return out
}

// Budget bounds a scan.
type Budget struct {
	Entries int           // of directories
	Depth   int           // below the root
	Bytes   int64         // of files that the walk meets
	Time    time.Duration // of the walk; what agents obey is always looked at
	Always  int           // entries that the walk looks at however long it takes: a machine may be busy
	Told    int           // findings of one file; 0 for all of them
	// Dir is where an agent is about to start, below the root; "" for the root. Settings
	// elsewhere are notes.
	Dir string
	// Git are git directories outside of the tree, as linked worktrees have them. What
	// is found there has an absolute path.
	Git []string
	// Also are further paths to look at, as Known of an earlier scan.
	Also []string
	// Deep has logins of git looked for in directories of what tools fetch and build as well.
	Deep bool
	// Step is told now and then how many entries were met. May be nil.
	Step func(entries int)
}

// Launch is the budget of a launch in a tree that was looked at before, First of the
// first one, Hand that of a person who waits for it.
func Launch(dir string, also []string) Budget {
	return Budget{Dir: dir, Entries: 2000, Depth: 6, Bytes: 16 << 20, Time: 4 * time.Millisecond, Always: 500, Told: 50, Also: also}
}

// First is for a tree that nobody has looked at yet.
func First(dir string) Budget {
	return Budget{Dir: dir, Entries: 20_000, Depth: 12, Bytes: 16 << 20, Time: 100 * time.Millisecond, Always: 2000, Told: 50}
}

// Hand is for a person who waits for the answer.
func Hand(dir string) Budget {
	return Budget{Dir: dir, Entries: 500_000, Depth: 64, Bytes: 256 << 20, Time: 20 * time.Second}
}

// maxFindings bounds what is said of one tree: beyond it, of every file one thing.
const maxFindings = 1000
