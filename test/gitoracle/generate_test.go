package gitoracle

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// generator makes hostile scripts out of what git looks at: where a git directory
// can be hidden, how it comes there, and how git is led to it.
type generator struct {
	*rand.Rand
	base  base
	count int  // names that were made up
	sly   bool // only where git keeps data, and by ways that are another as text
}

func (g *generator) pick(from ...string) string { return from[g.IntN(len(from))] }

func (g *generator) one(from ...int) int { return from[g.IntN(len(from))] }

func (g *generator) chance(percent int) bool { return g.IntN(100) < percent }

// fresh makes up a name, now and then one that git knows.
func (g *generator) fresh() string {
	if g.chance(20) {
		return g.pick("objects", "refs", "logs", "hooks", "info", "modules", "worktrees", "HEAD", "heads", "cc", "pack", ".x", "x.git", "X")
	}
	g.count++
	return fmt.Sprintf("n%d", g.count)
}

// random is the script of a seed, and how its changes come to the host.
func random(seed uint64) (play, string) {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 12)), base: plain}
	if g.chance(60) {
		g.base = rich
	}
	g.sly = g.chance(40)
	var threads [][]string
	if g.chance(35) {
		threads = append(threads, g.mutant())
	}
	for len(threads) == 0 || g.chance(50) && len(threads) < 3 {
		threads = append(threads, g.thread())
	}
	lines := g.weave(threads)
	p := play{name: fmt.Sprintf("seed %d", seed), base: g.base, sessions: [][]string{lines}}
	if g.base == rich && g.chance(20) {
		p.from = g.pick("wt", "sub", "hx", "vendor/n")
	}
	if cut := g.IntN(len(lines)); g.chance(30) && cut > 0 {
		p.sessions = [][]string{lines[:cut], lines[cut:]}
	}
	return p, g.pick("live", "live", "live", "live+apply", "live+apply", "review+apply", "review+apply", "live+undo")
}

func (g *generator) thread() []string {
	switch n := g.IntN(100); {
	case n < 46:
		return g.way()
	case n < 60:
		return g.raw()
	case n < 72:
		return g.settings()
	case n < 78:
		return g.hooks()
	case n < 88:
		return g.tree()
	case n < 96:
		return g.links()
	default:
		return g.honest()
	}
}

// mutant is one of the known scripts, or what could have been one.
func (g *generator) mutant() (out []string) {
	p := known[g.IntN(len(known))]
	if p.base == rich {
		g.base = rich
	}
	for _, lines := range p.sessions {
		for _, line := range lines {
			if strings.Contains(line, "for ") || strings.Contains(line, "'") || strings.Contains(line, "cd ") {
				out = append(out, line)
				continue
			}
			out = append(out, strings.Split(line, "; ")...)
		}
	}
	for range g.IntN(4) {
		g.mutate(out)
	}
	return out
}

// mutate does one thing to a script, mostly the same in all lines.
func (g *generator) mutate(lines []string) {
	swap := func(old, new string) {
		for i := range lines {
			lines[i] = strings.ReplaceAll(lines[i], old, new)
		}
	}
	i := g.IntN(len(lines))
	switch g.IntN(9) {
	case 0:
		swap(g.pick(".git/objects/", ".git/logs/", ".git/refs/"), g.pick(".git/objects/", ".git/logs/", ".git/refs/heads/", ".git/modules/m/logs/", ".git/lfs/", ".git/rr-cache/"))
	case 1:
		swap(".git/modules/m/", g.pick(".git/modules/x/logs/y/", ".git/modules/e/", ".git/worktrees/wt/", "vendor/n/.git/"))
	case 2:
		swap(".git/modules/e", g.pick(".git/modules/x/objects/y", ".git/modules/refs", ".git/modules/a/b", ".git/worktrees/e"))
	case 3:
		swap("src/x", g.pick("x", "docs", "src/.x", "ignored/x", "vendor/x", "sub", ".git/x", ".git/objects/x"))
	case 4:
		swap("ln -s ", g.pick("ln -s ", "ln -sfn ", "cp -a "))
	case 5:
		swap("mv ", g.pick("cp -a ", "xchg "))
	case 6:
		j := g.IntN(len(lines))
		lines[i], lines[j] = lines[j], lines[i]
	case 7:
		lines[i] += "; rm -rf " + g.pick(g.gitDirs()...) + "/" + g.pick("refs", "HEAD", "objects/info", "logs", "config", "commondir", "hooks")
	default:
		lines[i] += "; git " + g.pick("gc -q", "pack-refs --all", "commit -q --allow-empty -m x", "checkout -q -f topic", "stash -q", "worktree prune", "status -s", "reset -q")
	}
}

// weave lays threads into each other, and sometimes forgets all order.
func (g *generator) weave(threads [][]string) (out []string) {
	for len(threads) > 0 {
		i := g.IntN(len(threads))
		out = append(out, threads[i][0])
		if threads[i] = threads[i][1:]; len(threads[i]) == 0 {
			threads = append(threads[:i], threads[i+1:]...)
		}
	}
	if g.chance(15) {
		g.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	}
	return out
}

// gitDirs are the git directories that the base has.
func (g *generator) gitDirs() []string {
	if g.base == plain {
		return []string{".git"}
	}
	return []string{".git", ".git/modules/m", ".git/modules/x/logs/y", ".git/worktrees/wt", "vendor/n/.git"}
}

// hiding is a place for a directory that git shall take for one of its own.
func (g *generator) hiding() string {
	in := g.pick(g.gitDirs()...)
	if g.sly {
		return in + g.pick("/objects/", "/objects/", "/logs/", "/logs/refs/", "/refs/", "/refs/heads/", "/modules/"+g.fresh()+"/logs/", "/modules/m/objects/", "/worktrees/"+g.fresh()+"/refs/") + g.fresh()
	}
	return strings.NewReplacer("GIT", in, "NAME", g.fresh()).Replace(g.pick(
		"GIT/objects/NAME", "GIT/objects/cc", "GIT/objects/ab/NAME", "GIT/objects/pack/NAME", "GIT/objects/info/NAME",
		"GIT/logs/NAME", "GIT/logs/refs/NAME", "GIT/logs/refs/heads/NAME", "GIT/refs/NAME", "GIT/refs/heads/NAME", "GIT/refs/heads/a/NAME",
		"GIT/modules/NAME", "GIT/modules/a/NAME", "GIT/modules/NAME/logs/y", "GIT/modules/NAME/objects/y", "GIT/modules/NAME/refs/y",
		"GIT/modules/m/modules/NAME", "GIT/worktrees/NAME", "GIT/worktrees/NAME/logs/x", "GIT/lfs/NAME", "GIT/lfs/objects/NAME", "GIT/rr-cache/NAME",
		"GIT/rebase-merge", "GIT/rebase-apply", "GIT/sequencer", "GIT/info/NAME", "GIT/hooks/NAME", "GIT/branches/NAME", "GIT/NAME",
		"GIT/svn/NAME", "GIT/annex/NAME", "GIT/NAME.lock", "GIT/objects/incoming-NAME", "GIT/filter-repo/NAME",
		"NAME", "src/NAME", "sub/NAME", "docs", "docs/NAME", "NAME.git", ".GIT", "src/.Git", ".git /NAME", "ignored/NAME", "vendor/NAME", "a/b/c/d/NAME",
	))
}

// build lays a git directory, or the parts that one can have elsewhere, at e.
func (g *generator) build(e string) []string {
	other := g.pick("src/"+g.fresh(), g.fresh(), ".git/objects/"+g.fresh(), ".git/logs/"+g.fresh(), "ignored/"+g.fresh())
	kind := g.IntN(14)
	if g.sly {
		other = ".git/" + g.pick("objects/", "logs/", "refs/") + g.fresh()
		kind = g.one(0, 3, 6, 7, 13, 13, 13)
	}
	switch kind {
	case 0, 1, 2:
		return []string{"evil " + e}
	case 3: // piece by piece
		return []string{"mkdir -p " + e + "/objects", "conf " + e + "/config", "mkdir -p " + e + "/refs", "head " + e}
	case 4:
		return []string{"head " + e, "conf " + e + "/config", "mkdir -p " + e + "/refs " + e + "/objects"}
	case 5:
		return []string{"evil " + other, "mkdir -p $(dirname " + e + ")", "mv -T " + other + " " + e}
	case 6: // it does not look like one on its way
		return []string{"common " + other, "mkdir -p $(dirname " + e + ")", "mv -T " + other + " " + e, "head " + e}
	case 7:
		return []string{"evil " + other, "mv " + other + "/refs " + other + "/fer", "mkdir -p $(dirname " + e + ")", "mv -T " + other + " " + e, "mv " + e + "/fer " + e + "/refs"}
	case 8: // settings by another name
		return []string{"evil " + e, "rm " + e + "/config", "conf src/cfg", "ln -s $WS/src/cfg " + e + "/config"}
	case 9:
		return []string{"common " + e, "head " + e, "rm -f " + e + "/config", "conf " + other, "ln " + other + " " + e + "/config"}
	case 10:
		return []string{"evil " + other, "mkdir -p $(dirname " + e + ")", "ln -s $WS/" + other + " " + e}
	case 11:
		return []string{"evil " + other, "mkdir -p " + e, "xchg " + other + " " + e}
	case 12: // a parent comes later
		up := g.fresh()
		return []string{"evil " + up + "/" + e, "mkdir -p $(dirname " + e + ")", "cp -a " + up + "/" + e + " " + e + " || mv " + up + "/" + e + " " + e, "rm -rf " + up}
	default: // split: all but HEAD elsewhere
		return []string{"common " + other, "head " + e, "echo $WS/" + other + " >" + e + "/commondir"}
	}
}

// way is a hidden git directory and what leads git to it.
func (g *generator) way() []string {
	e := g.hiding()
	lines := g.build(e)
	if g.chance(15) { // a prompt only has to come there
		return append(lines, "bare "+e)
	}
	return append(lines, g.lead(e)...)
}

// spell writes a path to e as seen from sub or another directory of that depth.
func (g *generator) spell(e string) (before []string, path string) {
	kind := g.IntN(8)
	if g.sly {
		kind = g.one(0, 2, 3, 3, 3, 4, 7)
	}
	switch kind {
	case 0, 1:
		return nil, "../" + e
	case 2:
		return nil, "$WS/" + e
	case 3: // cleaned as a text it is another
		l := g.pick(".git/logs/", ".git/modules/m/logs/", ".git/modules/m/logs/", ".git/modules/m/refs/", ".git/objects/", "src/", ".git/refs/heads/") + g.fresh()
		return []string{"mkdir -p $(dirname " + l + ") " + e + "/p/q", "ln -s $WS/" + e + "/p/q " + l}, "../" + l + "/../.."
	case 4:
		l := g.pick(".git/logs/", ".git/modules/m/logs/", "src/", ".git/modules/") + g.fresh()
		return []string{"mkdir -p $(dirname " + l + ")", "ln -s $WS/" + e + " " + l}, "../" + l
	case 5:
		return nil, "../src/../" + e
	case 6:
		return nil, ".//../" + e + "/."
	default:
		return []string{"mkdir -p .git/modules/m/logs", "ln -sfn $WS/" + e + " .git/modules/m/logs/l"}, "../.git/modules/m/logs/l"
	}
}

// lead makes git come to e.
func (g *generator) lead(e string) []string {
	before, path := g.spell(e)
	at := g.pick("sub", "sub", "sub", "src", "docs", "new", "hx", "wt", "vendor/n", "ignored")
	at1 := strings.ReplaceAll(at, "vendor/n", "vendor")
	var lead []string
	kind := g.IntN(13)
	if g.sly {
		kind = g.one(0, 0, 0, 4, 6, 6, 8)
	}
	switch kind {
	case 0, 1, 2, 3:
		lead = []string{"point " + at1 + " " + path}
	case 4:
		lead = []string{"mkdir -p " + at1, "rm -rf " + at1 + "/.git", "ln -s " + path + " " + at1 + "/.git"}
	case 5:
		lead = []string{"mkdir -p " + at, "rm -rf " + at + "/.git", "mv -T " + e + " " + at + "/.git"}
	case 6:
		d := g.pick(g.gitDirs()...)
		lead = []string{"echo $WS/" + e + " >" + d + "/commondir"}
		if g.chance(50) {
			lead = append([]string{"rm -rf " + d + "/" + g.pick("refs", "objects", "HEAD")}, lead...)
		}
	case 7:
		lead = []string{"echo $WS/" + e + " >docs/commondir"}
	case 8:
		lead = []string{"mkdir -p .git/worktrees/w", "head .git/worktrees/w", "echo " + g.pick("../..", "$WS/"+e) + " >.git/worktrees/w/commondir", "echo $WS/new/.git >.git/worktrees/w/gitdir", "point new $WS/.git/worktrees/w"}
	case 9:
		d := g.pick(g.gitDirs()...)
		lead = []string{fmt.Sprintf("printf '[include]\\n\\tpath = %s\\n' %s/config >>%s/config", "%s", "$WS/"+e, d)}
	case 10:
		lead = []string{"git config -f .git/modules/m/config core.worktree ../../../" + g.pick("lnk", "sub", e), "ln -s ../outside lnk"}
	case 11:
		m := g.pick("m2", "x/logs/z", "objects", "a/../b", "refs", "hooks/x")
		lead = []string{"mkdir -p .git/modules/" + m, "cp -a " + e + "/. .git/modules/" + m + "/", "point " + at1 + " ../.git/modules/" + m}
	default: // a prompt only has to come there
		lead = []string{"mkdir -p " + at, "cp -a " + e + " " + at + "/" + g.fresh()}
	}
	if g.chance(60) {
		lead = append(lead, "git rm -rq --cached "+at, "gitlink "+at)
	}
	return append(before, lead...)
}

// raw is a run of plain calls on names that git knows.
func (g *generator) raw() (out []string) {
	var pool []string
	for range 4 {
		pool = append(pool, g.hiding())
	}
	pool = append(pool, g.gitDirs()...)
	name := func() string {
		return g.pick(pool...) + g.pick("", "/HEAD", "/config", "/commondir", "/gitdir", "/refs", "/objects", "/logs", "/hooks", "/index", "/info", "/info/attributes",
			"/config.worktree", "/packed-refs", "/objects/info/alternates", "/.git", "/hooks/pre-commit", "/modules", "/x")
	}
	for range 4 + g.IntN(8) {
		a, b := name(), name()
		out = append(out, g.pick(
			"mkdir -p "+a, "mkdir -p "+a, "rm -rf "+a, "mv -T "+a+" "+b, "mv "+a+" "+b, "cp -a "+a+" "+b, "ln -s $WS/"+a+" "+b, "ln "+a+" "+b, "xchg "+a+" "+b,
			"conf "+a, "conf "+a, "hook "+a, "head "+a, "evil "+a, "common "+a, "echo $WS/"+a+" >"+b, "echo 'gitdir: '$WS/"+a+" >"+b, "point sub $WS/"+a, "chmod +x "+a, "mkfifo "+a,
			"gitlink sub", "rm -f "+a+"; conf "+a))
	}
	return out
}

// settings changes a file of git's settings in one of many ways.
func (g *generator) settings() []string {
	d := g.pick(g.gitDirs()...)
	file := d + g.pick("/config", "/config", "/config.worktree", "/modules/m/config", "/info/attributes")
	set := g.pick(
		`'[core]\n\tfsmonitor = "'"$PAY"'"\n'`, `'[core]\n\thooksPath = ../src\n'`, `'[core]\n\tpager = "'"$PAY"'"\n'`, `'[core]\n\teditor = "'"$PAY"'"\n'`,
		`'[core]\n\tworktree = ../../outside\n'`, `'[core]\n\tsshCommand = "'"$PAY"'"\n[remote "o"]\n\turl = ssh://forge.test/x\n'`, `'[diff]\n\texternal = "'"$PAY"'"\n'`,
		`'[include]\n\tpath = ../src/cfg\n'`, `'[includeIf "gitdir:**"]\n\tpath = ../src/cfg\n'`, `'[commit]\n\tgpgsign = true\n[gpg]\n\tprogram = '$WS/pay'\n'`,
		`'[remote "origin"]\n\tuploadpack = "'"$PAY"'"\n'`, `'[remote "e"]\n\turl = "ext::sh -c '"$CANARY"'"\n'`, `'[remote "e"]\n\tvcs = ext\n\turl = x\n'`,
		`'[submodule "m"]\n\tupdate = "!touch '"$CANARY"'"\n'`, `'[credential]\n\thelper = "!'"$PAY"'"\n'`, `'[gc]\n\trecentObjectsHook = '$WS/pay'\n'`,
		`'[core]\n\talternateRefsCommand = "'"$PAY"'"\n'`, `'[filter "f"]\n\tclean = "'"$PAY"'"\n'`, `'* filter=f diff=f merge=f\n'`, `'[diff "f"]\n\ttextconv = "'"$PAY"'"\n'`,
		`'[extensions]\n\tworktreeConfig = true\n'`, `'[merge "f"]\n\tdriver = "'"$PAY"'"\n'`, `'[branch "main"]\n\tremote = "ext::'"$PAY"'"\n'`, `'[alias]\n\tstatus = "!'"$PAY"'"\n'`,
		`'[interactive]\n\tdiffFilter = "'"$PAY"'"\n'`, `'[sequence]\n\teditor = "'"$PAY"'"\n'`, `'[core]\n\tgitProxy = "'"$PAY"'"\n'`)
	other := g.pick("src/cfg", g.fresh(), ".git/logs/"+g.fresh(), ".git/objects/"+g.fresh())
	out := []string{"conf src/cfg", "echo '* filter=f diff=f' >.gitattributes", "hook src/pre-commit"}[g.IntN(3):]
	switch g.IntN(7) {
	case 0, 1:
		return append(out, "printf "+set+" >>"+file)
	case 2:
		return append(out, "cp "+file+" "+other, "printf "+set+" >>"+other, "mv -T "+other+" "+file)
	case 3:
		return append(out, "cp "+file+" "+other, "printf "+set+" >>"+other, "ln -sf $WS/"+other+" "+file)
	case 4:
		return append(out, "cp "+file+" "+other, "printf "+set+" >>"+other, "xchg "+other+" "+file)
	case 5:
		return append(out, "rm -f "+file, "cp "+file+" "+other, "printf "+set+" >>"+other, "ln "+other+" "+file)
	default:
		return append(out, "git remote add r https://forge.test/x", "git branch -u origin/main", "printf "+set+" >>"+file, "git config branch.main.description x")
	}
}

func (g *generator) hooks() []string {
	d := g.pick(g.gitDirs()...)
	name := g.pick("pre-commit", "post-checkout", "post-merge", "reference-transaction", "post-index-change", "prepare-commit-msg", "pre-rebase", "post-rewrite",
		"pre-push", "pre-auto-gc", "commit-msg", "fsmonitor-watchman")
	other := g.pick("src/"+name, ".git/objects/"+name, "ignored/"+name, ".git/logs/x/"+name)
	dir := strings.TrimSuffix(other, "/"+name)
	switch g.IntN(5) {
	case 0:
		return []string{"hook " + d + "/hooks/" + name}
	case 1:
		return []string{"hook " + other, "mv -T " + other + " " + d + "/hooks/" + name}
	case 2:
		return []string{"hook " + other, "mv " + d + "/hooks " + d + "/skooh", "ln -s $WS/" + dir + " " + d + "/hooks"}
	case 3:
		return []string{"hook " + other, "xchg " + dir + " " + d + "/hooks"}
	default:
		return []string{"mkdir -p " + d + "/hooks", "for h in " + d + "/hooks/*.sample; do hook $h; mv $h ${h%.sample}; done", "hook " + d + "/hooks/" + name + ".sample", "mv " + d + "/hooks/" + name + ".sample " + d + "/hooks/" + name}
	}
}

// tree changes what is in the work tree and speaks to git.
func (g *generator) tree() []string {
	n := g.pick("m", "m", "x/logs/z", "a/../b", "objects", "hooks", `"a\033b"`)
	switch g.IntN(8) {
	case 0:
		return []string{"git config -f .gitmodules submodule." + n + ".path sub", "git config -f .gitmodules submodule." + n + ".url $WS/" + g.pick("evil", "src"), "evil evil", "git config -f .gitmodules submodule." + n + ".update '!touch '$CANARY", "gitlink sub", "git add .gitmodules"}
	case 1:
		return []string{"printf '* filter=f diff=f merge=f\\n' >.gitattributes", "mkdir -p .git/info", "printf '* filter=f\\n' >.git/info/attributes"}
	case 2:
		return []string{"echo " + g.pick("$OUTSIDE", "$WS/evil/objects", "../../src") + " >.git/objects/info/alternates", "evil evil"}
	case 3:
		d := g.pick("src", "new", ".")
		return []string{"mkdir -p " + d, "echo \"$PAY\" >" + d + "/.envrc", "echo \"$PAY\" >" + d + "/" + g.pick(".rvmrc", "mise.toml", ".mise.toml")}
	case 4:
		return []string{"ln -s ../outside lnk", "git add lnk", "git commit -qm lnk", "git rm -q --cached lnk", "mkdir lnk2", "git update-index --add --cacheinfo 100644,$(git hash-object -w README),lnk/README", "git commit -qm through"}
	case 5:
		return []string{"echo $(git rev-parse main) refs/heads/" + g.pick("x", "../../evil", "../config", "a/../../x") + " >>.git/packed-refs", "echo 'ref: ../config' >.git/HEAD", "echo 'ref: refs/heads/main' >.git/HEAD"}
	case 6:
		return []string{"GIT_SEQUENCE_EDITOR='sed -i 1s/pick/edit/' git rebase -q -i HEAD~1", "echo \"" + g.pick("exec", "x", "  exec", "pick 0; exec") + " touch $CANARY\" >>.git/rebase-merge/git-rebase-todo"}
	default:
		return []string{"git worktree add -q new " + g.pick("other", "-b side", "--detach"), "conf .git/worktrees/new/config.worktree", "git config extensions.worktreeConfig true"}
	}
}

// links leads git's own writing elsewhere.
func (g *generator) links() []string {
	d := g.pick(g.gitDirs()...)
	if g.chance(20) {
		d = g.pick(".git/modules/e", ".git/modules/x/logs/z", "vendor/e/.git", ".git/worktrees/e")
	}
	p := d + "/" + g.pick("logs/HEAD", "logs/refs/heads/main", "logs/refs/heads/host-side", "logs/refs", "logs", "logs/refs/heads", "objects/pack", "objects/info", "objects/aa", "objects",
		"refs/heads/side", "refs/heads", "refs/tags", "refs/notes", "refs", "index", "packed-refs", "COMMIT_EDITMSG", "MERGE_MSG", "FETCH_HEAD", "ORIG_HEAD", "HEAD", "MERGE_RR", "rr-cache",
		"rebase-merge", "rebase-merge/done", "rebase-apply", "sequencer", "info", "info/refs", "objects/info/packs", "objects/info/commit-graphs", "worktrees", "modules", "gc.log", "gc.pid", "AUTO_MERGE",
		"logs/refs/stash", "refs/stash", "shallow", "info/exclude", "NOTES_MERGE_WORKTREE", "BISECT_LOG", "description", "config", "logs/refs/notes/commits")
	to := g.pick("$OUTSIDE", "$OUTSIDE/README", "$OUTSIDE/new")
	out := []string{"mkdir -p $(dirname " + p + ")"}
	switch g.IntN(5) {
	case 0, 1:
		return append(out, "rm -rf "+p, "ln -s "+to+" "+p)
	case 2: // by a link in between
		return append(out, "ln -s "+to+" src/l", "rm -rf "+p, "ln -s $WS/src/l "+p)
	case 3:
		return append(out, "ln -s "+to+" src/l", "rm -rf "+p, "mv -T src/l "+p)
	default:
		l := ".git/logs/" + g.fresh()
		return append(out, "ln -s "+to+" "+l, "xchg "+l+" "+p)
	}
}

// honest is ordinary work, with which all the rest mixes.
func (g *generator) honest() []string {
	return [][]string{
		{"echo x >>src/a.txt", "git commit -qam work", "git branch -f b1"},
		{"git pack-refs --all", "git gc -q"},
		{"git worktree add -q -b feat wt2"},
		{"git -c protocol.file.allow=always submodule -q add $WS lib2", "git commit -qm sub"},
		{"git clone -q . vendor/c"},
		{"git init -q vendor/i", "git -C vendor/i commit -q --allow-empty -m i"},
		{"echo y >>src/a.txt", "git stash", "git checkout -q topic"},
		{"git rebase -q other", "git merge -q topic"},
	}[g.IntN(8)]
}
