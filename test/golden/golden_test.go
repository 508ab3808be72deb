package golden

import (
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/diff"
	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/test/stage"
)

var update = flag.Bool("update", false, "write testdata anew; root only")

func TestMain(m *testing.M) {
	flag.Parse()
	unix.Umask(0o022) // a plan tells the umask
	stage.Main(m)
}

// A role is whom a text is for. A line of a golden file that begins with the mark
// of a role is for that role only; every other line is for both.
type role struct {
	mark     string
	uid, gid int
}

var (
	root = role{"[root] ", 0, 0}
	user = role{"[user] ", 1711, 1711}
)

// self is the role of this process.
func self() role {
	if os.Getuid() == 0 {
		return root
	}
	return role{user.mark, os.Getuid(), os.Getgid()}
}

// golden holds what make returns against a file of testdata.
func golden(t *testing.T, file string, make func(*testing.T, role) string) {
	t.Helper()
	goldenPart(t, file, func(string) bool { return true }, make)
}

// goldenPart is golden for the lines that are asked for.
func goldenPart(t *testing.T, file string, asked func(line string) bool, make func(*testing.T, role) string) {
	t.Helper()
	file = filepath.Join("testdata", file)
	got := make(t, self())
	if *update && self() == root {
		if runtime.GOARCH != "amd64" {
			t.Fatal("the files are those of amd64: write them there")
		}
		writeFile(t, file, join(got, make(t, user)))
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v\nroot writes it: go test ./test/golden -update", err)
	}
	var part strings.Builder
	for line := range strings.Lines(self().part(string(data))) {
		if asked(line) {
			part.WriteString(line)
		}
	}
	if want := anyProcessor(part.String()); anyProcessor(got) != want {
		t.Errorf("%s\nIf the change is meant: go test ./test/golden -update, as root.", compare(file, want, anyProcessor(got)))
	}
}

// compare shows the lines that differ, and below them those of the longer texts
// that a line stands for.
func compare(file, want, got string) string {
	out := string(diff.Diff(file, []byte(want), "now", []byte(got)))
	for at, now := range laterTexts(want, got) {
		old, err := os.ReadFile(filepath.Join(textDir, at))
		if err == nil {
			out += "\n" + string(diff.Diff(at, old, "now", []byte(now)))
		}
	}
	return out
}

// part is what of a golden file is for a role.
func (r role) part(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, r.mark):
			b.WriteString(strings.TrimPrefix(line, r.mark))
		case !strings.HasPrefix(line, root.mark) && !strings.HasPrefix(line, user.mark):
			b.WriteString(line)
		}
	}
	return b.String()
}

// join makes one text of two, with marks on the lines that only one has.
func join(ofRoot, ofUser string) string {
	a, b := strings.SplitAfter(ofRoot, "\n"), strings.SplitAfter(ofUser, "\n")
	length := make([][]int, len(a)+1) // of the longest common rest
	for i := range length {
		length[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			length[i][j] = max(length[i+1][j], length[i][j+1])
			if a[i] == b[j] {
				length[i][j] = length[i+1][j+1] + 1
			}
		}
	}
	var out strings.Builder
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			out.WriteString(a[i])
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && length[i+1][j] >= length[i][j+1]:
			out.WriteString(root.mark + a[i])
			i++
		default:
			out.WriteString(user.mark + b[j])
			j++
		}
	}
	return out.String()
}

func writeFile(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestJoin(t *testing.T) {
	one, two := "a\nb\nc\n", "a\nx\nc\nd\n"
	both := join(one, two)
	if root.part(both) != one || user.part(both) != two {
		t.Errorf("%q", both)
	}
}
