package trees

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"ringfence.dev/ringfence/internal/audit/scan"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/git/repo"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/session/launch"
	"ringfence.dev/ringfence/internal/state"
)

// Untrusted is what a repository would make run or change, and that nobody has
// accepted.
type Untrusted struct {
	Findings []scan.Finding // of what is dangerous
	New      bool           // it was not shown before
	Complete bool           // all of the tree was looked at
	First    bool           // a tree was looked at for the first time

	neutral []string // files that stand inside without it
	logins  []string // settings of git that hold one
	seen    map[string]seenScan
	watched map[string]scanned // by workspace
	bytes   int                // of them
}

// pretrust looks at the workspaces before an agent starts there.
type pretrust struct {
	launch.Base
	launch.Contribution
	*Untrusted
	total launch.Contribution // what is shown, and hidden already
}

// Pretrust shows what is dangerous and not trusted without it inside; the host's file
// stays as it is.
func (ts *Trees) Pretrust(b launch.Base, total launch.Contribution) (launch.Contribution, error) {
	pt := &pretrust{Base: b, Untrusted: &ts.Untrusted, total: total}
	err := pt.prepare()
	return pt.Contribution, err
}

func (pt *pretrust) prepare() error {
	pt.Untrusted.Complete, pt.Untrusted.seen, pt.Untrusted.watched = true, map[string]seenScan{}, map[string]scanned{}
	var mended []mended
	for _, ws := range pt.Workspaces {
		old, again := readSeen(pt.Base.Person, ws.Path)
		budget := scan.First(below(pt.Base.Place, ws.Path))
		if again {
			budget = scan.Launch(below(pt.Base.Place, ws.Path), unquoteAll(old.Known))
		}
		budget = forCopy(&pt.Base, budget)
		budget.Git = outsideDirs(pt.Base.Place, ws.Path)
		began := time.Now()
		report, err := scan.Scan(ws.Path, budget)
		if err == nil {
			err = wholly(&pt.Base, ws.Path, report.Complete)
		}
		if err != nil {
			return err
		}
		files, digest, err := pt.Untrusted.sift(pt.Accepts(), ws.Path, report)
		if err != nil {
			return err
		}
		if err := stops(ws.Path, files, pt.total.Masks); err != nil {
			return err
		}
		pt.Untrusted.New = pt.Untrusted.New || digest != "" && digest != old.Shown
		pt.Untrusted.Complete = pt.Untrusted.Complete && report.Complete
		pt.Untrusted.First = pt.Untrusted.First || !again
		pt.Untrusted.seen[ws.Path] = seenScan{strconv.QuoteToASCII(ws.Path), digest, quoteAll(append(report.Known, unquoteAll(old.Known)...))}
		if ws.Path != pt.total.Clone {
			again := scan.Launch(budget.Dir, append(report.Known, unquoteAll(old.Known)...))
			again.Git = budget.Git
			pt.Untrusted.watched[ws.Path] = scanned{budget: again, at: began, git: report.GitDirs}
			mended = append(mended, pt.neutralise(ws.Path, files)...)
		}
	}
	pt.asTheyAre(mended)
	if err := pt.grantedLogins(); err != nil {
		return err
	}
	for _, p := range pt.Untrusted.logins {
		pt.Notice(fmt.Sprintf("%s holds a login: it is not shown inside, and git cannot write that file there", plan.Show(p)))
	}
	return nil
}

// maxNeutral bounds the files that stand inside for others.
const maxNeutral = 256

// stops refuses to start where something is obeyed that was not looked into, and in
// whose place nothing can stand.
func stops(root string, files []scan.File, masks []plan.Mask) error {
	n := 0
	for _, f := range files {
		if f.Mended {
			n++
		}
		at := scan.At(root, f.Path)
		if f.Stops == "" || launch.Hidden(masks, at) {
			continue
		}
		hint := "`ringfence trust` accepts it as it is now; `ringfence scan` explains it"
		if f.Digest == "" {
			hint = "remove it, or hide it with --mask; `ringfence scan` explains it"
		}
		return fault.New(fault.Refused, hint, "agents obey %s, which was not looked into: %s", plan.Show(at), f.Stops)
	}
	if n > maxNeutral {
		return fault.New(fault.Refused, "`ringfence scan` lists them, `ringfence trust` accepts them as they are now", "%s has %d files of settings that nobody has trusted, more than can be shown without what is dangerous", plan.Show(root), n)
	}
	return nil
}

// gitDirs are the git directories of a workspace that lie outside of all of them.
func outsideDirs(p launch.Place, root string) []string {
	if p.Repo == nil || p.Repo.Root() != root {
		return nil
	}
	return slices.DeleteFunc(p.Repo.OutsideDirs(), func(dir string) bool {
		return slices.ContainsFunc(p.Workspaces, func(ws launch.Workspace) bool { return file.Within(dir, ws.Path) })
	})
}

// below is where the agent starts, as a path in a workspace.
func below(p launch.Place, root string) string {
	if p.Dir == root || !file.Within(p.Dir, root) {
		return ""
	}
	return strings.TrimPrefix(p.Dir[len(root):], "/")
}

// sift leaves what is dangerous and not trusted, the digest of all that, and what holds a
// login, which is not shown whoever trusts the rest.
func (u *Untrusted) sift(store launch.Accepted, root string, report *scan.Report) (out []scan.File, digest string, err error) {
	sum, dangers := sha256.New(), 0
	for _, f := range report.Files {
		trusted := !f.Danger
		if f.Danger && f.Digest != "" {
			if trusted, err = store.Trusted(root, f.Path, f.Digest); err != nil {
				return nil, "", err
			}
		}
		if f.Unlogged != nil {
			u.logins = append(u.logins, f.Path)
		}
		if trusted && f.Unlogged != nil {
			f.Neutral, f.Mended = f.Unlogged, true
			out = append(out, f)
		}
		if trusted {
			continue
		}
		out = append(out, f)
		dangers++
		fmt.Fprintf(sum, "%q %s\n", f.Path, f.Digest)
		for _, finding := range report.About(f) {
			if finding.Level == scan.Danger {
				u.Findings = append(u.Findings, finding)
			}
		}
	}
	if dangers == 0 {
		return out, "", nil
	}
	return out, hex.EncodeToString(sum.Sum(nil)), nil
}

// mended is a file that stands inside for one of the host.
type mended struct {
	at       string
	original []byte
}

// neutralise puts files without what is dangerous in the place of the host's,
// read-only. One that shows phantoms goes on doing so.
func (pt *pretrust) neutralise(root string, files []scan.File) []mended {
	var out []mended
	for _, f := range files {
		dst := scan.At(root, f.Path)
		if !f.Mended || pt.total.Hides(dst) {
			continue
		}
		pt.Untrusted.neutral = append(pt.Untrusted.neutral, dst)
		if i := slices.IndexFunc(pt.total.Files, func(o plan.File) bool { return o.Dst == dst }); i >= 0 {
			pt.Others = append(pt.Others, plan.File{Dst: dst, Data: scan.Mend(f.Path, pt.total.Files[i].Data)})
			continue
		}
		pt.Files = append(pt.Files, plan.File{Dst: dst, Data: pt.Untrusted.spend(f.Neutral), Why: "project settings that nobody has trusted"})
		pt.Pinned = append(pt.Pinned, dst)
		out = append(out, mended{dst, asIsContent(f)})
	}
	return out
}

// maxNeutralBytes bounds what such files take of memory. Beyond it they are empty.
const maxNeutralBytes = 4 << 20

func (u *Untrusted) spend(data []byte) []byte {
	if u.bytes += len(data); u.bytes > maxNeutralBytes {
		return nil
	}
	return data
}

// asIsContent is what git inside may see of a file; nil for one that holds a login.
func asIsContent(f scan.File) []byte {
	if f.Unlogged != nil {
		return nil
	}
	return f.Content
}

// Where git inside finds the files as they are on the host.
const (
	asIs           = plan.Own + "/as-is/"
	asIsConfig     = plan.Own + "/gitconfig-as-is"
	asIsAttributes = plan.Own + "/gitattributes-as-is"
)

// asTheyAre keeps git from taking such a file for a change of the agent's: in this
// repository a filter gives it the file of the host.
func (pt *pretrust) asTheyAre(files []mended) {
	for _, f := range asTheyAre(pt.Repo, files) {
		if f.Dst == launch.GitConfigPath {
			pt.GitConfig += string(f.Data)
		} else {
			pt.Files = append(pt.Files, f)
		}
	}
}

// asTheyAre returns the files for that. What is to be added to git's configuration
// comes under its name.
func asTheyAre(repo *repo.Repo, files []mended) []plan.File {
	if repo == nil || repo.WorkTree == "" {
		return nil
	}
	const why = "git sees the project's settings as they are"
	var out []plan.File
	var attributes, config bytes.Buffer
	left := maxNeutralBytes
	for _, f := range files {
		if left -= len(f.original); left < 0 {
			break // git then takes the rest for changed
		}
		if f.original == nil || !file.Within(f.at, repo.WorkTree) || f.at == repo.WorkTree || file.Within(f.at, repo.GitDir) {
			continue
		}
		name := strconv.Itoa(len(out))
		fmt.Fprintf(&attributes, "%s filter=ringfence-%s\n", attributePattern(f.at[len(strings.TrimSuffix(repo.WorkTree, "/")):]), name)
		fmt.Fprintf(&config, "[filter \"ringfence-%s\"]\n\tclean = cat %s%s\n", name, asIs, name)
		out = append(out, plan.File{Dst: asIs + name, Data: f.original, Why: why})
	}
	if len(out) == 0 {
		return nil
	}
	fmt.Fprintf(&config, "[core]\n\tattributesFile = %s\n", asIsAttributes)
	include := fmt.Sprintf("[includeIf \"%s\"]\n\tpath = %s\n", configText.Replace("gitdir:"+wildText.Replace(repo.GitDir)), asIsConfig)
	return append(out,
		plan.File{Dst: asIsAttributes, Data: attributes.Bytes(), Why: why},
		plan.File{Dst: asIsConfig, Data: config.Bytes(), Why: why},
		plan.File{Dst: launch.GitConfigPath, Data: []byte(include)})
}

var (
	wildText   = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`)
	configText = strings.NewReplacer(`\`, `\\`, `"`, `\"`)
)

// attributePattern writes a path as a pattern that names it alone, quoted as git
// reads it: what is not plain is a number.
func attributePattern(path string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(wildText.Replace(path)) {
		if c <= ' ' || c >= 0x7f || c == '"' || c == '\\' {
			fmt.Fprintf(&b, "\\%03o", c)
		} else {
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// neutralClone does for a clone what neutralise does for a workspace: it was not
// there when the plan was made.
func (k *Changes) neutralClone(p *plan.Plan) error {
	if k.trees.Clone == "" {
		return nil
	}
	dir := k.Work.CloneDir()
	report, err := scan.Scan(dir, forCopy(&k.Base, scan.First("")))
	if err == nil {
		err = wholly(&k.Base, k.trees.Clone, report.Complete)
	}
	if err != nil {
		return err
	}
	var u Untrusted
	files, _, err := u.sift(k.Accepts(), k.trees.Clone, report)
	if err == nil {
		err = stops(k.trees.Clone, files, nil)
	}
	if err != nil {
		return err
	}
	var put []plan.File
	var changed []mended
	for _, f := range files {
		if dst := filepath.Join(k.trees.Clone, f.Path); f.Mended {
			put = append(put, plan.File{Dst: dst, Data: u.spend(f.Neutral), Why: "project settings that nobody has trusted"})
			changed = append(changed, mended{dst, asIsContent(f)})
		}
	}
	p.Ops = slices.Clone(p.Ops)
	var ops []plan.Op
	for _, f := range append(put, asTheyAre(k.Repo, changed)...) {
		at := slices.IndexFunc(p.Ops, func(o plan.Op) bool { return o.Do == plan.DoFile && string(o.Dst) == f.Dst })
		switch {
		case at < 0:
			ops = append(ops, plan.Op{Do: plan.DoFile, Dst: plan.Raw(f.Dst), Data: f.Data, Mode: 0o444, Why: f.Why})
		case f.Dst == launch.GitConfigPath:
			p.Ops[at].Data = append(slices.Clip(p.Ops[at].Data), f.Data...)
		default: // it shows phantoms
			p.Ops[at].Data = scan.Mend(strings.TrimPrefix(f.Dst, k.trees.Clone+"/"), p.Ops[at].Data)
		}
	}
	p.Ops = slices.Insert(p.Ops, len(p.Ops)-2, ops...) // before the root is sealed
	roomFor(p.Ops)
	return nil
}

// recordNeutral writes down which files stand inside without what they would run.
func (k *Changes) recordNeutral() {
	for _, p := range k.trees.Untrusted.neutral {
		k.run.Record(journal.Record{Kind: journal.Work, Event: journal.Masked, Name: p, Reason: "project settings that nobody has trusted"})
	}
}

// Shown remembers that the findings were shown: a person is stopped once by them.
func (u *Untrusted) Shown(p launch.Person) error {
	for root, seen := range u.seen {
		file := seenFile(p.Dirs, root)
		data, err := json.Marshal(seen)
		if err != nil {
			return err
		}
		if old, err := launch.ReadIfPresent(file, maxSeen); err == nil && bytes.Equal(old, data) || p.Asked.Passing {
			continue
		}
		if err := launch.WriteWhole(file, data); err != nil {
			return fmt.Errorf("remember what was shown: %w", err)
		}
	}
	return nil
}

const maxSeen = 4 << 20

func seenFile(dirs state.Dirs, root string) string {
	return filepath.Join(dirs.State, "scans", state.Key(root)+".json")
}

// readSeen only says what was shown and where to look, so what is wrong with it
// means that nothing was.
func readSeen(p launch.Person, root string) (seen seenScan, ok bool) {
	data, err := launch.ReadIfPresent(seenFile(p.Dirs, root), maxSeen)
	if err != nil || data == nil || json.Unmarshal(data, &seen) != nil {
		return seenScan{}, false
	}
	return seen, true
}

func quoteAll(paths []string) []string {
	const most = 512
	out := []string{}
	for _, p := range paths {
		if q := strconv.QuoteToASCII(p); len(out) < most && !slices.Contains(out, q) {
			out = append(out, q)
		}
	}
	slices.Sort(out)
	return out
}

func unquoteAll(quoted []string) []string {
	var out []string
	for _, q := range quoted {
		if p, err := strconv.Unquote(q); err == nil && filepath.IsLocal(p) {
			out = append(out, p)
		}
	}
	return out
}
