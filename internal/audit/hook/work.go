package hook

import (
	"path"
	"strconv"
	"strings"
)

// Unsaved is a file or directory that no commit has as it is.
type Unsaved struct {
	Path    string // below the worktree
	Size    int64
	Largest int64 // the size of its largest file
	Tracked bool  // git has another state of it
	Ignored bool  // git passes over it
}

// Belt is what a session tells its hook: whether what is lost can be brought back, and
// whether there is somebody to ask.
type Belt struct {
	Nobody bool
	Copy   bool  // the agent works in a copy: the person's own files are not touched
	Total  int64 // bytes that undo keeps; 0: nothing is kept
	File   int64 // bytes of one file that undo keeps
}

// back says what brings lost work back; "" if nothing does.
func (b Belt) back(lost []Unsaved) string {
	var total int64
	for _, u := range lost {
		if total += u.Size; b.Total == 0 || u.Largest > b.File || total > b.Total {
			total = -1
			break
		}
	}
	switch {
	case b.Copy:
		return "The agent works in a copy here: the project itself keeps what it has."
	case total >= 0 && b.Total > 0:
		return "`ringfence undo` brings it back."
	}
	return ""
}

// loses judges a command that throws work away. With nobody to ask it passes where the work
// can be brought back, and is refused where it cannot.
func (l *look) loses(what string, lost []Unsaved) {
	if what = "This " + what; len(lost) > 0 {
		what += " what no commit has: " + names(lost)
	}
	back := l.sh.where.Belt.back(lost)
	switch {
	case l.sh.where.Belt.Nobody && back != "":
	case l.sh.where.Belt.Nobody:
		l.find(Deny, "work", what+". Nothing brings it back, and nobody is here to be asked. Commit or stash it first.")
	case back != "":
		l.find(Ask, "work", what+". "+back)
	default:
		l.find(Ask, "work", what+". Nothing brings it back: commit or stash it first.")
	}
}

// names lists the first few.
func names(lost []Unsaved) string {
	const most = 3
	var out []string
	for _, u := range lost[:min(len(lost), most)] {
		out = append(out, say(u.Path))
	}
	text := strings.Join(out, ", ")
	if more := len(lost) - most; more > 0 {
		text += " and " + strconv.Itoa(more) + " more"
	}
	return text
}

// unsaved asks for the work below some paths of a directory. It is false where that cannot
// be told.
func (l *look) unsaved(dir string, paths []string, ignored bool) ([]Unsaved, bool) {
	if l.sh.where.Work == nil || !known(dir) {
		return nil, false
	}
	for i, p := range paths {
		if !known(p) {
			return nil, false
		}
		paths[i] = absFrom(dir, p)
	}
	found, err := l.sh.where.Work(dir, paths, ignored)
	return found, err == nil
}

// removedWork is a tree that rm takes away. Where nothing is known of a repository, nothing
// is said: most of what is removed is what a build has made.
func (l *look) removedWork(target string) {
	if !known(target) || !known(l.sh.dir) && !strings.HasPrefix(target, "/") {
		return
	}
	if found, ok := l.unsaved(path.Dir(absFrom(l.sh.dir, target)), []string{absFrom(l.sh.dir, target)}, false); ok && len(found) > 0 {
		l.loses("removes", found)
	}
}

func tracked(all []Unsaved) (out []Unsaved) {
	for _, u := range all {
		if u.Tracked {
			out = append(out, u)
		}
	}
	return out
}
