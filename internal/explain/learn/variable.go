package learn

import (
	"bytes"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/file/sys"
)

// maxText bounds how much of one file is searched for names.
const maxText = 256 << 10

// common are names that are in every environment and that scripts mention for reasons
// of their own.
var common = []string{"_", "PWD", "OLDPWD", "SHLVL", "HOME", "PATH", "USER", "SHELL", "TERM", "HOSTNAME", "MAIL", "LS_COLORS"}

// namedIn finds which variables the opened files of the trees name, and in which of
// them first. A file is read as it is now, without following any link.
func namedIn(opened, trees, variables []string) []Variable {
	variables = slices.DeleteFunc(slices.Clone(variables), func(v string) bool { return len(v) < 3 || slices.Contains(common, v) })
	var out []Variable
	for _, p := range opened {
		if len(variables) == 0 || len(out) >= maxEnv {
			break
		}
		text := readText(p, trees)
		variables = slices.DeleteFunc(variables, func(v string) bool {
			if len(out) >= maxEnv || !hasWord(text, v) {
				return false
			}
			out = append(out, Variable{Name: v, File: p})
			return true
		})
	}
	slices.SortFunc(out, func(a, b Variable) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// hasWord finds a name that is not a part of a longer one.
func hasWord(text []byte, word string) bool {
	part := func(c byte) bool {
		return c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
	}
	for at := 0; ; {
		i := bytes.Index(text[at:], []byte(word))
		if i < 0 {
			return false
		}
		i += at
		end := i + len(word)
		if (i == 0 || !part(text[i-1])) && (end == len(text) || !part(text[end])) {
			return true
		}
		at = i + 1
	}
}

// readText reads a text file of a tree, or nothing. The agent may have put anything in
// its place: no link is followed and no pipe is waited for.
func readText(p string, trees []string) []byte {
	root := ""
	for _, t := range trees {
		if file.Within(p, t) && len(t) > len(root) {
			root = t
		}
	}
	if root == "" || p == root {
		return nil
	}
	at, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(at)
	fd, err := sys.OpenAt(at, strings.TrimPrefix(p[len(root):], "/"), unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return nil
	}
	f := os.NewFile(uintptr(fd), path.Base(p))
	defer f.Close()
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(f, maxText))
	if err != nil || bytes.IndexByte(text, 0) >= 0 {
		return nil
	}
	return text
}
