package hostexec

import (
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/file/settings"
)

// HarmlessConfig compares two states of git's configuration and reports whether the
// new one may be applied without a person. Settings that might execute something
// have to be the same, in the same order; the others are known one by one, and their
// values are judged. worktree judges a new core.worktree; nil refuses any. old is nil
// for a repository that is new.
func HarmlessConfig(old, new []byte, worktree func(value string) bool) bool {
	if len(old) > maxLook || len(new) > maxLook || new == nil {
		return false
	}
	for _, c := range new {
		if c < ' ' && c != '\n' && c != '\t' || c == 0x7f {
			return false
		}
	}
	before, err := settings.ParseGit(old)
	if err != nil {
		return false
	}
	now, err := settings.ParseGit(new)
	if err != nil {
		return false
	}
	j := &configJudge{worktree: worktree, fresh: old == nil, before: byKey(before), now: byKey(now)}
	return slices.EqualFunc(j.rest(before), j.rest(now), settings.GitEntry.Same) && j.addresses(before, now)
}

type configJudge struct {
	worktree    func(value string) bool
	fresh       bool // the repository is new: there is nothing of anybody's to lead astray
	before, now map[string][]string
}

func byKey(entries []settings.GitEntry) map[string][]string {
	out := make(map[string][]string, len(entries))
	for _, e := range entries {
		out[e.Key] = append(out[e.Key], e.Value)
	}
	return out
}

// rest leaves out the settings that are known and plain.
func (j *configJudge) rest(entries []settings.GitEntry) []settings.GitEntry {
	var out []settings.GitEntry
	for _, e := range entries {
		if !j.plain(e) {
			out = append(out, e)
		}
	}
	return out
}

// settled are those that a repository is made with.
var settled = map[string]bool{"core.bare": true, "extensions.preciousobjects": true}

// plain reports whether a setting is one of those that git writes in ordinary
// work, with a value that makes git run nothing.
func (j *configJudge) plain(e settings.GitEntry) bool {
	if harmlessInRepo(e) {
		return true
	}
	if settled[e.Key] {
		return j.fresh && flag(e) // a repository that is there would not be usable as before
	}
	if e.Bare || !printable(e.Value) {
		return false
	}
	sub, has := e.Sub()
	switch e.Section() {
	case "branch":
		return has && j.plainBranch(sub, e)
	case "remote":
		return has && remoteName(sub) && j.plainRemote(sub, e)
	case "submodule":
		return has && j.plainSubmodule(sub, e)
	case "lfs":
		return e.Key == "lfs.repositoryformatversion" && only(e.Value, "0123456789") ||
			has && e.Name() == "access" && plainURL(sub) && slices.Contains([]string{"basic", "none", "private", "negotiate", "ntlm"}, e.Value)
	}
	switch e.Key {
	case "core.repositoryformatversion":
		return e.Value == "0" || e.Value == "1"
	case "core.worktree":
		return j.worktree != nil && j.worktree(e.Value)
	case "extensions.objectformat":
		return j.fresh && (e.Value == "sha1" || e.Value == "sha256")
	case "extensions.refstorage":
		return j.fresh && e.Value == "files"
	case "extensions.partialclone":
		return j.fresh && remoteName(e.Value)
	}
	return false
}

func (j *configJudge) plainBranch(name string, e settings.GitEntry) bool {
	if !printable(name) || strings.HasPrefix(name, "-") {
		return false
	}
	switch e.Name() {
	case "remote", "pushremote":
		return e.Value == "." || remoteName(e.Value) && (j.fresh || len(j.before["remote."+e.Value+".url"]) > 0)
	case "merge", "vscode-merge-base", "gh-merge-base", "github-pr-base-branch":
		return !strings.HasPrefix(e.Value, "-")
	case "rebase":
		return flag(e) || e.Value == "merges" || e.Value == "interactive"
	case "description":
		return true
	}
	return false
}

func (j *configJudge) plainRemote(name string, e settings.GitEntry) bool {
	switch e.Name() {
	case "url", "pushurl":
		return plainURL(e.Value) && (!localPath(e.Value) || j.fresh && j.now["extensions.partialclone"] == nil || slices.Contains(j.before[e.Key], e.Value))
	case "fetch":
		return plainRefspec(name, e.Value) || slices.Contains(j.before[e.Key], e.Value) && plainRefspec("", e.Value)
	case "tagopt":
		return e.Value == "--no-tags" || e.Value == "--tags"
	case "prune":
		return flag(e)
	case "promisor":
		return j.fresh && flag(e)
	case "partialclonefilter":
		return j.fresh && word(e.Value, ":=")
	}
	return false
}

func (j *configJudge) plainSubmodule(name string, e settings.GitEntry) bool {
	switch {
	case !plainModule(name):
		return false
	case e.Name() == "url":
		return plainURL(e.Value)
	}
	return e.Name() == "active" && flag(e)
}

// addresses sees to it that a place which was known before is still the same:
// whoever fetches or pushes as ever must not reach somebody else. What is new may
// be added, and what is not wanted any more may be removed.
func (j *configJudge) addresses(before, now []settings.GitEntry) bool {
	known := map[string]bool{}
	for _, e := range before {
		if sub, ok := e.Sub(); ok {
			known[e.Section()+"."+sub] = true
		}
		if new := j.now[e.Key]; address(e) && len(new) > 0 && !slices.Equal(j.before[e.Key], new) {
			return false
		}
	}
	for _, e := range now {
		// One more address for what was there is no addition but a change.
		sub, _ := e.Sub()
		if address(e) && e.Section() != "submodule" && e.Name() != "remote" && e.Name() != "merge" && known[e.Section()+"."+sub] && j.before[e.Key] == nil {
			return false
		}
	}
	return true
}

// address reports whether a setting says where git fetches from or pushes to, or what
// it merges from there.
func address(e settings.GitEntry) bool {
	switch e.Section() {
	case "remote", "submodule":
		return e.Name() == "url" || e.Name() == "pushurl"
	case "branch":
		return e.Name() == "remote" || e.Name() == "pushremote" || e.Name() == "merge"
	}
	return false
}

// CoreWorktree returns core.worktree of a configuration that has it once.
func CoreWorktree(text []byte) (string, bool) {
	entries, err := settings.ParseGit(text)
	if err != nil {
		return "", false
	}
	value, n := "", 0
	for _, e := range entries {
		if e.Key == "core.worktree" {
			value, n = e.Value, n+1
		}
	}
	return value, n == 1 && value != ""
}
