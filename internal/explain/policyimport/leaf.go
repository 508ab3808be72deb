package policyimport

// Bounds of one file. A project's settings are written by strangers.
const (
	maxBytes  = 1 << 20
	maxLeaves = 8192
	maxDepth  = 32
	maxValue  = 16 << 10
)

// leaf is one value of a file, or an empty list or table.
type leaf struct {
	path []string // names on the way to it, without numbers
	key  string   // the same for people: permissions.allow[2]
	kind kind
	text string // the value as text
	line int
	at   int // where it is written, in bytes
}

type kind int

const (
	text kind = iota
	flag
	number
	null
	empty // a list or table with nothing in it
)

// is reports whether the leaf lies at this path.
func (l *leaf) is(path ...string) bool { return len(l.path) == len(path) && l.under(path...) }

// under reports whether it lies at or below this path.
func (l *leaf) under(path ...string) bool {
	if len(l.path) < len(path) {
		return false
	}
	for i, p := range path {
		if l.path[i] != p {
			return false
		}
	}
	return true
}

// shown is the value, where that can be no secret: settings hold keys, too.
func (l *leaf) shown() string {
	for _, p := range []string{"permissions", "sandbox", "sandbox_mode", "sandbox_workspace_write", "network", "filesystem"} {
		if l.under(p) {
			return l.text
		}
	}
	if l.kind == text || l.kind == number {
		return ""
	}
	return l.text
}
