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
	maxText         = 256
)

// allowed lists the settings that may enter the sandbox, with the test for their
// values. None names a program, a path, a URL or another file. Signing
// (user.signingKey, commit.gpgSign) is another matter: the key is the broker's to use.
var allowed = map[string]func(string) bool{
	"user.name":            isText,
	"user.email":           isText,
	"init.defaultbranch":   isWord,
	"core.autocrlf":        isWord,
	"pull.rebase":          isWord,
	"pull.ff":              isWord,
	"push.default":         isWord,
	"push.autosetupremote": isWord,
	"fetch.prune":          isWord,
	"rebase.autostash":     isWord,
	"rebase.autosquash":    isWord,
	"merge.conflictstyle":  isWord,
	"diff.algorithm":       isWord,
	"rerere.enabled":       isWord,
	"commit.verbose":       isWord,
	"color.ui":             isWord,
}

// signing lists what the host's side needs to know to sign: none of it enters.
var signing = map[string]bool{
	"commit.gpgsign": true, "tag.gpgsign": true, "tag.forcesignannotated": true, "user.signingkey": true, "gpg.format": true,
	"gpg.program": true, "gpg.openpgp.program": true, "gpg.ssh.program": true, "gpg.x509.program": true, "gpg.ssh.defaultkeycommand": true,
}

// Host is what the user's own git config contributes to the sandbox.
type Host struct {
	Settings    []settings.GitEntry // allowed settings, the effective value of each, by key
	Signing     []settings.GitEntry // what is said of signatures, in order: for the host's side alone
	Name, Email string              // in whose name is signed
	LeftOut     []string            // for people: what was not followed and would have mattered
	Broken      []string            // for people: files, with the line, that could not be read to their end
}

// ReadHost reads the user's config files in git's order, later over earlier;
// a file that does not exist is passed over. Includes are followed for what they
// say of the allowed settings, so that a work repository gets the work identity:
// include.path, and includeIf on a plain gitdir directory, judged by gitDir.
// These files are the user's own; written tells which of them an agent can write all
// the same, and those say nothing of signatures: what signs runs on the host.
//
// A file that cannot be read, or only in part, stops nothing: git on the host is the one
// that needs it, and says so itself. What stands before the mistake holds, but for
// signatures: half a file must not say what signs.
func ReadHost(files []string, gitDir, home string, written func(path string) bool) Host {
	r := hostReader{written: written, gitDir: gitDir, home: canonical(home), values: map[string]string{}, own: map[string]string{}, budget: maxConfigFiles}
	for _, file := range files {
		r.file(file, 0)
	}
	var h Host
	for key, value := range r.values {
		h.Settings = append(h.Settings, settings.GitEntry{Key: key, Value: value})
	}
	slices.SortFunc(h.Settings, func(a, b settings.GitEntry) int { return strings.Compare(a.Key, b.Key) })
	h.LeftOut, h.Broken, h.Signing = r.leftOut, r.broken, r.signing
	h.Name, h.Email = r.own["user.name"], r.own["user.email"]
	return h
}

type hostReader struct {
	gitDir, home string
	written      func(path string) bool
	values       map[string]string
	own          map[string]string // of values, what no agent can have written
	leftOut      []string
	broken       []string
	signing      []settings.GitEntry
	budget       int
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
	if !slices.Contains(r.broken, text) {
		r.broken = append(r.broken, text)
	}
}

func (r *hostReader) entry(file string, e settings.GitEntry, depth int) {
	cond, isIf := strings.CutPrefix(e.Key, "includeif.")
	cond, isPath := strings.CutSuffix(cond, ".path")
	switch {
	case e.Key == "include.path":
		r.include(file, e.Value, depth)
	case isIf && isPath:
		match, known := r.condition(file, cond)
		if !known {
			r.leftOut = append(r.leftOut, fmt.Sprintf("includeIf %q in %q: condition is not followed", cond, file))
		}
		if match {
			r.include(file, e.Value, depth)
		}
	case signing[e.Key] && r.agents(file):
		r.leftOut = append(r.leftOut, fmt.Sprintf("%s in %q: not used, the agent can write that file", e.Key, file))
	case signing[e.Key]:
		if e.Bare {
			e.Value = "true"
		}
		r.signing = append(r.signing, settings.GitEntry{Key: e.Key, Value: e.Value})
	case allowed[e.Key] != nil:
		value := e.Value
		if e.Bare {
			value = "true"
		}
		if !allowed[e.Key](value) {
			r.leftOut = append(r.leftOut, fmt.Sprintf("%s in %q: value is not one that is passed on", e.Key, file))
			return
		}
		r.values[e.Key] = value
		if !r.agents(file) {
			r.own[e.Key] = value
		}
	}
}

// agents holds for a file that lies, itself or by a link, where an agent writes.
func (r *hostReader) agents(file string) bool {
	real, err := filepath.EvalSymlinks(file)
	return err != nil || r.written != nil && (r.written(real) || r.written(file))
}

// include reads the file that value names, as seen from the file it stands in.
func (r *hostReader) include(file, value string, depth int) {
	path := value
	switch {
	case strings.HasPrefix(value, "~/"):
		path = filepath.Join(r.home, value[2:])
	case value == "" || value[0] == '~' || value[0] == '%':
		r.leftOut = append(r.leftOut, fmt.Sprintf("include %q in %q: not followed", value, file))
		return
	case value[0] != '/':
		path = filepath.Join(filepath.Dir(file), value)
	}
	r.file(path, depth+1)
}

// condition judges an includeIf. Known are "gitdir:DIR/" (anything below DIR) and
// "gitdir:DIR" (that git directory), where a DIR that is not anchored may stand
// anywhere; wildcards and other keywords are not known.
func (r *hostReader) condition(file, cond string) (match, known bool) {
	dir, ok := strings.CutPrefix(cond, "gitdir:")
	if !ok || dir == "" || strings.ContainsAny(dir, `*?[\`) {
		return false, false
	}
	if r.gitDir == "" {
		return false, true
	}
	slash := ""
	if strings.HasSuffix(dir, "/") {
		slash = "/"
	}
	switch {
	case strings.HasPrefix(dir, "~/"):
		dir = filepath.Join(r.home, dir[2:]) + slash
	case strings.HasPrefix(dir, "./"):
		dir = filepath.Join(canonical(filepath.Dir(file)), dir[2:]) + slash
	case dir[0] != '/':
		if slash == "" {
			return strings.HasSuffix(r.gitDir, "/"+dir), true
		}
		return strings.Contains(r.gitDir, "/"+dir), true
	}
	if slash == "" {
		return r.gitDir == dir, true
	}
	return strings.HasPrefix(r.gitDir, dir), true
}

func isText(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] == 0x7f {
			return false
		}
	}
	return s != "" && len(s) <= maxText
}

func isWord(s string) bool {
	for i := range len(s) {
		if !settings.GitNameByte(s[i]) && !strings.ContainsRune("._/", rune(s[i])) {
			return false
		}
	}
	return s != "" && settings.GitNameByte(s[0]) && s[0] != '-' && len(s) <= maxText
}
