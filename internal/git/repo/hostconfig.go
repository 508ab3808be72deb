package repo

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/file/settings"
)

const (
	maxIncludeDepth = 5
	maxConfigFiles  = 32
	maxHostSettings = 1000
)

// signing lists what the host's side needs to know to sign: none of it enters.
var signing = map[string]bool{
	"commit.gpgsign": true, "tag.gpgsign": true, "tag.forcesignannotated": true, "user.signingkey": true, "gpg.format": true,
	"gpg.program": true, "gpg.openpgp.program": true, "gpg.ssh.program": true, "gpg.x509.program": true, "gpg.ssh.defaultkeycommand": true,
}

// Host is what the user's own git config contributes to the sandbox.
type Host struct {
	Settings    []settings.GitEntry // those that may come inside, by key; of one key in git's order
	Outside     []string            // for people: the names of those that may not
	Excludes    string              // core.excludesFile and core.attributesFile, if no agent can have said so …
	Attributes  string              // … as git expands them
	Signing     []settings.GitEntry // what is said of signatures, in order: for the host's side alone
	Name, Email string              // in whose name is signed
	LeftOut     []string            // for people: what was not followed and would have mattered
	Broken      []string            // for people: files, with the line, that could not be read to their end
}

// HostRules is by which rules the user's config is read.
type HostRules struct {
	GitDir, Home string
	Written      func(path string) bool              // an agent can have written it; nil: none can
	Harmless     func(settings.GitEntry) bool        // it may come inside
	Ask          func(gitDir string) map[string]bool // the files that git includes here, by RealFile; nil: that is not known
}

// ReadHost reads the user's config files in git's order, later over earlier;
// a file that does not exist is passed over. Includes are followed, so that a work
// repository gets the work identity: include.path, and includeIf on a plain gitdir
// directory, judged by GitDir. Any other condition is git's own to judge.
// These files are the user's own; Written tells which of them an agent can write all
// the same, and those say nothing of signatures, since what signs runs on the host, and
// name no file of the host.
//
// A file that cannot be read, or only in part, stops nothing: git on the host is the one
// that needs it, and says so itself. What stands before the mistake holds, but for
// signatures: half a file must not say what signs.
func ReadHost(files []string, rules HostRules) Host {
	rules.Home = canonical(rules.Home)
	r := hostReader{HostRules: rules, budget: maxConfigFiles, agent: map[string]bool{}}
	for _, file := range files {
		r.file(file, 0)
	}
	slices.SortStableFunc(r.Settings, func(a, b settings.GitEntry) int { return strings.Compare(a.Key, b.Key) })
	return r.Host
}

type hostReader struct {
	HostRules
	Host
	budget   int
	agent    map[string]bool // files that an agent can write, as far as they were asked about
	asked    bool
	included map[string]bool // by git's own judgement, once it was asked
}

func (r *hostReader) file(path string, depth int) {
	if r.budget--; r.budget < 0 || depth > maxIncludeDepth {
		r.fail(path, errors.New("too many includes; it is not followed"))
		return
	}
	b, err := file.Read(path, settings.MaxGitBytes, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
		return
	}
	if err != nil {
		var named *fs.PathError
		if errors.As(err, &named) {
			err = named.Err
		}
		r.fail(path, fmt.Errorf("%w; nothing of it is used", err))
		return
	}
	entries, err := settings.ParseGitPart(b)
	if err != nil {
		r.fail(path, fmt.Errorf("%w; what stands before it is used, and nothing that it says of signatures", err))
	}
	for _, e := range entries {
		if err == nil || !signing[e.Key] {
			r.entry(path, e, depth)
		}
	}
}

// fail says what is wrong with a file, once.
func (r *hostReader) fail(path string, err error) {
	text := fmt.Sprintf("git config %q: %v", path, err)
	if !slices.Contains(r.Broken, text) {
		r.Broken = append(r.Broken, text)
	}
}

func (r *hostReader) entry(file string, e settings.GitEntry, depth int) {
	cond, isIf := strings.CutPrefix(e.Key, "includeif.")
	cond, isPath := strings.CutSuffix(cond, ".path")
	switch {
	case e.Key == "include.path":
		r.include(file, e.Value, depth)
	case isIf && isPath:
		r.includeIf(file, cond, e.Value, depth)
	case signing[e.Key] && r.agents(file):
		r.LeftOut = append(r.LeftOut, fmt.Sprintf("%s in %q: not used, the agent can write that file", e.Key, file))
	case signing[e.Key]:
		if e.Bare {
			e.Value = "true"
		}
		r.Signing = append(r.Signing, settings.GitEntry{Key: e.Key, Value: e.Value})
	case e.Key == "core.excludesfile" || e.Key == "core.attributesfile":
		r.named(file, e)
	default:
		r.setting(file, e)
	}
}

// setting takes over what may come inside.
func (r *hostReader) setting(file string, e settings.GitEntry) {
	if r.Harmless == nil || !r.Harmless(e) || len(r.Settings) == maxHostSettings {
		if name := outsideName(e); !slices.Contains(r.Outside, name) {
			r.Outside = append(r.Outside, name)
		}
		return
	}
	r.Settings = append(r.Settings, settings.GitEntry{Key: e.Key, Value: e.Value, Bare: e.Bare})
	switch {
	case e.Key == "user.name" && !r.agents(file):
		r.Name = e.Value
	case e.Key == "user.email" && !r.agents(file):
		r.Email = e.Value
	}
}

// outsideName names a setting for people. What stands between may be an address with a
// login, and is not told; the name of an alias is.
func outsideName(e settings.GitEntry) string {
	if _, has := e.Sub(); has {
		return e.Section() + ".*." + e.Name()
	}
	return e.Key
}

// named remembers a file of patterns. An agent could lead us to any file of the host.
func (r *hostReader) named(file string, e settings.GitEntry) {
	if r.agents(file) {
		r.LeftOut = append(r.LeftOut, fmt.Sprintf("%s in %q: not used, the agent can write that file", e.Key, file))
		return
	}
	path := e.Value
	if rel, ok := strings.CutPrefix(path, "~/"); ok {
		path = filepath.Join(r.Home, rel)
	}
	if !filepath.IsAbs(path) {
		r.LeftOut = append(r.LeftOut, fmt.Sprintf("%s in %q: not a path that is followed", e.Key, file))
		return
	}
	if e.Key == "core.excludesfile" {
		r.Excludes = path
	} else {
		r.Attributes = path
	}
}

// agents holds for a file that lies, itself or by a link, where an agent writes.
func (r *hostReader) agents(file string) bool {
	if known, ok := r.agent[file]; ok {
		return known
	}
	real, err := filepath.EvalSymlinks(file)
	r.agent[file] = err != nil || r.Written != nil && (r.Written(file) || real != file && r.Written(real))
	return r.agent[file]
}

// RealFile is a path without links, or as it is spelled if there is nothing.
func RealFile(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return filepath.Clean(path)
	}
	return real
}

// include reads the file that value names, as seen from the file it stands in.
func (r *hostReader) include(file, value string, depth int) {
	if path, ok := r.includedFrom(file, value); ok {
		r.file(path, depth+1)
		return
	}
	r.LeftOut = append(r.LeftOut, fmt.Sprintf("include %q in %q: not followed", value, file))
}

func (r *hostReader) includedFrom(file, value string) (path string, ok bool) {
	switch {
	case strings.HasPrefix(value, "~/"):
		return filepath.Join(r.Home, value[2:]), true
	case value == "" || value[0] == '~' || value[0] == '%':
		return "", false
	case value[0] != '/':
		return filepath.Join(filepath.Dir(file), value), true
	}
	return value, true
}

// includeIf follows an include if its condition holds here. One that is not a plain
// directory is git's to judge: it holds if git reads the file.
func (r *hostReader) includeIf(file, cond, value string, depth int) {
	match, known := r.condition(file, cond)
	if !known && r.Ask != nil && !r.asked {
		r.included, r.asked = r.Ask(r.GitDir), true
	}
	if path, ok := r.includedFrom(file, value); ok && !known && r.included != nil {
		match, known = r.included[RealFile(path)], true
	}
	if !known {
		r.LeftOut = append(r.LeftOut, fmt.Sprintf("includeIf %q in %q: condition is not followed", cond, file))
	}
	if match {
		r.include(file, value, depth)
	}
}

// condition judges an includeIf. Known are "gitdir:DIR/" (anything below DIR) and
// "gitdir:DIR" (that git directory), where a DIR that is not anchored may stand
// anywhere; wildcards and other keywords are not known.
func (r *hostReader) condition(file, cond string) (match, known bool) {
	dir, ok := strings.CutPrefix(cond, "gitdir:")
	if !ok || dir == "" || strings.ContainsAny(dir, `*?[\`) {
		return false, false
	}
	if r.GitDir == "" {
		return false, true
	}
	slash := ""
	if strings.HasSuffix(dir, "/") {
		slash = "/"
	}
	switch {
	case strings.HasPrefix(dir, "~/"):
		dir = filepath.Join(r.Home, dir[2:]) + slash
	case strings.HasPrefix(dir, "./"):
		dir = filepath.Join(canonical(filepath.Dir(file)), dir[2:]) + slash
	case dir[0] != '/':
		if slash == "" {
			return strings.HasSuffix(r.GitDir, "/"+dir), true
		}
		return strings.Contains(r.GitDir, "/"+dir), true
	}
	if slash == "" {
		return r.GitDir == dir, true
	}
	return strings.HasPrefix(r.GitDir, dir), true
}
