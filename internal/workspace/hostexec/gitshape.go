package hostexec

import "strings"

// Form is what the content of a file in a git directory has to be before the file
// may come to the host without a person.
type Form int

// The forms. FormAny asks for nothing: whatever is in such a file, git runs
// nothing and writes nowhere because of it.
const (
	FormAny        Form = iota
	FormRef             // the name of an object, or of another reference
	FormPackedRefs      // packed-refs
	FormIndex           // an index, with paths that git may write
	FormTodo            // the list of a rebase, without commands to execute
	FormEmpty           // nothing at all
	FormModules         // .gitmodules with plain paths and addresses
	FormLog             // a reflog
	FormStrategy        // the name of a way to merge that git brings along
	FormApply           // options of git apply that only say how to compare
	FormSequence        // settings of a cherry-pick or revert, of the same kind
	FormSign            // the option that has commits signed
	FormName            // an object, or a branch
	FormEnv             // variables of which none makes a program run something
)

// shape says of a path in a git directory what git itself has there.
type shape int

const (
	unknown shape = iota // git has nothing of that name: it waits for a person
	nested               // in one of the git directories below modules and worktrees
	known                // git's own, with the form beside it
)

// gitFiles are the single files of a git directory that git writes in ordinary
// work. What is not here is not known, and waits.
var gitFiles = map[string]Form{
	"HEAD": FormRef, "packed-refs": FormPackedRefs, "packed-refs.new": FormAny, "index": FormIndex, "MERGE_RR": FormEmpty,
	"ORIG_HEAD": FormAny, "FETCH_HEAD": FormAny, "MERGE_HEAD": FormAny, "MERGE_MSG": FormAny, "MERGE_MODE": FormAny,
	"MERGE_AUTOSTASH": FormAny, "AUTO_MERGE": FormAny, "CHERRY_PICK_HEAD": FormAny, "REVERT_HEAD": FormAny, "REBASE_HEAD": FormAny,
	"COMMIT_EDITMSG": FormAny, "SQUASH_MSG": FormAny, "TAG_EDITMSG": FormAny, "NOTES_EDITMSG": FormAny, "NOTES_MERGE_REF": FormAny,
	"NOTES_MERGE_PARTIAL": FormAny, "BISECT_HEAD": FormAny, "BISECT_LOG": FormAny, "BISECT_START": FormName, "BISECT_TERMS": FormAny,
	"BISECT_NAMES": FormAny, "BISECT_EXPECTED_REV": FormAny, "BISECT_ANCESTORS_OK": FormAny, "BISECT_RUN": FormAny,
	"BISECT_FIRST_PARENT": FormAny, "ADD_EDIT.patch": FormAny, "addp-hunk-edit.diff": FormAny, "EDIT_DESCRIPTION": FormAny,
	"REPLACE_EDITOBJ": FormAny, "description": FormAny, "shallow": FormAny, "gc.pid": FormAny, "locked": FormAny,
	"info/exclude": FormAny, "info/refs": FormAny, "info/sparse-checkout": FormAny, "opencode": FormAny,
	"rebase-merge/git-rebase-todo": FormTodo, "rebase-merge/strategy": FormStrategy, "rebase-apply/strategy": FormStrategy,
	"rebase-merge/gpg_sign_opt": FormSign, "rebase-apply/gpg_sign_opt": FormSign, "rebase-apply/apply-opt": FormApply, "logs/refs/.tmp-renamed-log": FormAny,
	"sequencer/todo": FormAny, "sequencer/opts": FormSequence, "sequencer/head": FormAny, "sequencer/abort-safety": FormAny,
}

// gitDirs are its directories. Those below refs, logs, objects and the rest follow
// from what may lie in them.
var gitDirs = map[string]bool{
	"objects": true, "refs": true, "logs": true, "info": true, "rebase-merge": true, "rebase-apply": true, "sequencer": true,
	"NOTES_MERGE_WORKTREE": true, "modules": true, "worktrees": true, "branches": true, "lfs": true,
	"rebase-apply/patch-merge-tmp-dir": true,
}

// gitTemporary begins the names of git's temporary files beside those above.
var gitTemporary = []string{"sharedindex_", "shallow_", "index.stash.", "next-index-"}

// shapeOf looks a path up that is relative to a git directory. Case counts: git
// writes no other.
func shapeOf(rel string, dir bool) (shape, Form) {
	if dir {
		return shapeOfDir(rel)
	}
	if form, ok := gitFiles[rel]; ok {
		return known, form
	}
	top, rest, deep := strings.Cut(rel, "/")
	if !deep {
		return shapeOfTop(rel)
	}
	if base, ok := strings.CutSuffix(rel, ".lock"); ok && top != "objects" && !strings.HasSuffix(base, ".lock") {
		s, _ := shapeOf(base, false)
		return s, FormAny // what counts is what it is renamed to
	}
	switch top {
	case "objects":
		return yes(objectFile(rest)), FormAny
	case "refs":
		return yes(refNames(rest)), FormRef
	case "logs":
		return yes(rest == "HEAD" || strings.HasPrefix(rest, "refs/") && refNames(rest)), FormAny
	case "info":
		return yes(strings.HasPrefix(rest, "refs_") && plainName(rest)), FormAny // before it becomes info/refs
	case "modules", "worktrees":
		return nested, FormAny
	case "rebase-merge", "rebase-apply":
		return yes(!strings.Contains(rest, "/") && plainName(rest) && rest != "HEAD"), FormAny
	case "NOTES_MERGE_WORKTREE":
		return yes(hex(strings.ReplaceAll(rest, "/", ""))), FormAny
	case "lfs":
		return yes(lfsFile(rest)), FormAny
	}
	return unknown, FormAny
}

func yes(is bool) shape {
	if is {
		return known
	}
	return unknown
}

// shapeOfTop is for the files of a git directory that no list names in full.
func shapeOfTop(name string) (shape, Form) {
	if base, ok := strings.CutSuffix(name, ".lock"); ok {
		_, listed := gitFiles[base]
		return yes(listed || base == "config" || base == "config.worktree" || hasAnyPrefix(base, gitTemporary)), FormAny
	}
	if id, ok := strings.CutPrefix(name, "sharedindex."); ok {
		return yes(hex(id)), FormIndex
	}
	return yes(hasAnyPrefix(name, gitTemporary) && plainName(name)), FormAny
}

func shapeOfDir(rel string) (shape, Form) {
	if gitDirs[rel] {
		return known, FormAny
	}
	top, rest, deep := strings.Cut(rel, "/")
	if !deep {
		return unknown, FormAny
	}
	switch top {
	case "objects":
		return yes(objectDir(rest)), FormAny
	case "refs":
		return yes(refNames(rest)), FormAny
	case "logs":
		return yes(rest == "refs" || strings.HasPrefix(rest, "refs/") && refNames(rest)), FormAny
	case "modules", "worktrees":
		return nested, FormAny
	case "NOTES_MERGE_WORKTREE":
		return yes(hex(strings.ReplaceAll(rest, "/", ""))), FormAny
	case "lfs":
		return yes(lfsDir(rest)), FormAny
	}
	return unknown, FormAny
}

// quarantine takes off the directory in which git keeps objects while it receives
// them: it has the shape of objects again.
func quarantine(rel string) string {
	if top, rest, ok := strings.Cut(rel, "/"); ok && (strings.HasPrefix(top, "tmp_objdir-") || strings.HasPrefix(top, "incoming-")) {
		return rest
	}
	return rel
}

// objectFile judges a file below objects, objectDir a directory there.
func objectFile(rel string) bool {
	rel = quarantine(rel)
	dir, name, deep := strings.Cut(rel, "/")
	switch {
	case !deep:
		return strings.HasPrefix(rel, "tmp_obj_") || rel == "maintenance.lock" || rel == "schedule.lock"
	case len(dir) == 2 && hex(dir):
		return len(name) >= 38 && hex(name) || strings.HasPrefix(name, "tmp_obj_") && plainName(name)
	case dir == "pack":
		return packFile(name)
	case dir == "info":
		return name == "packs" || strings.HasPrefix(name, "packs_") && plainName(name) || name == "commit-graph" || name == "commit-graph.lock" || commitGraph(name)
	}
	return false
}

func objectDir(rel string) bool {
	if strings.HasPrefix(rel, "tmp_objdir-") || strings.HasPrefix(rel, "incoming-") {
		if !strings.Contains(rel, "/") {
			return plainName(rel)
		}
		rel = quarantine(rel)
	}
	return len(rel) == 2 && hex(rel) || rel == "pack" || rel == "info" || rel == "info/commit-graphs" || rel == "pack/multi-pack-index.d"
}

func packFile(name string) bool {
	name = strings.TrimPrefix(name, "multi-pack-index.d/")
	switch {
	case strings.Contains(name, "/"):
		return false
	case strings.HasPrefix(name, "tmp_"), strings.HasPrefix(name, ".tmp-"), strings.HasPrefix(name, "multi-pack-index"):
		return plainName(strings.TrimPrefix(name, "."))
	}
	id, ending, _ := strings.Cut(strings.TrimPrefix(name, "pack-"), ".")
	switch strings.TrimSuffix(ending, ".lock") {
	case "pack", "idx", "rev", "bitmap", "keep", "promisor", "mtimes":
		return len(id) >= 40 && hex(id)
	}
	return false
}

// commitGraph judges files of a graph that is kept in several parts.
func commitGraph(name string) bool {
	rest, ok := strings.CutPrefix(name, "commit-graphs/")
	if !ok {
		return strings.HasPrefix(name, "tmp_") && plainName(name)
	}
	if rest == "commit-graph-chain" || rest == "commit-graph-chain.lock" || strings.HasPrefix(rest, "tmp_graph_") && plainName(rest) {
		return true
	}
	id, ok := strings.CutSuffix(strings.TrimPrefix(rest, "graph-"), ".graph")
	return ok && hex(id)
}

// lfsFile judges what Git LFS keeps: objects by their digest, and what it is busy with.
func lfsFile(rel string) bool {
	if rest, ok := strings.CutPrefix(rel, "objects/"); ok {
		parts := strings.Split(rest, "/")
		return len(parts) == 3 && len(parts[0]) == 2 && len(parts[1]) == 2 && hex(parts[0]+parts[1]) && strings.HasPrefix(parts[2], parts[0]+parts[1]) &&
			len(parts[2]) >= 64 && hex(parts[2][:64]) && plainName(parts[2])
	}
	top, rest, ok := strings.Cut(rel, "/")
	return ok && lfsRooms[top] && refNames(rest) && rest[strings.LastIndexByte(rest, '/')+1:] != "HEAD"
}

var lfsRooms = map[string]bool{"tmp": true, "cache": true, "incomplete": true, "logs": true}

func lfsDir(rel string) bool {
	parts := strings.Split(rel, "/")
	if parts[0] == "objects" {
		return len(parts) <= 3 && (len(parts) == 1 || len(strings.Join(parts[1:], "")) == 2*(len(parts)-1) && hex(strings.Join(parts[1:], "")))
	}
	return lfsRooms[parts[0]] && refNames(rel)
}

// refNames judges names as git does those of references: each is one that git makes
// a file or a directory of.
func refNames(rel string) bool {
	if strings.Contains(rel, "@{") || strings.Contains(rel, "..") || len(rel) > 1024 {
		return false
	}
	for name := range strings.SplitSeq(rel, "/") {
		if name == "" || name[0] == '.' || name[0] == '-' || name[len(name)-1] == '.' || strings.HasSuffix(name, ".lock") {
			return false
		}
	}
	return !strings.ContainsFunc(rel, func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune(`~^:?*[\`, r) })
}

// plainName holds for a name of letters, digits and a few signs that is no hidden one.
func plainName(name string) bool {
	return name != "" && name[0] != '.' && !strings.ContainsFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.+", r))
	})
}

func hex(s string) bool { return s != "" && strings.Trim(s, "0123456789abcdef") == "" }

func hasAnyPrefix(s string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}
