package hostexec

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/file/settings"
)

// MaxJudged bounds the files of a git directory that are judged by content.
const MaxJudged = 256 << 20

// FitsAfter is Fits where it is known what was there before, as far as that counts.
func FitsAfter(form Form, old, content, config []byte) error {
	if form == FormEnv {
		return fitsEnv(old, content)
	}
	return Fits(form, content, config)
}

// Fits says whether content has the form, and if not, why. What does not fit waits
// for a person. config is that of the repository, which says how an index is read; for
// other forms it may be nil.
func Fits(form Form, content, config []byte) error {
	if len(content) > MaxJudged {
		return errors.New("too large to be judged")
	}
	switch form {
	case FormAny:
		return nil
	case FormRef:
		return fitsRef(content)
	case FormPackedRefs:
		return fitsPackedRefs(content)
	case FormIndex:
		width, err := objectWidth(config)
		if err != nil {
			return err
		}
		return fitsIndex(content, width)
	case FormTodo:
		return fitsTodo(content)
	case FormEmpty:
		if len(content) != 0 {
			return errors.New("git follows the paths in it")
		}
		return nil
	case FormModules:
		return fitsModules(content)
	case FormLog:
		return fitsLog(content)
	case FormStrategy, FormApply, FormSequence, FormSign, FormName:
		return fitsState(form, content)
	case FormEnv:
		return fitsEnv(nil, content)
	}
	return errors.New("of no known form")
}

// fitsRef takes the two forms of a reference that git writes.
func fitsRef(content []byte) error {
	text := strings.TrimSuffix(string(content[:min(len(content), 4096)]), "\n")
	if name, ok := strings.CutPrefix(text, "ref: "); ok {
		if !strings.HasPrefix(name, "refs/") || !refNames(name) {
			return errors.New("it leads to no plain reference")
		}
		return nil
	}
	if len(text) != 40 && len(text) != 64 || !hex(text) {
		return errors.New("neither the name of an object nor of a reference")
	}
	return nil
}

func fitsPackedRefs(content []byte) error {
	for n := 1; len(content) > 0; n++ {
		line, rest, _ := bytes.Cut(content, []byte{'\n'})
		content = rest
		switch {
		case n == 1 && bytes.HasPrefix(line, []byte("# pack-refs with:")):
			continue
		case len(line) > 0 && line[0] == '^':
			if hex(string(line[1:])) {
				continue
			}
		default:
			id, name, ok := strings.Cut(string(line), " ")
			if ok && (len(id) == 40 || len(id) == 64) && hex(id) && strings.HasPrefix(name, "refs/") && refNames(name) {
				continue
			}
		}
		return fmt.Errorf("line %d is not one of packed references", n)
	}
	return nil
}

// fitsLog takes lines of a reflog: two objects, and who did what.
func fitsLog(content []byte) error {
	for n := 1; len(content) > 0; n++ {
		line, rest, _ := bytes.Cut(content, []byte{'\n'})
		content = rest
		ids, _, _ := strings.Cut(string(line), "<")
		words := strings.Fields(ids)
		if len(words) < 2 || !hex(words[0]) || !hex(words[1]) || len(words[0]) < 40 || len(words[1]) != len(words[0]) {
			return fmt.Errorf("line %d is not one of a reflog", n)
		}
	}
	return nil
}

// todoWords are the commands of a rebase that execute nothing by themselves.
var todoWords = []string{
	"pick", "p", "reword", "r", "edit", "e", "squash", "s", "fixup", "f", "drop", "d", "break", "b", "noop", "label", "l", "reset", "t", "merge", "m",
	"update-ref", "u",
}

func fitsTodo(content []byte) error {
	for line := range strings.SplitSeq(string(content), "\n") {
		word, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if word != "" && word[0] != '#' && !slices.Contains(todoWords, word) {
			return fmt.Errorf("git executes what stands behind %q", word[:min(len(word), 20)])
		}
	}
	return nil
}

// fitsModules reads .gitmodules: what leads git elsewhere or executes something is
// not plain, nor is a path that looks other than it is.
func fitsModules(content []byte) error {
	if len(content) > maxLook {
		return errors.New("too large to be judged")
	}
	entries, err := settings.ParseGit(content)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name, has := e.Sub()
		if e.Section() != "submodule" || !has || !plainModule(name) {
			return fmt.Errorf("line %d: not a plain submodule", e.Line)
		}
		if e.Bare || !plainModuleValue(e) {
			return fmt.Errorf("line %d: %s is not plain", e.Line, e.Name())
		}
	}
	return nil
}

// plainModule holds for names of submodules that can be nothing else in a git
// directory.
func plainModule(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if keywords[strings.ToLower(part)] || strings.HasPrefix(part, "-") {
			return false
		}
	}
	return printable(name)
}

func plainModuleValue(e settings.GitEntry) bool {
	switch e.Name() {
	case "path":
		return printable(e.Value) && plainTreePath(e.Value) && e.Value[0] != '-'
	case "url":
		return plainURL(e.Value) || relativeURL(e.Value)
	case "branch":
		return e.Value == "." || refNames(e.Value)
	case "update":
		return slices.Contains([]string{"checkout", "rebase", "merge", "none"}, e.Value)
	case "shallow", "fetchrecursesubmodules", "active":
		return flag(e) || e.Value == "on-demand"
	case "ignore":
		return slices.Contains([]string{"all", "dirty", "untracked", "none"}, e.Value)
	}
	return false
}

// relativeURL is an address beside that of the repository.
func relativeURL(url string) bool {
	return (strings.HasPrefix(url, "./") || strings.HasPrefix(url, "../")) && printable(url) && !strings.ContainsAny(url, " \\:")
}

// plainTreePath holds for a path that git may write in a worktree: relative, and no
// part of it leads upward or into a git directory, on any file system.
func plainTreePath(p string) bool {
	if p == "" || len(p) > 4096 || strings.IndexByte(p, 0) >= 0 {
		return false
	}
	for part := range strings.SplitSeq(p, "/") {
		if part == "" || part == "." || part == ".." || gitAlias(part) {
			return false
		}
	}
	return true
}

// gitAlias holds for names that some file system takes for .git.
func gitAlias(name string) bool {
	name = fold(name)
	if !strings.HasPrefix(name, ".git") && !strings.HasPrefix(name, "git~") {
		return false
	}
	name, _, _ = strings.Cut(name, ":")
	name, _, _ = strings.Cut(name, `\`)
	name = strings.TrimRight(name, ". ")
	return name == ".git" || name == "git~1"
}
