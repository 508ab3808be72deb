package change

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// tool fails the test where a real program is missing.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("this test needs %s: %v", name, err)
	}
	return path
}

// text draws lines from few words, so that many are equal.
func text() *rapid.Generator[[]byte] {
	return rapid.Custom(func(t *rapid.T) []byte {
		words := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "", "--- x", "+++ y", "\\ z", "@@", "\xff"}), 0, 20).Draw(t, "lines")
		out := strings.Join(words, "\n")
		if len(words) > 0 && rapid.Bool().Draw(t, "newline") {
			out += "\n"
		}
		return []byte(out)
	})
}

// edited draws a text of lines that occur once, and edits with lines of its own:
// there is one way only to align it with its origin.
func edited(t *rapid.T, side string, base []string) []byte {
	var out strings.Builder
	for i, line := range base {
		switch rapid.IntRange(0, 9).Draw(t, side) {
		case 0:
		case 1:
			fmt.Fprintf(&out, "%s%d changed\n", side, i)
		case 2:
			fmt.Fprintf(&out, "%s%d added\n%s", side, i, line)
		case 3:
			fmt.Fprintf(&out, "both%d added\n%s", i, line)
		default:
			out.WriteString(line)
		}
	}
	return []byte(strings.TrimSuffix(out.String(), rapid.SampledFrom([]string{"", "\n"}).Draw(t, "tail")))
}

func write(t interface{ Fatal(...any) }, dir, name string, b []byte) string {
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestPatchUnderstandsUnified: the real patch makes new from old, and old from new.
func TestPatchUnderstandsUnified(t *testing.T) {
	patch, diffTool, dir := tool(t, "patch"), tool(t, "diff"), t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		old, new := text().Draw(t, "old"), text().Draw(t, "new")
		made := Unified("old", "new", old, new)
		if bytes.Equal(old, new) {
			if len(made) != 0 {
				t.Fatalf("a patch of nothing: %q", made)
			}
			return
		}
		file := write(t, dir, "patch", made)
		for from, c := range map[string]struct{ in, want []byte }{"--forward": {old, new}, "--reverse": {new, old}} {
			in, out := write(t, dir, "in", c.in), filepath.Join(dir, "out")
			os.Remove(out)
			if msg, err := exec.Command(patch, "--silent", "--fuzz=0", from, "--output", out, in, file).CombinedOutput(); err != nil {
				t.Fatalf("patch %s: %v %s\n%s", from, err, msg, made)
			}
			if got, _ := os.ReadFile(out); !bytes.Equal(got, c.want) {
				t.Fatalf("patch %s made %q, want %q\n%s", from, got, c.want, made)
			}
		}
		a, b := write(t, dir, "a", old), write(t, dir, "b", new)
		theirs, _ := exec.Command(diffTool, "-u", "--minimal", a, b).Output()
		if marks(made) != marks(theirs) {
			t.Fatalf("%d lines differ, diff says %d:\n%s\n%s", marks(made), marks(theirs), made, theirs)
		}
	})
}

// marks counts the lines of a patch that differ.
func marks(patch []byte) int {
	n := 0
	for i, line := range bytes.Split(patch, []byte("\n")) {
		if i > 1 && len(line) > 0 && (line[0] == '+' || line[0] == '-') {
			n++
		}
	}
	return n
}

func TestUnified(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"equal", "a\n", "a\n", ""},
		{"new", "", "a\nb\n", "--- o\n+++ n\n@@ -0,0 +1,2 @@\n+a\n+b\n"},
		{"gone", "a\n", "", "--- o\n+++ n\n@@ -1 +0,0 @@\n-a\n"},
		{"no newline", "a", "a\n", "--- o\n+++ n\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"},
		{"context", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nx\n6\n7\n8\n9\n",
			"--- o\n+++ n\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n"},
		{"two sections", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "x\n2\n3\n4\n5\n6\n7\n8\ny\n",
			"--- o\n+++ n\n@@ -1,4 +1,4 @@\n-1\n+x\n 2\n 3\n 4\n@@ -6,4 +6,4 @@\n 6\n 7\n 8\n-9\n+y\n"},
	} {
		if got := string(Unified("o", "n", []byte(c.old), []byte(c.new))); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

// TestThreeIsGits: where lines can be aligned in one way only, the outcome is that
// of git merge-file, conflicts included.
func TestThreeIsGits(t *testing.T) {
	git, dir := tool(t, "git"), t.TempDir()
	conflicts, merges := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		base := make([]string, rapid.IntRange(1, 12).Draw(t, "lines"))
		for i := range base {
			base[i] = fmt.Sprintf("line %d\n", i)
		}
		b, o, th := []byte(strings.Join(base, "")), edited(t, "ours", base), edited(t, "theirs", base)
		cmd := exec.Command(git, "merge-file", "-p", "-q", write(t, dir, "o", o), write(t, dir, "b", b), write(t, dir, "t", th))
		cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "HOME="+dir)
		want, err := cmd.Output()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		got, ok := Three(b, o, th)
		if ok != (err == nil) || ok && !bytes.Equal(got, want) {
			t.Fatalf("base %q ours %q theirs %q: %q %v, git says %q %v", b, o, th, got, ok, want, err)
		}
		if ok {
			merges++
		} else {
			conflicts++
		}
	})
	if conflicts == 0 || merges == 0 {
		t.Errorf("%d merges and %d conflicts: one side was never tried", merges, conflicts)
	}
}

// lawful checks what holds for every merge.
func lawful(t interface{ Fatalf(string, ...any) }, base, ours, theirs []byte) {
	for _, c := range []struct{ o, th, want []byte }{{ours, base, ours}, {base, theirs, theirs}, {ours, ours, ours}} {
		if got, ok := Three(base, c.o, c.th); !ok || !bytes.Equal(got, c.want) {
			t.Fatalf("Three(%q, %q, %q) = %q, %v", base, c.o, c.th, got, ok)
		}
	}
	got, ok := Three(base, ours, theirs)
	mirror, okToo := Three(base, theirs, ours)
	if ok != okToo || !bytes.Equal(got, mirror) {
		t.Fatalf("base %q ours %q theirs %q: sides exchanged: %q %v, %q %v", base, ours, theirs, got, ok, mirror, okToo)
	}
	for _, line := range lines(got) {
		if !bytes.Contains(append(append(bytes.Clone(base), ours...), theirs...), line) {
			t.Fatalf("merged text has a line of its own: %q", line)
		}
	}
}

func TestThreeIsLawful(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lawful(t, text().Draw(t, "base"), text().Draw(t, "ours"), text().Draw(t, "theirs"))
	})
}

func FuzzMerge(f *testing.F) {
	f.Add([]byte("a\nb\nc\nd\n"), []byte("x\nb\nc\nd\n"), []byte("a\nb\nc\ny"))
	f.Add([]byte(""), []byte("a"), []byte("a\n"))
	f.Add([]byte("a\x00"), []byte("\x00"), []byte("b\n"))
	f.Fuzz(func(t *testing.T, base, ours, theirs []byte) {
		lawful(t, base, ours, theirs)
		a, b := lines(base), lines(ours)
		numbers := number(a, b)
		at, out := 0, [][]byte{}
		for _, h := range diff(numbers[0], numbers[1]) {
			out = append(append(out, a[at:h.a0]...), b[h.b0:h.b1]...)
			at = h.a1
		}
		if got := bytes.Join(append(out, a[at:]...), nil); !bytes.Equal(got, ours) {
			t.Fatalf("the differences make %q of %q, want %q", got, base, ours)
		}
	})
}

// TestBoundHolds: hostile texts end in a coarse difference, and soon.
func TestBoundHolds(t *testing.T) {
	var a, b, unique bytes.Buffer
	for i := range 200_000 {
		fmt.Fprintf(&a, "%d\n", i%7)
		fmt.Fprintf(&b, "%d\n", i%5)
		fmt.Fprintf(&unique, "%d\n", i)
	}
	for _, c := range [][2][]byte{{a.Bytes(), b.Bytes()}, {unique.Bytes(), b.Bytes()}, {a.Bytes(), nil}} {
		numbers := number(lines(c[0]), lines(c[1]))
		d := &differ{a: numbers[0], b: numbers[1], work: maxWork}
		d.part(hunk{0, len(d.a), 0, len(d.b)})
		if d.work < -2*len(d.a)-2*len(d.b) {
			t.Errorf("%d comparisons too many", -d.work)
		}
		if _, ok := Three(c[0], c[1], unique.Bytes()); ok && !bytes.Equal(c[0], unique.Bytes()) {
			t.Error("texts that have nothing in common were merged")
		}
	}
}

// TestLargeEdit: many edits in a large text of different lines are found one by
// one, although they are more than the exact search takes.
func TestLargeEdit(t *testing.T) {
	var a, b bytes.Buffer
	for i := range 20_000 {
		fmt.Fprintf(&a, "%d\n", i)
		if i%5 == 2 {
			fmt.Fprintf(&b, "changed\n")
		} else {
			fmt.Fprintf(&b, "%d\n", i)
		}
	}
	numbers := number(lines(a.Bytes()), lines(b.Bytes()))
	if got := len(diff(numbers[0], numbers[1])); got != 4000 {
		t.Errorf("%d differences, want 4000", got)
	}
}

func TestIsText(t *testing.T) {
	for in, want := range map[string]bool{"": true, "a\n": true, "\xe4\n": true, "a\x00": false,
		strings.Repeat("a", 8000) + "\x00": true, strings.Repeat("a", 7999) + "\x00": false} {
		if IsText([]byte(in)) != want {
			t.Errorf("%.20q is not %v", in, want)
		}
	}
}
