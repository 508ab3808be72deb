package undo

import (
	"bytes"
	"cmp"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/workspace/change"
)

const (
	deletedLater = "it was deleted after the session"
	wentOn       = "somebody has gone on with it after the session"
	branchMoved  = "the branch that it names was changed after the session"
	objectGone   = "git does not have what it names any more"
)

// gitJudge is what a run knows of the git directories of its trees.
//
// Objects and packs are content under the name of its hash, and anybody may have come to
// need them: what a session added to a repository that was there before stays, and git
// itself drops it when nothing names it. What names objects goes back where it still says
// what the session left, and where everything that it named is still there. A repository,
// a submodule or a worktree that the session made goes as a whole or not at all.
type gitJudge struct {
	*plan
	*disk
	in     map[*original]bool // what is brought back
	quiet  map[uint32]bool    // originals that are fine as they are
	mine   []gitOurs          // what the session made in directories that were there before
	at     map[place]gitPlace // of these
	remain map[place]string   // places of the session that stay as they are, with all below
	free   map[place]bool     // places of which it is known that they are as the session left them
	units  map[place]bool     // git directories that the session made
	heads  map[place][]place  // what says which ref counts, by common directory
	stayed map[place]int      // how many objects stay, by git directory
}

// gitOurs is a file of git that the session made.
type gitOurs struct {
	at place
	gitPlace
}

func newGitJudge(p *plan, originals []*original) *gitJudge {
	g := &gitJudge{plan: p, disk: newDisk(p.root), in: map[*original]bool{}, quiet: map[uint32]bool{}, at: map[place]gitPlace{}, remain: map[place]string{},
		free: map[place]bool{}, units: map[place]bool{}, heads: map[place][]place{}, stayed: map[place]int{}}
	for _, t := range originals {
		g.in[t] = true
	}
	return g
}

// survey finds what of git the session made.
func (g *gitJudge) survey() {
	pointers := map[place]place{}
	for _, part := range g.ourParts() {
		g.walk(part, func(f found) bool {
			if f.err != nil {
				return true
			}
			_, name := split(f.at.rel)
			switch {
			case f.kind == change.Directory && g.isGit(f.at):
				g.units[f.at] = true
			case f.kind == change.File && name == ".git":
				if to, ok := g.pointsTo(f.at); ok {
					pointers[f.at] = to
				}
			case f.kind == change.File:
				g.collect(f.at)
			}
			return true
		})
		if part.at.rel != "" && g.place(part.at).kind == gitOther && g.touched(part.at) {
			g.remain[part.at] = wentOn
		}
	}
	for unit := range g.units {
		if g.touched(unit) || g.displaced(unit) {
			g.remain[g.rootOf(unit)] = wentOn
		}
		g.free[place{unit.tree, join(unit.rel, "index")}] = true
	}
	for at, to := range pointers {
		if why := g.remains(to); why != "" {
			g.remain[g.rootOf(at)] = why
		}
	}
}

// collect notes a file of the session in a git directory that was there before.
func (g *gitJudge) collect(at place) {
	p := g.place(at)
	if p.kind <= gitCache || g.units[p.dir] || g.in[g.first[at]] {
		return // or it stands where an original was, and is judged with that
	}
	g.mine = append(g.mine, gitOurs{at, p})
	g.at[at] = p
}

// rootOf is the directory of the session that a .git belongs to: its worktree, if the session
// made that too.
func (g *gitJudge) rootOf(at place) place {
	dir, name := split(at.rel)
	if up := (place{at.tree, dir}); name == ".git" && dir != "" && g.names.ours(up) {
		return up
	}
	return at
}

// pointsTo reads a .git that is a file.
func (g *gitJudge) pointsTo(at place) (place, bool) {
	b, err := g.text(at, maxRefText)
	to, ok := strings.CutPrefix(strings.TrimRight(string(b), "\n"), "gitdir: ")
	if err != nil || !ok {
		return place{}, false
	}
	if !filepath.IsAbs(to) {
		dir, _ := split(at.rel)
		to = filepath.Join(g.trees[at.tree], dir, to)
	}
	for n, tree := range g.trees {
		if rel, err := filepath.Rel(tree, to); err == nil && filepath.IsLocal(rel) && rel != "." {
			return place{n, rel}, true
		}
	}
	return place{}, false
}

// touched reports whether somebody changed something in a directory after the session. An
// index is written anew whenever somebody looks.
func (g *gitJudge) touched(dir place) (late bool) {
	g.below(dir, func(s place, e entry) {
		_, name := split(s.rel)
		if e.kind != change.Directory && name != "index" && (g.late(e) || g.older(e)) {
			late = true
		}
	})
	return late
}

// older reports whether an entry was there before the session was: then the session did not
// make it, wherever it is now.
func (p *plan) older(e entry) bool {
	return p.born != 0 && e.born != 0 && e.born < p.born && !e.many
}

// remains says why a place stays as it is, if so.
func (g *gitJudge) remains(at place) (why string) {
	for s := at; s.rel != "" && why == ""; s.rel, _ = split(s.rel) {
		why = g.remain[s]
	}
	return why
}

// leftAt is what the session left in a place, if that is known and no restore has moved it
// or taken it away.
func (l *Log) leftAt(at place) (left, bool) {
	for s := at; s.rel != ""; s.rel, _ = split(s.rel) {
		if l.shaken[s] {
			return left{}, false
		}
	}
	was, ok := l.left[at]
	if ok && l.emptied[at] {
		_, err := l.look(at)
		ok = !missing(err)
	}
	return was, ok
}

// gitFile reports whether an original is one of git's files that name objects, or one of them.
func (g *gitJudge) gitFile(t *original, at place) (gitPlace, bool) {
	if t.node == nil || t.node.kind != change.File || t.lost != "" || at.rel == "" {
		return gitPlace{}, false
	}
	p := g.place(at)
	return p, p.kind > gitOther
}

// gitVerdict says why a file of git cannot be brought back, if so. e is what is there; nil
// if nothing is.
func (g *gitJudge) gitVerdict(t *original, p gitPlace, at place, e *entry) (string, error) {
	switch {
	case p.kind == gitCache || p.kind == gitObject && e != nil:
		g.quiet[t.id] = true
		return "", nil
	case p.kind == gitObject:
		return "", nil
	case p.kind == gitTable:
		if g.touched(place{p.dir.tree, join(p.dir.rel, "reftable")}) {
			return wentOn, nil
		}
		return "", nil
	}
	old, err := g.oldText(t)
	if err != nil {
		return "", err
	}
	if g.saysTheSame(p, at, e, old) {
		g.quiet[t.id] = true
		return "", nil
	}
	if why := g.changedSince(p, at, e, old); why != "" {
		return why, nil
	}
	if why := g.gitNeeds(p, old); why != "" {
		return why, nil
	}
	return g.missingObjects(p, old), nil
}

// saysTheSame reports whether a file of git says what it said before the session, however
// it is written.
func (g *gitJudge) saysTheSame(p gitPlace, at place, e *entry, old []byte) bool {
	if e == nil {
		return false // a ref that is packed: what it is packed in may go
	}
	if text := means(p, old); text != "" {
		return text == g.means(p, at)
	}
	if e.size != int64(len(old)) {
		return false
	}
	now, err := g.text(at, maxGitText)
	return err == nil && bytes.Equal(now, old)
}

// oldText is a file of git as it was before the session.
func (g *gitJudge) oldText(t *original) ([]byte, error) {
	if t.blob == 0 {
		if at, ok := g.plan.at[t.id]; ok {
			return g.text(at, maxGitText)
		}
		return nil, nil
	}
	f, err := g.openBlob(t.blob)
	if err != nil {
		return nil, err
	}
	return readAll(f, maxGitText)
}

// changedSince says whether somebody made something else of a file of git than the session
// left, by what it says.
func (g *gitJudge) changedSince(p gitPlace, at place, e *entry, old []byte) string {
	if g.force {
		return ""
	}
	now := g.means(p, at)
	was, known := g.leftAt(at)
	switch {
	case p.kind == gitReflog || !known || was.means == "" && was.ident != (ident{}):
		if e == nil && known && was.ident != (ident{}) {
			return deletedLater
		}
		if e == nil && now != "" && now != refText(old) {
			return "it is packed since"
		}
		if e != nil && (g.late(*e) || known && was.ident != e.ident && !g.begun[e.ident]) {
			return changedLater
		}
	case now == "" && was.means != "":
		return deletedLater
	case now != was.means:
		return changedLater
	}
	return ""
}

// means is what a text of git says; see disk.means.
func means(p gitPlace, b []byte) string {
	switch p.kind {
	case gitRef, gitHead:
		return refText(b)
	case gitIndex:
		x, _ := readIndex(b)
		return x.meaning
	}
	return ""
}

// gitNeeds says what is in the way of a file of git besides itself.
func (g *gitJudge) gitNeeds(p gitPlace, old []byte) string {
	switch p.kind {
	case gitRef:
		if name, is := target(refText(old)); is && g.after(p, name, 0) == "" {
			return "the ref that it named is not there"
		}
		return g.clash(p)
	case gitHead:
		return g.headNeeds(p, old)
	case gitReflog:
		if !g.force && g.stays(p.ref(p.name)) {
			return "its ref stays as it is"
		}
	case gitPacked:
		for name := range packedRefs(old) {
			if why := g.clash(gitPlace{gitRef, p.dir, name}); why != "" {
				return why
			}
		}
	}
	return ""
}

// clash: a ref cannot be beside one whose name is a directory of it.
func (g *gitJudge) clash(p gitPlace) string {
	for up, _ := split(p.name); strings.Contains(up, "/"); up, _ = split(up) {
		if g.after(p, up, 0) != "" {
			return "there is a ref " + strconv.Quote(up) + " now"
		}
	}
	for name := range g.packedAfter(p) {
		if name != p.name && inside(p.name, name) && g.after(p, name, 0) != "" {
			return "there is a ref " + strconv.Quote(name) + " now"
		}
	}
	return ""
}

// headNeeds: a HEAD goes back if nobody went on from where it is, and to a branch that is
// there.
func (g *gitJudge) headNeeds(p gitPlace, old []byte) string {
	if name, is := target(g.means(p, place{p.dir.tree, join(p.dir.rel, "HEAD")})); is && !g.force && g.movedLater(p.ref(name)) {
		return branchMoved
	}
	name, is := target(refText(old))
	if is && g.after(p, name, 0) == "" && !g.unborn(p, name) {
		return "the branch that it named is not there any more"
	}
	return ""
}

// unborn reports whether it is known that there was no such ref before the session.
func (g *gitJudge) unborn(p gitPlace, name string) bool {
	if g.before(p, name) != "" {
		return false
	}
	at := p.ref(name)
	was, known := g.leftAt(at)
	return g.names.ours(at) || known && was.means == ""
}

// movedLater reports whether a ref stays because somebody changed it.
func (g *gitJudge) movedLater(ref place) bool {
	if t := g.first[ref]; t != nil && g.in[t] {
		return g.stuck[t.id] == changedLater || g.stuck[t.id] == deletedLater
	}
	return g.remain[ref] == changedLater
}

// stays reports whether what the session made of a ref stays.
func (g *gitJudge) stays(ref place) bool {
	if t := g.first[ref]; t != nil && g.in[t] && g.stuck[t.id] != "" {
		return true
	}
	return g.remain[ref] != ""
}

// missingObjects says no to what names objects that are gone.
func (g *gitJudge) missingObjects(p gitPlace, old []byte) string {
	named := ids(old)
	if p.kind == gitIndex {
		x, err := readIndex(old)
		if err != nil {
			return ""
		}
		named = x.ids
	}
	packs := g.packsOf(p)
	for _, id := range named {
		if !packs.has(id) {
			return objectGone + ": " + id
		}
	}
	return ""
}

// packsOf opens the objects of a git directory, with those that come back.
func (g *gitJudge) packsOf(p gitPlace) *gitPacks {
	dir := p.common()
	if have := g.packs[dir]; have != nil {
		return have
	}
	objects := place{dir.tree, join(dir.rel, "objects")}
	fd := -1
	if root, err := g.root(dir.tree); err == nil {
		if at, err := openAt(root, objects.rel, unix.O_PATH|unix.O_DIRECTORY); err == nil {
			fd = at
		}
	}
	packs := openPacks(fd, 0)
	for t := range g.in {
		if t.home.tree != objects.tree || t.blob == 0 || !inside(objects.rel, t.home.rel) {
			continue
		}
		name := strings.TrimPrefix(t.home.rel[len(objects.rel):], "/")
		if strings.HasSuffix(name, ".idx") {
			if f, err := g.openBlob(t.blob); err == nil {
				packs.indexes = append(packs.indexes, f)
			}
		} else if objectKind(name) == gitObject {
			packs.comes[strings.Replace(name, "/", "", 1)] = true
		}
	}
	g.packs[dir] = packs
	return packs
}

// after is what a ref says once this run is over; "" for none.
func (g *gitJudge) after(p gitPlace, name string, depth int) string {
	text := g.looseAfter(p.ref(name))
	if text == "" {
		text = g.packedAfter(p)[name]
	}
	if next, is := target(text); is && depth < 5 {
		return g.after(p, next, depth+1)
	}
	return text
}

func (g *gitJudge) looseAfter(s place) string {
	if t := g.first[s]; t != nil && g.in[t] && t.node != nil && g.stuck[t.id] == "" && !g.quiet[t.id] {
		old, _ := g.oldText(t)
		return refText(old)
	}
	if _, mine := g.at[s]; mine && g.remain[s] == "" {
		return ""
	}
	b, err := g.text(s, maxRefText)
	if err != nil {
		return ""
	}
	return refText(b)
}

func (g *gitJudge) packedAfter(p gitPlace) map[string]string {
	dir := p.common()
	s := place{dir.tree, join(dir.rel, "packed-refs")}
	if t := g.first[s]; t != nil && g.in[t] && t.node != nil && g.stuck[t.id] == "" {
		old, _ := g.oldText(t)
		return packedRefs(old)
	}
	if _, mine := g.at[s]; mine && g.remain[s] == "" {
		return nil
	}
	return g.packed(p)
}

// before is what a ref said before the session; "" for none.
func (g *gitJudge) before(p gitPlace, name string) string {
	s := p.ref(name)
	if t := g.first[s]; t != nil && t.node != nil && t.node.kind == change.File {
		old, _ := g.oldText(t)
		return refText(old)
	}
	if !g.names.ours(s) {
		if b, err := g.text(s, maxRefText); err == nil {
			return refText(b)
		}
	}
	dir := p.common()
	all := place{dir.tree, join(dir.rel, "packed-refs")}
	if t := g.first[all]; t != nil && t.node != nil {
		old, _ := g.oldText(t)
		return packedRefs(old)[name]
	}
	if g.names.ours(all) {
		return ""
	}
	return g.packed(p)[name]
}

// judgeOurs finds what the session made in a git directory and what stays there. It reports
// whether something new was found.
func (g *gitJudge) judgeOurs() (found bool) {
	for _, o := range g.mine {
		if g.remain[o.at] != "" {
			continue
		}
		if why := g.oursVerdict(o); why != "" {
			g.remain[o.at], found = why, true
		}
	}
	return g.judgeHeads() || found
}

func (g *gitJudge) oursVerdict(o gitOurs) string {
	e, err := g.look(o.at)
	if err != nil {
		return ""
	}
	switch o.kind {
	case gitTable:
		if g.touched(place{o.dir.tree, join(o.dir.rel, "reftable")}) {
			return wentOn
		}
	case gitReflog:
		if g.stays(o.ref(o.name)) {
			return "its ref stays as it is"
		}
	case gitRef, gitHead, gitPacked, gitIndex:
		if why := g.changedSince(o.gitPlace, o.at, &e, nil); why != "" {
			return why
		}
		g.free[o.at] = true
	}
	return ""
}

// judgeHeads: a HEAD that stays, and a ref that names another, keep what they name.
func (g *gitJudge) judgeHeads() (found bool) {
	for dir, heads := range g.headsAll() {
		for _, h := range heads {
			p := g.place(h)
			text := refText(g.nowText(h))
			name, is := target(text)
			if !is || !g.stands(h) || g.value(p, name) == "" || g.after(p, name, 0) != "" {
				continue
			}
			why := strconv.Quote(h.rel) + " names it"
			for _, s := range []place{p.ref(name), {dir.tree, join(dir.rel, "packed-refs")}} {
				if _, mine := g.at[s]; mine && g.remain[s] == "" {
					g.remain[s], found = why, true
					break
				}
				if t := g.first[s]; t != nil && g.in[t] && g.stuck[t.id] == "" {
					g.stuck[t.id], found = why, true
					break
				}
			}
		}
	}
	return found
}

func (g *gitJudge) nowText(s place) []byte {
	b, _ := g.text(s, maxRefText)
	return b
}

// stands reports whether a HEAD or a ref is after this run what it is now.
func (g *gitJudge) stands(h place) bool {
	if t := g.first[h]; t != nil && g.in[t] && g.stuck[t.id] == "" && !g.quiet[t.id] {
		return false
	}
	if why := g.remains(h); why != "" {
		return true
	}
	return !g.names.ours(h) || g.first[h] != nil
}

// headsAll lists, once, what names refs in the git directories that this run is about.
func (g *gitJudge) headsAll() map[place][]place {
	for _, o := range g.mine {
		g.headsOf(o.common())
	}
	for t := range g.in {
		if p := g.place(t.home); p.kind > gitCache {
			g.headsOf(p.common())
		}
	}
	return g.heads
}

func (g *gitJudge) headsOf(dir place) {
	if g.heads[dir] != nil {
		return
	}
	heads := []place{{dir.tree, join(dir.rel, "HEAD")}}
	symbolic := func(s place, e entry) {
		if _, is := target(refText(g.nowText(s))); is && e.kind == change.File {
			heads = append(heads, s)
		}
	}
	g.below(place{dir.tree, join(dir.rel, "refs")}, symbolic)
	if names, err := g.list(place{dir.tree, join(dir.rel, "worktrees")}); err == nil {
		for _, name := range names {
			heads = append(heads, place{dir.tree, join(dir.rel, "worktrees/"+name+"/HEAD")})
		}
	}
	g.heads[dir] = heads
}

// spared reports whether something that the session made stays: with why it does, or
// without a word about each.
func (g *gitJudge) spared(at place) (why string, quiet bool) {
	if why := g.remains(at); why != "" {
		return why, false
	}
	p := g.place(at)
	if (p.kind == gitObject || p.kind == gitCache) && !g.units[p.dir] && !mutated("objects") {
		g.stayed[p.dir]++
		return "", true
	}
	return "", false
}

// sayPacked names the refs of the session that somebody packed since: the file that has them
// is not the session's.
func (r *restorer) sayPacked() {
	for at, was := range r.left {
		if was.means == "" || !r.wants(at) || !r.names.ours(at) || r.git.in[r.first[at]] {
			continue
		}
		p := r.git.place(at)
		if _, err := r.look(at); p.kind != gitRef || !missing(err) {
			continue
		}
		if r.git.packed(p)[p.name] == was.means {
			r.say(at.rel, Conflict, "it was packed after the session; git itself can delete it")
		}
	}
}

// sayStayed names the objects of each git directory as one.
func (r *restorer) sayStayed() {
	for dir, n := range r.git.stayed {
		if dir.tree == r.tree {
			r.say(join(dir.rel, "objects"), Stays, strconv.Itoa(n)+" of the session's files: git drops what nothing names")
		}
	}
}

// inOrder brings what names objects back after them, and what says which of it counts last.
func (p *plan) inOrder(originals []*original) []*original {
	rank := func(t *original) int {
		in, ok := p.git.gitFile(t, t.home)
		switch {
		case !ok || in.kind <= gitCache:
			return 0
		case in.kind == gitHead:
			return 2
		}
		return 1
	}
	sorted := slices.Clone(originals)
	slices.SortStableFunc(sorted, func(a, b *original) int { return cmp.Compare(rank(a), rank(b)) })
	return sorted
}

// leaveStuck leaves what the session put in the place of originals that stay away: without either
// there would be nothing.
func (p *plan) leaveStuck(originals []*original) {
	for _, t := range originals {
		why := p.stuck[t.id]
		if _, here := p.carried(t); why == "" || here {
			continue
		}
		at := p.vacancy(t)
		if e, err := p.look(at); err == nil && e.kind != change.Directory && p.names.ours(at) {
			p.git.remain[at] = why
		}
	}
}

func (g *gitJudge) close() {
	for _, p := range g.packs {
		p.close()
	}
}
