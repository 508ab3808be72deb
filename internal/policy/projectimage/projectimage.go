// Package projectimage reads which image a project wants its work to be done in: from its
// devcontainer.json, or from its Dockerfile. Both are written for other programs, and say
// much more. A name is all that is taken: nothing is built, fetched, mounted or run. Who
// uses the name wants a person to have trusted the file first.
package projectimage

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/policy"
)

// maxBytes bounds a file.
const maxBytes = 256 << 10

// Image is what a project's file says of an image.
type Image struct {
	File string // of the project, that says it
	// Name is what the engine knows the image by; "": the file names none, for a reason.
	Name   string
	Line   int
	Digest string   // of the whole file: it is what a person trusts
	Unused []string // what the file says besides

	Why    string // names none
	Builds bool   // because it says how to build one: nothing is wrong with it
}

// saying is a file that may name an image, and its reader.
type saying struct {
	file string
	read func([]byte) Image
}

// sayings are where the makers of dev containers look, in their order, and after that the
// file that every engine builds from.
var sayings = []saying{{".devcontainer/devcontainer.json", devcontainer}, {".devcontainer.json", devcontainer}, {"Dockerfile", dockerfile}}

// Find looks at the first of the files that is there; nil: there is none. What is there and
// cannot be used names no image, and the next file is not asked instead.
func Find(root string) *Image {
	for _, s := range sayings {
		data, err := readBeneath(root, s.file)
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
			continue
		}
		if err != nil {
			return &Image{File: s.file, Why: reason(err)}
		}
		i := s.read(data)
		if i.Name != "" {
			if err := policy.CheckImage(i.Name); err != nil {
				i = Image{Why: "what it names " + err.Error() + ", or has a variable in it"}
			}
		}
		i.File = s.file
		sum := sha256.Sum256(data)
		i.Digest = hex.EncodeToString(sum[:])
		return &i
	}
	return nil
}

// Key is what the trust of the name is recorded under. The file itself may be trusted for
// what else it does: `ringfence scan` knows it.
func (i *Image) Key() string { return Key(i.File) }

// Key is the same for a file by its name.
func Key(file string) string { return "image of " + file }

// Absent are the files that would decide before the one that was found, and are not there.
func Absent(found *Image) (out []string) {
	for _, s := range sayings {
		if found != nil && found.File == s.file {
			break
		}
		out = append(out, s.file)
	}
	return out
}

// Rule is the name as policy has it.
func (i *Image) Rule() *policy.Rule {
	return &policy.Rule{Value: i.Name, Source: policy.Source{File: i.File, Line: i.Line}}
}

// Change is the name as what a project adds.
func (i *Image) Change() policy.Change {
	return policy.Change{Section: "rung", Key: "image", Value: i.Name, Source: i.Rule().Source}
}

// readBeneath reads a regular file below root, over no link: it is the project's, and what a
// link leads to is not.
func readBeneath(root, name string) ([]byte, error) {
	dir, err := os.Open(root)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	fd, err := sys.OpenAt(int(dir.Fd()), name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_NOFOLLOW)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	return file.ReadRegular(f, maxBytes)
}

// reason says why a file was not read, without its name.
func reason(err error) string {
	switch {
	case errors.Is(err, unix.ELOOP):
		return "it is a link, or lies behind one"
	case errors.Is(err, file.ErrLong):
		return "it is too long"
	case errors.Is(err, file.ErrNotRegular), errors.Is(err, unix.ENXIO): // a socket
		return "it is not a regular file"
	}
	var path *os.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return err.Error()
}

// Rest says what of the file is not used; "" where that is nothing. The names are the
// project's words: only some of them are shown, and only what looks like one.
func (i *Image) Rest() string {
	const most = 8
	var names []string
	for _, n := range i.Unused[:min(len(i.Unused), most)] {
		if !plainWord().MatchString(n) {
			n = "…"
		}
		names = append(names, n)
	}
	text := strings.Join(names, ", ")
	if more := len(i.Unused) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

var plainWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z$.-]{1,40}$`) })
