package trees

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/git/repo"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/session/launch"
	"ringfence.dev/ringfence/internal/state"
	"ringfence.dev/ringfence/internal/workspace/phantom"
)

// Secrets in a workspace are looked for by name. The first session in a tree looks
// through all of it before anything starts, and keeps a list of what it found. A later
// launch must not take longer because a tree is large, so it looks at what was found
// before and at the first part of the tree; the rest is looked at while the agent
// starts, and what is new there is masked then.
//
// No bound leaves a file unmasked: after maxPhantoms they are shown empty, and with
// more than maxMasked the session does not start, or ends.
const (
	firstLook   = 2000 // entries
	lookTime    = 4 * time.Millisecond
	alwaysLook  = 500 // entries, however long it takes: a machine may be busy
	maxPhantoms = 512
	maxMasked   = 4096
	maxList     = 32 << 20
	maxSecret   = 1 << 20
)

// masking is what a session masks.
type masking struct {
	rules *phantom.Rules
	seed  []byte
	roots []maskRoot
	asked string // digest of what the rules were made of
	past  repo.History

	mu       sync.Mutex
	phantoms map[string][]byte       // by path
	masked   map[string]phantom.Kind // by path
	links    map[string]bool         // by which files of other names were found
	reveals  []reveal                // files that are shown as they are
	told     []string                // files that git's history has as they are: no mask could keep those
}

// maskRoot is a directory that is looked through.
type maskRoot struct {
	path string
	file string      // the list of what was found
	dir  os.FileInfo // of the launch; nil: not known
}

var errMoved = errors.New("was moved")

// inPlace is an error where a tree was moved: the sandbox sees it still, and what is at its
// path now says nothing of it.
func (m *masking) inPlace(root string) error {
	for _, r := range m.roots {
		if r.path != root || r.dir == nil {
			continue
		}
		now, err := os.Lstat(root)
		if err == nil && !os.SameFile(r.dir, now) {
			err = errors.New("another directory is there")
		}
		if err != nil {
			return fmt.Errorf("%s %w: %w", plan.Show(root), errMoved, err)
		}
	}
	return nil
}

// masks puts phantoms in the place of secrets at a launch.
type masks struct {
	launch.Base
	launch.Contribution
	masking *masking
	total   launch.Contribution // what is shown, and hidden already
}

// Mask masks what is known and what is found at first sight.
func (ts *Trees) Mask(b launch.Base, total launch.Contribution) (launch.Contribution, error) {
	ms := &masks{Base: b, masking: &ts.masking, total: total}
	err := ms.prepare()
	return ms.Contribution, err
}

func (ms *masks) prepare() error {
	m := ms.masking
	m.seed, m.masked, m.phantoms = make([]byte, 32), map[string]phantom.Kind{}, map[string][]byte{}
	rand.Read(m.seed)
	var err error
	if m.rules, err = phantom.Builtin().With(ms.Policy.Workspace.Mask.Values()); err != nil {
		return err
	}
	revealed := ms.revealed()
	m.rules, m.asked = m.rules.Without(revealed), ms.maskDigest(revealed)
	for _, root := range ms.maskRoots() {
		dir, _ := os.Lstat(root)
		m.roots = append(m.roots, maskRoot{root, filepath.Join(ms.Dirs.State, "masks", state.Key(root)+".json"), dir})
	}
	m.past.Repo = ms.Repo
	for _, r := range m.roots {
		m.past.Shown = append(m.past.Shown, r.path)
	}
	if ms.Repo != nil {
		m.past.Shown = append(m.past.Shown, ms.Repo.Extra...)
	}
	for _, h := range ms.total.Masks {
		m.past.Hides = append(m.past.Hides, h.Path)
	}
	defer m.past.Close()
	for _, r := range m.roots {
		if err := ms.firstLook(r); err != nil {
			return err
		}
	}
	slices.Sort(m.told)
	ignoreMasked(&ms.Contribution, m.masked)
	return nil
}

// maskDigest is of all that says which files are masked: a list that was made by other
// rules is no list.
func (ms *masks) maskDigest(revealed []string) string {
	h := sha256.New()
	fmt.Fprintf(h, "1 %q %q", ms.Policy.Workspace.Mask.Values(), revealed)
	for _, m := range ms.total.Masks {
		fmt.Fprintf(h, " %q", m.Path)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Masked lists the files that show phantoms, for people.
func (ts *Trees) Masked() []string {
	ts.masking.mu.Lock()
	defer ts.masking.mu.Unlock()
	var names []string
	for p, kind := range ts.masking.masked {
		names = append(names, fmt.Sprintf("%s (%s)", plan.Show(p), kind))
	}
	slices.Sort(names)
	return names
}

// Phantoms are the same, by their paths.
func (ts *Trees) Phantoms() []string {
	ts.masking.mu.Lock()
	defer ts.masking.mu.Unlock()
	return slices.Sorted(maps.Keys(ts.masking.masked))
}

// maskRoots are the directories that somebody named: workspaces and grants. One in
// another is looked at with that.
func (ms *masks) maskRoots() []string {
	all := slices.Clone(ms.total.GrantDirs)
	all = append(all, ms.Paths()...)
	return slices.DeleteFunc(all, func(p string) bool {
		return p == ms.total.Clone || slices.ContainsFunc(all, func(o string) bool { return o != p && file.Within(p, o) })
	})
}

// revealed are the files that are shown as they are, as paths in whatever tree they
// are in.
func (ms *masks) revealed() []string {
	var out []string
	for _, r := range ms.Policy.Workspace.Reveal {
		p := policy.Expand(r.Value, ms.User.Home)
		if !filepath.IsAbs(p) {
			out = append(out, p)
			continue
		}
		if dir, err := filepath.EvalSymlinks(filepath.Dir(p)); err == nil {
			p = filepath.Join(dir, filepath.Base(p))
		}
		shown := false
		for _, root := range ms.maskRoots() {
			if p != root && file.Within(p, root) {
				shown = true
				out = append(out, strings.TrimPrefix(p[len(root):], "/"))
			}
		}
		if !shown {
			ms.Warn(fmt.Sprintf("%s: %s lies in nothing that is shown, and stays as absent as before", r.Source.String(), plan.Show(p)))
			continue
		}
		ms.masking.reveals = append(ms.masking.reveals, reveal{p, r})
	}
	return out
}

// reveal is one of them, for the journal.
type reveal struct {
	path string
	rule policy.Rule
}

func (ms *masks) firstLook(r maskRoot) error {
	budget := phantom.Budget{Entries: firstLook, Time: lookTime, Always: alwaysLook}
	list := readMasks(r.file, ms.masking.asked)
	if list == nil || ms.Machine() != nil { // a late mask is none for what was copied
		budget = phantom.Budget{}
	}
	var led []string // files of other names, to which links led
	for _, rel := range list {
		if !ms.masking.rules.Match(rel) {
			led = append(led, rel)
			continue
		}
		if err := ms.maskAtLaunch(r.path, rel); err != nil {
			return err
		}
	}
	w, err := phantom.NewWalk(r.path, "", ms.masking.rules)
	if err != nil {
		return err
	}
	defer w.Close()
	w.Deep = ms.Machine() != nil
	w.Closed = func(rel string) { ms.hideClosed(filepath.Join(r.path, rel)) }
	found, done, err := w.Step(budget)
	if err == nil {
		err = wholly(&ms.Base, r.path, done)
	}
	for _, f := range found {
		if err == nil {
			err = ms.maskAtLaunch(r.path, f.Rel)
		}
	}
	// After the links, whose names say what is in them. Such a file stays masked without its
	// link: the agent may have deleted that. Who wants it shown names it in reveal.
	for _, rel := range led {
		if err == nil {
			err = ms.maskAtLaunch(r.path, rel)
		}
	}
	return err
}

// hideClosed hides a directory that we may not read and that the agent, who has the
// same user, could open.
func (ms *masks) hideClosed(p string) {
	if !ownDirectory(p) || ms.hidden(p) {
		return
	}
	ms.Masks = append(ms.Masks, plan.Mask{Path: p, Why: "it cannot be read, and may have secrets in it"})
	ms.Pinned = append(ms.Pinned, p)
	ms.Warn(fmt.Sprintf("%s cannot be read, so secrets in it could not be masked: it is hidden", plan.Show(p)))
}

func ownDirectory(p string) bool {
	var st unix.Stat_t
	return unix.Lstat(p, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR && int(st.Uid) == os.Geteuid()
}

// maskAtLaunch puts a phantom over a file, read-only.
func (ms *masks) maskAtLaunch(root, rel string) error {
	p, data, kind, ok := ms.masking.phantom(root, rel)
	if !ok || ms.hidden(p) {
		return nil
	}
	fresh, err := ms.masking.add(p, kind)
	if err != nil || !fresh {
		return err
	}
	ms.Files = append(ms.Files, plan.File{Dst: p, Data: data, Why: "secrets, masked (" + string(kind) + ")"})
	ms.Pinned = append(ms.Pinned, p)
	ms.masking.phantoms[p] = data
	return nil
}

// hidden holds for what is hidden altogether.
func (ms *masks) hidden(p string) bool { return ms.Hides(p) || ms.total.Hides(p) }

// maskClone masks what a clone has: it was not there when the plan was made.
func (k *Changes) maskClone(p *plan.Plan) error {
	if k.trees.Clone == "" {
		return nil
	}
	k.trees.masking.past.Shown = append(k.trees.masking.past.Shown, k.Work.CloneDir()) // its objects are shown
	w, err := phantom.NewWalk(k.Work.CloneDir(), "", k.trees.masking.rules)
	if err != nil {
		return err
	}
	defer w.Close()
	w.Deep = k.Machine() != nil
	found, _, err := w.Step(phantom.Budget{})
	if err != nil {
		return err
	}
	var ops []plan.Op
	for _, f := range found {
		at, data, kind, ok := k.trees.masking.phantom(k.Work.CloneDir(), f.Rel)
		if !ok {
			continue
		}
		fresh, err := k.trees.masking.add(at, kind)
		if err != nil {
			return err
		}
		if fresh {
			dst := k.trees.Clone + at[len(k.Work.CloneDir()):]
			ops = append(ops, plan.Op{Do: plan.DoFile, Dst: plan.Raw(dst), Data: data, Mode: 0o444, Why: "secrets, masked (" + string(kind) + ")"})
		}
	}
	p.Ops = slices.Insert(slices.Clone(p.Ops), len(p.Ops)-2, ops...) // before the root is sealed
	return nil
}

// add counts a file. It is false for one that was counted before.
func (m *masking) add(p string, kind phantom.Kind) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.masked[p]; ok {
		return false, nil
	}
	if len(m.masked) >= maxMasked {
		dir, n := m.fullest()
		return false, fault.New(fault.Refused, fmt.Sprintf("hide the directory that has %d of them: --mask %s", n, plan.Show(dir)),
			"more than %d files look like files of secrets, and not one more can be masked", maxMasked)
	}
	m.masked[p] = kind
	return true, nil
}

// fullest is the directory with most of them.
func (m *masking) fullest() (dir string, n int) {
	in := map[string]int{}
	for p := range m.masked {
		in[filepath.Dir(p)]++
	}
	for d, c := range in {
		if c > n || c == n && d < dir {
			dir, n = d, c
		}
	}
	return dir, n
}

// many says that nothing of a further file is shown.
func (m *masking) many() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.masked) >= maxPhantoms
}

// phantom reads a file and makes what stands for it. A link is followed as long as
// it stays in what is shown: what it leads to is masked. What cannot be read is shown
// empty: the agent may be able to make it readable.
func (m *masking) phantom(root, rel string) (p string, data []byte, kind phantom.Kind, ok bool) {
	p = filepath.Join(root, rel)
	if mutated("masks") {
		return p, nil, "", false
	}
	real, err := filepath.EvalSymlinks(p)
	if err != nil {
		return p, nil, phantom.Empty, !noSuchFile(err)
	}
	if p != real {
		m.leads(p)
	}
	p = real
	if !file.Within(p, root) {
		n := slices.IndexFunc(m.roots, func(r maskRoot) bool { return file.Within(p, r.path) })
		if n < 0 {
			return p, nil, "", false
		}
		root = m.roots[n].path
	}
	secret, err := readSecret(p)
	if errors.Is(err, errNoFile) || err != nil && noSuchFile(err) {
		return p, nil, "", false
	}
	if err != nil {
		return p, nil, phantom.Empty, true
	}
	data, kind, ok = m.standsFor(root, p, rel, secret)
	return p, data, kind, ok
}

// standsFor makes what stands for a file with this content, if it is one of secrets.
func (m *masking) standsFor(root, p, rel string, secret []byte) (data []byte, kind phantom.Kind, ok bool) {
	name := rel
	if !m.rules.Match(rel) {
		name = "" // a link led here once: what this name says of the content is nothing
	}
	data, kind, err := phantom.Phantom(name, secret, m.seed)
	if kind == phantom.None || m.tells(root, p, secret) {
		return nil, phantom.None, false
	}
	if err != nil || m.many() {
		data, kind = nil, phantom.Empty
	}
	return data, kind, true
}

// leads remembers the name of a link: the list of the next launch has to have it, as the
// name of what it leads to may say nothing.
func (m *masking) leads(link string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.links == nil {
		m.links = map[string]bool{}
	}
	if len(m.links) < maxMasked {
		m.links[link] = true
	}
}

// tells holds for a file that git has with the same content in the commit that is
// checked out. It can be read from there, and a phantom in its place would be a change
// to be committed.
func (m *masking) tells(root, p string, secret []byte) bool {
	if len(secret) > maxSecret || !m.past.Has(root, p, secret) {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !slices.Contains(m.told, p) && len(m.told) < maxMasked {
		m.told = append(m.told, p)
	}
	return true
}

// InHistory lists files that look like secrets and are shown, because git's history has
// them as they are.
func (ts *Trees) InHistory() []string {
	ts.masking.mu.Lock()
	defer ts.masking.mu.Unlock()
	return slices.Clone(ts.masking.told)
}

// noSuchFile holds where there is nothing to be masked, now.
func noSuchFile(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP)
}

var errNoFile = errors.New("not a regular file")

func readSecret(p string) ([]byte, error) {
	fd, err := unix.Open(p, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), p)
	defer f.Close()
	return readRegular(f)
}

func readRegular(f *os.File) ([]byte, error) {
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return nil, errNoFile
	}
	return io.ReadAll(io.LimitReader(f, maxSecret+1))
}

func (m *masking) kind(p string) (phantom.Kind, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	kind, ok := m.masked[p]
	return kind, ok
}

// named says whether a name in a tree is one of a file of secrets.
func (k *Changes) named(tree int, rel string) bool {
	return k.trees.list[tree].Prefix == "" && k.trees.masking.rules.Match(rel)
}

// shown says whether a file of such a name is one that the session sees as it is: what
// it makes of that is its own.
func (k *Changes) shown(tree int, rel string) bool {
	root := k.Work.Trees[tree].Path
	if _, masked := k.trees.masking.kind(filepath.Join(root, rel)); !masked && phantom.Pruned(filepath.Dir(filepath.Dir(rel))) {
		return true // nobody looks there
	}
	_, _, kind, ok := k.trees.masking.phantom(root, rel)
	return !ok && kind == phantom.None
}

// maskList is what is kept of a tree.
type maskList struct {
	Asked string   `json:"asked"` // by which rules it was made
	Paths []string `json:"paths"` // quoted
}

// readMasks reads the list of a tree. It only says where to look; if there is none, or
// something is wrong with it, it is nil, and everything has to be looked at.
func readMasks(file, asked string) []string {
	b, err := launch.ReadIfPresent(file, maxList)
	if err != nil || b == nil {
		return nil
	}
	var l maskList
	if json.Unmarshal(b, &l) != nil || l.Asked != asked {
		return nil
	}
	out := []string{}
	for _, q := range l.Paths {
		rel, err := strconv.Unquote(q)
		if err != nil || !filepath.IsLocal(rel) {
			return nil
		}
		out = append(out, rel)
	}
	return out
}

// save keeps the list for the next launch.
func (m *masking) save(r maskRoot) {
	m.mu.Lock()
	quoted := []string{}
	add := func(p string) {
		if file.Within(p, r.path) {
			quoted = append(quoted, strconv.QuoteToASCII(strings.TrimPrefix(p[len(r.path):], "/")))
		}
	}
	for p := range m.masked {
		add(p)
	}
	for p := range m.links {
		add(p)
	}
	m.mu.Unlock()
	slices.Sort(quoted)
	b, err := json.Marshal(maskList{m.asked, quoted})
	if err != nil {
		return
	}
	if was, err := os.ReadFile(r.file); err != nil || !bytes.Equal(was, b) {
		launch.WriteWhole(r.file, b) // without it the next launch looks at everything
	}
}

// ignoreMasked makes git inside pass over the files that show phantoms: else `git add -A`
// would commit one, and `git stash -u` put it away and not find its place free again. What
// git tracks already, or is told to add by force, it adds. A repository with a
// core.excludesFile of its own reads only that.
func ignoreMasked(c *launch.Contribution, masked map[string]phantom.Kind) {
	var lines []string
	for p := range masked {
		if line, ok := ignoreLine(p); ok {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return
	}
	slices.Sort(lines)
	c.Ignore = []byte(strings.Join(lines, ""))
}

var ignoreEscapes = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, ` `, `\ `)

// ignoreLine names a file as git reads it: from the top of its repository.
func ignoreLine(p string) (string, bool) {
	for dir := filepath.Dir(p); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			rel := strings.TrimPrefix(p[len(dir):], "/")
			return "/" + ignoreEscapes.Replace(rel) + "\n", !strings.ContainsAny(rel, "\n\r")
		}
		if dir == "/" {
			return "", false
		}
	}
}
