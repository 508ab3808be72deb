package gitproxy

import (
	"fmt"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/credentials/serviceapi"
	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/git/object"
)

const (
	headsPrefix = "refs/heads/"
	tagsPrefix  = "refs/tags/"
)

// judgeName holds a command to the rules that need no history: under the name that it
// has, and before that under the one of the ref to which the server has it lead.
func (f *Forge) judgeName(c command, s state) string {
	to, err := s.leads(c.ref)
	if err != nil {
		return err.Error()
	}
	if to != c.ref {
		there, known := c, s
		there.ref = to
		if _, listed := s.refs[to]; !listed { // it was not asked for; the name was, and is where the client thinks
			known.refs = map[string]object.ID{to: c.old}
		}
		if why := f.judgeOne(there, known); why != "" {
			return why
		}
	}
	return f.judgeOne(c, s)
}

// judgeOne does so under one name.
func (f *Forge) judgeOne(c command, s state) string {
	branch, isBranch := strings.CutPrefix(c.ref, headsPrefix)
	isTag := strings.HasPrefix(c.ref, tagsPrefix)
	switch now := s.refs[c.ref]; {
	case !isBranch && !isTag:
		return "pushes to refs that are no branches are denied"
	case isTag && !f.allow[Tags]:
		return "pushes of tags are denied; " + allows(Tags)
	case isBranch && isDefault(c.ref, s) && !f.allow[PushDefault]:
		return "pushes to the default branch are denied; " + allows(PushDefault)
	case isBranch && f.protects(branch) != "":
		return fmt.Sprintf("pushes to protected branches are denied (%q)", f.protects(branch))
	case c.new.IsZero() && !f.allow[Delete]:
		return "deletions are denied; " + allows(Delete)
	case isTag && !c.old.IsZero() && !c.new.IsZero() && !f.allow[Force]:
		return "pushes that move a tag are denied; " + allows(Force)
	case now != c.old:
		return "it is elsewhere on the server by now, fetch first"
	}
	return ""
}

// isDefault reports whether ref is the default branch. Case does not count: a
// server may keep refs where it does not.
func isDefault(ref string, s state) bool {
	if s.head != "" {
		return strings.EqualFold(ref, s.head)
	}
	if id, ok := s.refs[ref]; ok && id == s.at { // it may be the one, and the server does not tell
		return true
	}
	return strings.EqualFold(ref, headsPrefix+"main") || strings.EqualFold(ref, headsPrefix+"master")
}

// protects returns the pattern that covers a branch, or "".
func (f *Forge) protects(branch string) string {
	i := slices.IndexFunc(f.Protected, func(pattern string) bool {
		return file.Wild(strings.ToLower(strings.TrimPrefix(pattern, headsPrefix)), strings.ToLower(branch), '/')
	})
	if i < 0 {
		return ""
	}
	return f.Protected[i]
}

// harmless are the options of a push that only say how the branch is to be shown
// to people. Others merge it, or set what the forge runs.
var harmless = []string{"ci.skip", "merge_request.create", "merge_request.target", "merge_request.title", "merge_request.description",
	"merge_request.draft", "merge_request.label", "merge_request.unlabel", "merge_request.assign", "merge_request.unassign",
	"merge_request.remove_source_branch", "topic", "title", "description"}

// creates is the option for which GitLab takes the description from a commit where there
// is none, and acts on the commands in that: it is to be given, and judged.
const creates, describes = "merge_request.create", "merge_request.description"

func (f *Forge) judgeOptions(options []string) string {
	create, described := false, false
	for _, o := range options {
		key, value, _ := strings.Cut(o, "=")
		if !slices.Contains(harmless, key) {
			return fmt.Sprintf("the push option %q is denied", key)
		}
		// GitLab takes lines of a description for commands, and \n for the end of one.
		if value = strings.ReplaceAll(value, `\n`, "\n"); serviceapi.Command(value) || strings.Contains(value, `\r`) {
			return fmt.Sprintf("the push option %q holds a command", key)
		}
		create = create || key == creates
		if key == describes {
			if described = strings.TrimSpace(value) != ""; !described {
				return fmt.Sprintf("the push option %q is empty", key)
			}
		}
	}
	if create && !described {
		return fmt.Sprintf("the push option %q is denied without %[2]q, since the forge would take commands out of a commit's message; add -o %[2]s=TEXT", creates, describes)
	}
	return ""
}
