package hostexec

import (
	"slices"
	"strings"
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
	before, err := parseConfig(old)
	if err != nil {
		return false
	}
	now, err := parseConfig(new)
	if err != nil {
		return false
	}
	j := &configJudge{worktree: worktree, fresh: old == nil, before: byKey(before), now: byKey(now)}
	return slices.EqualFunc(j.rest(before), j.rest(now), same) && j.addresses(before, now)
}

func same(a, b entry) bool { return a.key == b.key && a.value == b.value && a.bare == b.bare }

type configJudge struct {
	worktree    func(value string) bool
	fresh       bool // the repository is new: there is nothing of anybody's to lead astray
	before, now map[string][]string
}

func byKey(entries []entry) map[string][]string {
	out := make(map[string][]string, len(entries))
	for _, e := range entries {
		out[e.key] = append(out[e.key], e.value)
	}
	return out
}

// rest leaves out the settings that are known and plain.
func (j *configJudge) rest(entries []entry) []entry {
	var out []entry
	for _, e := range entries {
		if !j.plain(e) {
			out = append(out, e)
		}
	}
	return out
}

// flags are settings that are true or false and execute nothing either way.
var flags = map[string]bool{
	"core.filemode": true, "core.logallrefupdates": true, "core.ignorecase": true, "core.precomposeunicode": true,
	"core.symlinks": true, "core.sparsecheckout": true, "core.sparsecheckoutcone": true, "index.sparse": true,
}

// settled are those that a repository is made with.
var settled = map[string]bool{"core.bare": true, "extensions.preciousobjects": true}

// plain reports whether a setting is one of those that git writes in ordinary
// work, with a value that makes git run nothing.
func (j *configJudge) plain(e entry) bool {
	if flags[e.key] {
		return e.flag()
	}
	if settled[e.key] {
		return j.fresh && e.flag() // a repository that is there would not be usable as before
	}
	if e.bare || !printable(e.value) {
		return false
	}
	sub, has := e.sub()
	switch e.section() {
	case "branch":
		return has && j.plainBranch(sub, e)
	case "remote":
		return has && remoteName(sub) && j.plainRemote(sub, e)
	case "submodule":
		return has && j.plainSubmodule(sub, e)
	case "lfs":
		return e.key == "lfs.repositoryformatversion" && only(e.value, "0123456789") ||
			has && e.name() == "access" && plainURL(sub) && slices.Contains([]string{"basic", "none", "private", "negotiate", "ntlm"}, e.value)
	}
	switch e.key {
	case "core.repositoryformatversion":
		return e.value == "0" || e.value == "1"
	case "core.worktree":
		return j.worktree != nil && j.worktree(e.value)
	case "user.name", "user.email":
		return true
	case "extensions.objectformat":
		return j.fresh && (e.value == "sha1" || e.value == "sha256")
	case "extensions.refstorage":
		return j.fresh && e.value == "files"
	case "extensions.partialclone":
		return j.fresh && remoteName(e.value)
	}
	return false
}

// flag reports whether the value is one that git takes for true or false.
func (e entry) flag() bool {
	return e.bare || slices.Contains([]string{"true", "false", "yes", "no", "on", "off", "1", "0"}, strings.ToLower(e.value))
}

func (j *configJudge) plainBranch(name string, e entry) bool {
	if !printable(name) || strings.HasPrefix(name, "-") {
		return false
	}
	switch e.name() {
	case "remote", "pushremote":
		return e.value == "." || remoteName(e.value) && (j.fresh || len(j.before["remote."+e.value+".url"]) > 0)
	case "merge", "vscode-merge-base", "gh-merge-base", "github-pr-base-branch":
		return !strings.HasPrefix(e.value, "-")
	case "rebase":
		return e.flag() || e.value == "merges" || e.value == "interactive"
	case "description":
		return true
	}
	return false
}

func (j *configJudge) plainRemote(name string, e entry) bool {
	switch e.name() {
	case "url", "pushurl":
		return plainURL(e.value) && (!localPath(e.value) || j.fresh && j.now["extensions.partialclone"] == nil || slices.Contains(j.before[e.key], e.value))
	case "fetch":
		return plainRefspec(name, e.value) || slices.Contains(j.before[e.key], e.value) && plainRefspec("", e.value)
	case "tagopt":
		return e.value == "--no-tags" || e.value == "--tags"
	case "prune":
		return e.flag()
	case "promisor":
		return j.fresh && e.flag()
	case "partialclonefilter":
		return j.fresh && word(e.value, ":=")
	}
	return false
}

func (j *configJudge) plainSubmodule(name string, e entry) bool {
	switch {
	case !plainModule(name):
		return false
	case e.name() == "url":
		return plainURL(e.value)
	}
	return e.name() == "active" && e.flag()
}

// addresses sees to it that a place which was known before is still the same:
// whoever fetches or pushes as ever must not reach somebody else. What is new may
// be added, and what is not wanted any more may be removed.
func (j *configJudge) addresses(before, now []entry) bool {
	known := map[string]bool{}
	for _, e := range before {
		if sub, ok := e.sub(); ok {
			known[e.section()+"."+sub] = true
		}
		if new := j.now[e.key]; address(e) && len(new) > 0 && !slices.Equal(j.before[e.key], new) {
			return false
		}
	}
	for _, e := range now {
		// One more address for what was there is no addition but a change.
		sub, _ := e.sub()
		if address(e) && e.section() != "submodule" && e.name() != "remote" && e.name() != "merge" && known[e.section()+"."+sub] && j.before[e.key] == nil {
			return false
		}
	}
	return true
}

// address reports whether a setting says where git fetches from or pushes to, or what
// it merges from there.
func address(e entry) bool {
	switch e.section() {
	case "remote", "submodule":
		return e.name() == "url" || e.name() == "pushurl"
	case "branch":
		return e.name() == "remote" || e.name() == "pushremote" || e.name() == "merge"
	}
	return false
}

// CoreWorktree returns core.worktree of a configuration that has it once.
func CoreWorktree(config []byte) (string, bool) {
	entries, err := parseConfig(config)
	if err != nil {
		return "", false
	}
	value, n := "", 0
	for _, e := range entries {
		if e.key == "core.worktree" {
			value, n = e.value, n+1
		}
	}
	return value, n == 1 && value != ""
}
