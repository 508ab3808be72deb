package run

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/mask"
	"ringfence.dev/ringfence/internal/place"
	"ringfence.dev/ringfence/internal/plan"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/session"
	"ringfence.dev/ringfence/internal/workspace"
)

// Secrets in a workspace are looked for by name. A launch must not take longer
// because a tree is large, so it looks at what was found before and at the first
// part of the tree; the rest is looked at while the agent starts, and what is found
// there is masked then. The list is kept for the next launch.
const (
	firstLook  = 2000 // entries
	lookTime   = 4 * time.Millisecond
	maxMasked  = 512
	maxWatched = 64
	maxSecret  = 1 << 20
)

// masking is what a session masks.
type masking struct {
	rules *mask.Rules
	seed  []byte
	walks []maskWalk

	mu     sync.Mutex
	masked map[string]mask.Kind // by path
	made   map[string]bool      // files that the agent made itself
}

type maskWalk struct {
	root string
	walk *mask.Walk // nil: all of it was seen
	file string     // the list of what was found
}

// maskSecrets masks what is known and what is found at first sight.
func (d *draft) maskSecrets() error {
	m := &d.masking
	m.seed, m.masked, m.made = make([]byte, 32), map[string]mask.Kind{}, map[string]bool{}
	rand.Read(m.seed)
	var err error
	if m.rules, err = mask.Builtin().With(values(d.Policy.Workspace.Mask)); err != nil {
		return err
	}
	m.rules = m.rules.Without(d.revealed())
	for _, root := range d.maskRoots() {
		if err := d.firstLook(root); err != nil {
			return err
		}
	}
	return nil
}

// Masked lists the files that show phantoms, for people.
func (s *Session) Masked() []string {
	s.masking.mu.Lock()
	defer s.masking.mu.Unlock()
	var names []string
	for p, kind := range s.masking.masked {
		names = append(names, fmt.Sprintf("%s (%s)", plan.Show(p), kind))
	}
	slices.Sort(names)
	return names
}

// maskRoots are the directories that somebody named: workspaces and grants. One in
// another is looked at with that.
func (d *draft) maskRoots() []string {
	all := slices.Clone(d.grantDirs)
	for _, ws := range d.Workspaces {
		all = append(all, ws.Path)
	}
	return slices.DeleteFunc(all, func(p string) bool {
		return p == d.clones || slices.ContainsFunc(all, func(o string) bool { return o != p && place.Within(p, o) })
	})
}

// revealed are the files that are shown as they are, as paths in whatever tree they
// are in.
func (d *draft) revealed() []string {
	var out []string
	for _, r := range d.Policy.Workspace.Reveal {
		p := policy.Expand(r.Value, d.User.Home)
		if !filepath.IsAbs(p) {
			out = append(out, p)
			continue
		}
		if dir, err := filepath.EvalSymlinks(filepath.Dir(p)); err == nil {
			p = filepath.Join(dir, filepath.Base(p))
		}
		shown := false
		for _, root := range d.maskRoots() {
			if p != root && place.Within(p, root) {
				shown = true
				out = append(out, strings.TrimPrefix(p[len(root):], "/"))
			}
		}
		if !shown {
			d.Warnings = append(d.Warnings, fmt.Sprintf("%s: %s lies in nothing that is shown, and stays as absent as before", where(r.Source), plan.Show(p)))
			continue
		}
		d.reveals = append(d.reveals, reveal{p, r})
	}
	return out
}

// reveal is one of them, for the journal.
type reveal struct {
	path string
	rule policy.Rule
}

func (d *draft) firstLook(root string) error {
	w := maskWalk{root: root, file: filepath.Join(d.dirs.State, "masks", session.Key(root)+".json")}
	for _, rel := range readMasks(w.file) {
		if d.masking.rules.Match(rel) {
			d.maskAtLaunch(root, rel)
		}
	}
	walk, err := mask.NewWalk(root, d.masking.rules)
	if err != nil {
		return err
	}
	found, done, err := walk.Step(mask.Budget{Entries: firstLook, Time: lookTime})
	if err != nil {
		walk.Close()
		return err
	}
	for _, f := range found {
		d.maskAtLaunch(root, f.Rel)
	}
	if done {
		walk.Close()
	} else {
		w.walk = walk
	}
	d.masking.walks = append(d.masking.walks, w)
	return nil
}

// maskAtLaunch puts a phantom over a file, read-only.
func (d *draft) maskAtLaunch(root, rel string) {
	p, data, kind, ok := d.masking.phantom(root, rel)
	hidden := func(m plan.Mask) bool { return place.Within(p, m.Path) } // altogether, by a rule of the user
	if !ok || slices.ContainsFunc(d.masks, hidden) || len(d.masking.masked) >= maxMasked || !d.masking.add(p, kind) {
		return
	}
	d.files = append(d.files, plan.File{Dst: p, Data: data, Why: "secrets, masked (" + string(kind) + ")"})
	d.pinned = append(d.pinned, p)
}

// maskClone masks what a clone has: it was not there when the plan was made.
func (k *keeping) maskClone(p *plan.Plan) error {
	s := k.live.session
	if s.clones == "" {
		return nil
	}
	found, _, err := mask.Find(s.work.CloneDir(), s.masking.rules, mask.Budget{})
	if err != nil {
		return err
	}
	var ops []plan.Op
	for _, f := range found {
		at, data, kind, ok := s.masking.phantom(s.work.CloneDir(), f.Rel)
		if ok && s.masking.add(at, kind) {
			dst := s.clones + at[len(s.work.CloneDir()):]
			ops = append(ops, plan.Op{Do: plan.DoFile, Dst: plan.Raw(dst), Data: data, Mode: 0o444, Why: "secrets, masked (" + string(kind) + ")"})
		}
	}
	p.Ops = slices.Insert(slices.Clone(p.Ops), len(p.Ops)-2, ops...) // before the root is sealed
	return nil
}

func (m *masking) add(p string, kind mask.Kind) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.masked[p]; ok {
		return false
	}
	m.masked[p] = kind
	return true
}

// phantom reads a file and makes what stands for it. A link is followed as long as
// it stays in the tree: what it leads to is masked.
func (m *masking) phantom(root, rel string) (p string, data []byte, kind mask.Kind, ok bool) {
	p = filepath.Join(root, rel)
	if real, err := filepath.EvalSymlinks(p); err != nil || !place.Within(real, root) {
		return p, nil, "", false
	} else if real != p {
		p = real
	}
	secret, err := readSecret(p)
	if err != nil {
		return p, nil, "", false
	}
	data, kind, err = mask.Phantom(rel, secret, m.seed)
	return p, data, kind, err == nil && kind != mask.None
}

func readSecret(p string) ([]byte, error) {
	fd, err := unix.Open(p, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), p)
	defer f.Close()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	return io.ReadAll(io.LimitReader(f, maxSecret+1))
}

// made notes a file that the agent makes itself: it has seen what is in it.
func (s *Session) made(tree int, rel string) {
	if s.trees[tree].prefix != "" || !s.masking.rules.Match(rel) {
		return
	}
	s.masking.mu.Lock()
	s.masking.made[filepath.Join(s.work.Trees[tree].Path, rel)] = true
	s.masking.mu.Unlock()
}

// lookOn finishes the walks while the agent runs, then waits for files that appear
// under such names in the directories where there were some, and at the roots.
func (k *keeping) lookOn(ended <-chan struct{}) {
	s := k.live.session
	k.recordNeutral()
	for _, r := range s.reveals {
		k.live.record(journal.Record{Kind: journal.Work, Event: journal.Revealed, Name: r.path, Verdict: journal.Allow, Rule: r.rule.Source.String()})
	}
	for _, r := range s.Policy.Supply.Allow {
		k.live.record(journal.Record{Kind: journal.Work, Event: journal.Brake, Name: r.Value, Verdict: journal.Allow, Rule: r.Source.String()})
	}
	for i := range s.masking.walks {
		w := &s.masking.walks[i]
		for w.walk != nil {
			select {
			case <-ended:
				w.walk.Close()
				return
			default:
			}
			found, done, err := w.walk.Step(mask.Budget{Entries: 5000})
			for _, f := range found {
				k.maskLater(w.root, f.Rel)
			}
			if done || err != nil {
				w.walk.Close()
				w.walk = nil
			}
		}
		s.masking.save(w)
	}
	k.watchSecrets(ended)
}

// watchSecrets is told by the kernel of new names in a few directories.
func (k *keeping) watchSecrets(ended <-chan struct{}) {
	s := k.live.session
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return
	}
	f := os.NewFile(uintptr(fd), "inotify")
	defer f.Close()
	go func() { <-ended; f.Close() }()
	at := map[int32]string{}
	for _, dir := range s.secretPlaces() {
		if wd, err := unix.InotifyAddWatch(fd, dir, unix.IN_CLOSE_WRITE|unix.IN_MOVED_TO|unix.IN_ONLYDIR); err == nil {
			at[int32(wd)] = dir
		}
	}
	buf := make([]byte, 64<<10)
	for {
		n, err := f.Read(buf)
		if err != nil {
			return
		}
		eachEvent(buf[:n], func(wd int32, name string) {
			for _, t := range s.Workspaces {
				p := filepath.Join(at[wd], name)
				if at[wd] != "" && p != t.Path && place.Within(p, t.Path) && s.masking.rules.Match(p[len(t.Path)+1:]) {
					k.maskLater(t.Path, p[len(t.Path)+1:])
				}
			}
		})
	}
}

func (s *Session) secretPlaces() []string {
	var dirs []string
	for _, ws := range s.Workspaces {
		dirs = append(dirs, ws.Path)
	}
	s.masking.mu.Lock()
	defer s.masking.mu.Unlock()
	for p := range s.masking.masked {
		if dir := filepath.Dir(p); !slices.Contains(dirs, dir) && len(dirs) < maxWatched {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// eachEvent reads what inotify gives.
func eachEvent(b []byte, visit func(wd int32, name string)) {
	for len(b) >= unix.SizeofInotifyEvent {
		wd := int32(uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24)
		n := int(b[12]) | int(b[13])<<8 | int(b[14])<<16 | int(b[15])<<24
		b = b[unix.SizeofInotifyEvent:]
		if n < 0 || n > len(b) {
			return
		}
		name, _, _ := strings.Cut(string(b[:n]), "\x00")
		b = b[n:]
		if name != "" {
			visit(wd, name)
		}
	}
}

// maskLater masks a file in a running session: it becomes private, with phantoms.
func (k *keeping) maskLater(root, rel string) {
	s := k.live.session
	p, data, kind, ok := s.masking.phantom(root, rel)
	if !ok || s.masking.own(p) || !s.masking.add(p, kind) {
		return
	}
	n := slices.IndexFunc(s.Plan.Trees, func(t plan.Tree) bool { return place.Within(p, string(t.Path)) })
	var err error
	if n >= 0 && k.keeper != nil {
		rel := strings.TrimPrefix(p[len(s.Plan.Trees[n].Path):], "/")
		if err = k.keeper.Mask(n, rel, data); err == nil {
			err = s.work.Masked(n, rel, data)
		}
	} else {
		err = k.maskInLayer(p, data)
	}
	if err != nil {
		k.live.say(fmt.Sprintf("%q holds secrets and could not be masked: %v", p, err))
		return
	}
	k.live.record(journal.Record{Kind: journal.Work, Event: journal.Masked, Name: p, Reason: string(kind)})
}

func (m *masking) own(p string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.made[p]
}

// maskInLayer writes the phantom through the sandbox's own view of a tree that is
// under review: it goes to the layer.
func (k *keeping) maskInLayer(p string, data []byte) error {
	s := k.live.session
	n := slices.IndexFunc(s.work.Trees, func(t workspace.Tree) bool { return place.Within(p, t.Path) })
	if n < 0 {
		return errors.New("it is not in a tree that can be changed inside")
	}
	root, err := unix.Open("/proc/"+strconv.Itoa(k.live.box.PID())+"/root", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(root)
	fd, err := unix.Openat2(root, strings.TrimPrefix(p, "/"), &unix.OpenHow{Flags: unix.O_WRONLY | unix.O_TRUNC | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS})
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), p)
	_, err = f.Write(data)
	return errors.Join(err, f.Close(), s.work.Masked(n, strings.TrimPrefix(p[len(s.work.Trees[n].Path):], "/"), data))
}

// readMasks reads the list of a tree. It only says where to look, so what is wrong
// with it is of no weight.
func readMasks(file string) []string {
	b, err := readIfPresent(file, 1<<20)
	if err != nil || b == nil {
		return nil
	}
	var quoted, out []string
	if json.Unmarshal(b, &quoted) != nil {
		return nil
	}
	for _, q := range quoted {
		if rel, err := strconv.Unquote(q); err == nil && filepath.IsLocal(rel) {
			out = append(out, rel)
		}
	}
	return out
}

// save keeps the list for the next launch.
func (m *masking) save(w *maskWalk) {
	m.mu.Lock()
	var quoted []string
	for p := range m.masked {
		if place.Within(p, w.root) {
			quoted = append(quoted, strconv.QuoteToASCII(strings.TrimPrefix(p[len(w.root):], "/")))
		}
	}
	m.mu.Unlock()
	slices.Sort(quoted)
	b, err := json.Marshal(quoted)
	if err != nil || slices.Equal(quoted, nil) && !exists(w.file) {
		return
	}
	if os.MkdirAll(filepath.Dir(w.file), 0o700) != nil {
		return
	}
	f, err := os.CreateTemp(filepath.Dir(w.file), ".new-*")
	if err != nil {
		return
	}
	defer os.Remove(f.Name())
	_, err = f.Write(b)
	if errors.Join(err, f.Sync(), f.Close()) == nil {
		os.Rename(f.Name(), w.file)
	}
}

func exists(p string) bool {
	_, err := os.Lstat(p)
	return !errors.Is(err, fs.ErrNotExist)
}
