package hostexec

import (
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/file/settings"
)

// The settings of git that run nothing, name no program and no file, and lead to no
// address, with the shape of their values. Two ask this list. What an agent wrote into
// .git/config is applied without a person only where a repository may say it. The user's
// own configuration comes inside with all of it. The difference is what a setting does to
// the person who did not write it: one that hides files from `git status` or pushes more
// than before is harmless in the user's own file alone.

// plainKey is what is known of a setting.
type plainKey struct {
	value func(settings.GitEntry) bool
	repo  bool // a repository may say it, whoever wrote that
}

var plainKeys = byPlainKey()

// plainOf finds what is known of a setting: its key, or its section with any name in the
// place of what stands between.
func plainOf(e settings.GitEntry) (plainKey, bool) {
	if k, ok := plainKeys[e.Key]; ok {
		return k, true
	}
	if sub, has := e.Sub(); has {
		k, ok := plainKeys[e.Section()+".*."+e.Name()]
		if !ok {
			k, ok = plainKeys[e.Section()+".*.*"]
		}
		return k, ok && printable(sub)
	}
	k, ok := plainKeys[e.Section()+".*"]
	return k, ok
}

// HarmlessOwn reports whether a setting of the user's own configuration may come inside.
func HarmlessOwn(e settings.GitEntry) bool {
	k, ok := plainOf(e)
	return ok && k.value(e)
}

// harmlessInRepo is the same for a setting of a repository.
func harmlessInRepo(e settings.GitEntry) bool {
	k, ok := plainOf(e)
	return ok && k.repo && k.value(e) && printable(e.Value)
}

func byPlainKey() map[string]plainKey {
	out := map[string]plainKey{}
	for _, row := range plainRows {
		for _, key := range strings.Fields(row.keys) {
			out[key] = plainKey{row.value, row.repo}
		}
	}
	return out
}

// plainRows is the list. The names are lower case, as git folds them.
var plainRows = []struct {
	value func(settings.GitEntry) bool
	repo  bool
	keys  string
}{
	{flag, true, `core.filemode core.logallrefupdates core.ignorecase core.precomposeunicode core.symlinks core.sparsecheckout
		core.sparsecheckoutcone index.sparse`},
	{text, true, "user.name user.email"},
	{wordOrFlag, false, `init.defaultbranch checkout.defaultremote clone.defaultremotename`},
	{flag, false, `user.useconfigonly core.quotepath core.preloadindex core.trustctime core.untrackedcache
		diff.mnemonicprefix diff.noprefix diff.indentheuristic diff.suppressblankempty diff.relative diff.autorefreshindex
		diff.*.binary merge.autostash merge.branchdesc merge.renormalize merge.defaulttoupstream
		push.autosetupremote push.useforceifincludes push.followtags
		rebase.autostash rebase.autosquash rebase.updaterefs rebase.stat rebase.forkpoint rebase.abbreviatecommands rebase.reschedulefailedexec
		fetch.prune fetch.prunetags fetch.all fetch.showforcedupdates fetch.writecommitgraph fetch.fsckobjects transfer.fsckobjects
		rerere.enabled rerere.autoupdate commit.verbose commit.status submodule.recurse
		log.abbrevcommit log.follow log.mailmap log.showroot
		status.short status.branch status.aheadbehind status.showstash status.relativepaths status.submodulesummary status.displaycommentprefix
		stash.showpatch stash.showstat stash.showincludeuntracked branch.autosetupmerge
		blame.blankboundary blame.showemail blame.showroot blame.markignoredlines blame.markunblamablelines
		grep.linenumber grep.column grep.fullname grep.extendedregexp grep.fallbacktonoindex
		checkout.guess worktree.guessremote interactive.singlekey add.ignoreerrors am.threeway am.keepcr advice.*`},
	{number, false, `core.abbrev core.bigfilethreshold core.compression core.loosecompression diff.context diff.interhunkcontext diff.renamelimit
		diff.statgraphwidth diff.statnamewidth merge.renamelimit merge.verbosity fetch.parallel submodule.fetchjobs index.version grep.threads checkout.workers`},
	{wordOrFlag, false, `core.autocrlf core.eol core.safecrlf core.whitespace core.commentchar core.commentstring
		diff.algorithm diff.*.algorithm diff.renames diff.colormoved diff.colormovedws diff.wserrorhighlight diff.submodule diff.ignoresubmodules diff.dirstat
		diff.srcprefix diff.dstprefix merge.conflictstyle merge.ff merge.log merge.renames merge.directoryrenames merge.stat merge.suppressdest
		pull.rebase pull.ff push.default push.recursesubmodules rebase.missingcommitscheck rebase.rebasemerges rebase.backend
		fetch.output fetch.recursesubmodules commit.cleanup branch.autosetuprebase branch.sort tag.sort versionsort.suffix
		log.decorate log.diffmerges log.excludedecoration status.renames status.showuntrackedfiles status.renamelimit
		blame.coloring grep.patterntype apply.whitespace apply.ignorewhitespace help.autocorrect column.*`},
	{colour, false, "color.* color.*.* log.graphcolors"},
	{text, false, "log.date blame.date format.pretty pretty.* rebase.instructionformat diff.wordregex diff.*.wordregex diff.*.xfuncname diff.*.funcname"},
	{gitCommand, false, "alias.*"},
}

const maxPlainValue = 1024

// flag reports whether the value is one that git takes for true or false.
func flag(e settings.GitEntry) bool { return e.IsTrue() || e.IsFalse() }

// text is one line. A name need not be UTF-8: the user wrote it.
func text(e settings.GitEntry) bool {
	return !e.Bare && e.Value != "" && len(e.Value) <= maxPlainValue && !strings.ContainsFunc(e.Value, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// number is a count, with git's signs for thousands, or a word of the kind of "auto".
func number(e settings.GitEntry) bool {
	return flag(e) || !e.Bare && word(strings.TrimPrefix(e.Value, "-"), "") && len(e.Value) < 32
}

// wordOrFlag is a word, or several with commas.
func wordOrFlag(e settings.GitEntry) bool {
	if flag(e) {
		return true
	}
	const more = "._/-,:=+"
	first := strings.TrimPrefix(e.Value, "-")
	switch e.Key {
	case "core.commentchar", "core.commentstring":
		return len(e.Value) == 1 && printable(e.Value)
	case "init.defaultbranch", "checkout.defaultremote", "clone.defaultremotename":
		first = e.Value // it may become a word of a command
	}
	return !e.Bare && len(e.Value) <= 256 && word(first, more)
}

// colour is what git paints with: names, numbers and attributes.
func colour(e settings.GitEntry) bool {
	return flag(e) || !e.Bare && len(e.Value) <= 256 && only(strings.ToLower(e.Value), "abcdefghijklmnopqrstuvwxyz0123456789 #-,")
}

// aliased are the commands of git that an alias may stand for: those that run no program
// of somebody's choice, but by the options below.
var aliased = strings.Fields(`add am apply archive blame branch cat-file checkout cherry cherry-pick clean commit count-objects describe diff diff-tree
	fetch for-each-ref format-patch fsck gc grep init log ls-files ls-remote ls-tree merge merge-base mv name-rev notes pull push range-diff rebase reflog remote
	reset restore rev-list rev-parse revert rm shortlog show show-branch show-ref sparse-checkout stash status switch symbolic-ref tag update-index whatchanged worktree`)

// gitCommand reports whether an alias is a command of git, with words that name no program
// and no address: one may hold a login. It is judged without its quotes: whatever they join
// counts.
func gitCommand(e settings.GitEntry) bool {
	if !text(e) {
		return false
	}
	words := strings.Fields(strings.NewReplacer(`'`, "", `"`, "", `\`, "").Replace(e.Value))
	if len(words) == 0 || !slices.Contains(aliased, words[0]) || strings.Contains(e.Value, "!") {
		return false
	}
	return !slices.ContainsFunc(words[1:], func(w string) bool { return namesProgram(words[0], w) || isAddress(w) })
}

// isAddress holds for a URL, and for the short form of ssh: a login, a host and a path.
// "@{upstream}:file" is none.
func isAddress(w string) bool {
	_, after, login := strings.Cut(w, "@")
	return strings.Contains(w, "://") || login && (isAddress(after) || !strings.HasPrefix(after, "{") && strings.Contains(after, ":"))
}

// programOptions begin the options that name a program. git takes an option by any
// beginning that is clear, so these are the shortest.
var programOptions = []string{"--exe", "--ext", "--upl", "--rece", "--op", "--too", "--conf"}

func namesProgram(command, w string) bool {
	if strings.Contains(w, "::") { // an address that git hands to a program of that name
		return true
	}
	if strings.HasPrefix(w, "--") {
		return slices.ContainsFunc(programOptions, func(p string) bool { return strings.HasPrefix(w, p) })
	}
	short := map[string]string{"rebase": "x", "grep": "O"}[command]
	return short != "" && strings.HasPrefix(w, "-") && strings.Contains(w, short)
}
