package pypi

import (
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"ringfence.dev/ringfence/internal/policy"
)

// Names as PEP 508 has them. None is a path, none begins with a dot.
var projectName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)
})

const (
	maxName = 128
	maxFile = 256
)

// project reads the path of a question for the files of a project, below the index:
// "/name/".
func project(escaped string) (string, bool) {
	name, ok := strings.CutPrefix(strings.TrimSuffix(escaped, "/"), "/")
	return policy.NormalProject(name), ok && len(name) <= maxName && projectName().MatchString(name)
}

// metadata is what stands behind a file's name where its metadata is asked for.
const metadata = ".metadata"

// ends are what the names of files that can be installed end with.
var ends = []string{".whl", ".tar.gz", ".zip", ".tar.bz2", ".egg", ".tgz", ".tar", ".tbz", ".tar.xz", ".txz", ".tar.lz", ".tar.lzma", ".tlz", ".tar.zst"}

// isFile holds for the name of something that can be installed, or of its metadata.
func isFile(name string) bool {
	return installs(name) && validFile(strings.TrimSuffix(name, metadata))
}

// installs holds for what a tool would try to install by its name, whatever else is in it.
func installs(name string) bool {
	name = strings.TrimSuffix(strings.ToLower(name), metadata)
	return slices.ContainsFunc(ends, func(end string) bool { return strings.HasSuffix(name, end) })
}

// validFile takes names, and no paths.
func validFile(name string) bool {
	return name != "" && len(name) <= maxFile && strings.Trim(name, ".") != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r <= ' ' || r > '~' || strings.ContainsRune(`/\%?#"'<>&`, r)
	})
}

// guess lists the projects that a file can be of, by its name alone: a lock file has
// nothing else. A source distribution may have dashes in its own name.
func guess(file string) (out []string) {
	stem := strings.TrimSuffix(file, metadata)
	if strings.HasSuffix(stem, ".whl") || strings.HasSuffix(stem, ".egg") {
		name, _, _ := strings.Cut(stem, "-")
		return valid(name)
	}
	for i := len(stem) - 1; i > 0 && len(out) < 4; i-- {
		if stem[i] == '-' {
			out = append(out, valid(stem[:i])...)
		}
	}
	return out
}

func valid(name string) []string {
	if n, ok := project("/" + name); ok {
		return []string{n}
	}
	return nil
}

// version is what a file's name says that it is a version of, for people to read.
func version(name, file string) string {
	for i := range file {
		if file[i] == '-' && policy.NormalProject(file[:i]) == name {
			rest := file[i+1:]
			for _, end := range ends {
				rest = strings.TrimSuffix(rest, end)
			}
			if strings.HasSuffix(file, ".whl") || strings.HasSuffix(file, ".egg") {
				rest, _, _ = strings.Cut(rest, "-")
			}
			return rest
		}
	}
	return file
}

// fileOf is the last part of a path that a client asked for.
func fileOf(u *url.URL) string { return path.Base(u.Path) }
