package arch

import (
	"fmt"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/audit/drill"
	"ringfence.dev/ringfence/internal/sandbox/verify"
)

// asked is how many things the documents that began ringfence ask for.
const asked = 299

// TestSeedsAreShown: docs/seeds.md has everything that was asked for exactly once, and
// each thing that it names as a proof is there.
func TestSeedsAreShown(t *testing.T) {
	page, err := os.ReadFile("../../docs/seeds.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range judgeSeeds(string(page), asked) {
		t.Error(e)
	}
}

// TestSeedsCanFail is the control: a page that is not whole, or names what is not there,
// is told of.
func TestSeedsCanFail(t *testing.T) {
	const good = "| 1, 3-4 | a | done | `check 1`, `drill rm-home` |\n| 2 | b | not: c | nothing shows it |\n"
	if errs := judgeSeeds(good, 4); len(errs) > 0 {
		t.Fatalf("a page that is whole: %v", errs)
	}
	for row, want := range map[string]string{
		"":                                                          "5 is missing",
		"| 5-4 | a | done | `check 1` |":                            "no range",
		"| 4-5 | a | done | `check 1` |":                            "4 is there twice",
		"| 5, 6 | a | done | `check 1` |":                           "6 was not asked for",
		"| five | a | done | `check 1` |":                           "no number",
		"| 5 | a | done | `check 1` | e |":                          "5 columns",
		"| 5 |  | done | `check 1` |":                               "says nothing",
		"| 5 | a | better | `check 1` |":                            "begins with none of",
		"| 5 | a | done | check 1 |":                                "no name",
		"| 5 | a | done | |":                                        "no name",
		"| 5 | a | done | `check 0` |":                              "check 0 is not there",
		"| 5 | a | done | `check 1000` |":                           "check 1000 is not there",
		"| 5 | a | done | `drill none` |":                           "drill none is not there",
		"| 5 | a | done | `case XX-001` |":                          "case XX-001 is not there",
		"| 5 | a | done | `docs/no.md` |":                           "docs/no.md is not there",
		"| 5 | a | done | `make test` |":                            "no kind of proof",
		"| 5 | a | done | `/etc/passwd` |":                          "no kind of proof",
		"| 5 | a | done | nothing shows |":                          "no name",
		"| 5 | a | done | `testdata/script/no-such.txtar` |":        "testdata/script/no-such.txtar is not there",
		"| 5 | a | done | `test/arch.TestNoSuch` |":                 "test/arch.TestNoSuch is not there",
		"| 5 | a | done | `test/nowhere.TestSeedsCanFail` |":        "test/nowhere.TestSeedsCanFail is not there",
		"| 5 | a | done | `check 1`, `test/arch.TestSeedsCanFai` |": "test/arch.TestSeedsCanFai is not there",
	} {
		errs := judgeSeeds(good+row+"\n", 5)
		if !slices.ContainsFunc(errs, func(e string) bool { return strings.Contains(e, want) }) {
			t.Errorf("%q: %q, not %q", row, errs, want)
		}
	}
	// What is named by the real page resolves for the right reason.
	for _, name := range []string{"case FR-001", "case NT-009", "docs/seeds.md", "testdata/script/absent.txtar", "test/arch.TestSeedsCanFail", "LICENSE-MIT"} {
		if err := resolveProof(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// judgeSeeds lists what is wrong with a page that must have the numbers 1 to n.
func judgeSeeds(page string, n int) []string {
	var errs []string
	seen := map[int]bool{}
	for i, line := range strings.Split(page, "\n") {
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "| rows |") || strings.HasPrefix(line, "|---|") {
			continue
		}
		say := func(format string, args ...any) {
			errs = append(errs, fmt.Sprintf("line %d: ", i+1)+fmt.Sprintf(format, args...))
		}
		cells := strings.Split(strings.TrimSuffix(strings.TrimPrefix(line, "|"), "|"), "|")
		if len(cells) != 4 {
			say("%d columns", len(cells))
			continue
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		numbers, err := parseNumbers(cells[0])
		if err != nil {
			say("%v", err)
		}
		for _, r := range numbers {
			if r < 1 || r > n {
				say("%d was not asked for", r)
			} else if seen[r] {
				say("%d is there twice", r)
			}
			seen[r] = true
		}
		if cells[1] == "" {
			say("it says nothing of what is asked")
		}
		states := []string{"done", "another way", "partly", "not"}
		if !slices.ContainsFunc(states, func(s string) bool { return strings.HasPrefix(cells[2], s) }) {
			say("%q begins with none of %q", cells[2], states)
		}
		for _, e := range judgeProofs(cells[3]) {
			say("%s", e)
		}
	}
	for r := 1; r <= n; r++ {
		if !seen[r] {
			errs = append(errs, fmt.Sprintf("%d is missing", r))
		}
	}
	return errs
}

// parseNumbers reads "1, 3-5".
func parseNumbers(text string) ([]int, error) {
	var all []int
	for part := range strings.SplitSeq(text, ", ") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		a, err1 := strconv.Atoi(first)
		b, err2 := strconv.Atoi(last)
		if err1 != nil || err2 != nil {
			return all, fmt.Errorf("%q is no number", part)
		}
		if b < a || isRange && a == b || b-a > asked {
			return all, fmt.Errorf("%q is no range", part)
		}
		for ; a <= b; a++ {
			all = append(all, a)
		}
	}
	return all, nil
}

// judgeProofs reads the last column: names between backticks, or the words for none.
func judgeProofs(cell string) []string {
	if cell == "nothing shows it" {
		return nil
	}
	var errs []string
	for part := range strings.SplitSeq(cell, ", ") {
		if m := quoted.FindStringSubmatch(part); m == nil {
			errs = append(errs, fmt.Sprintf("%q is no name between backticks", part))
		} else if err := resolveProof(m[1]); err != nil {
			errs = append(errs, err.Error())
		}
	}
	return errs
}

var (
	quoted     = regexp.MustCompile("^`([^`]+)`$")
	scriptName = regexp.MustCompile(`^testdata/script/[a-z0-9_-]+\.txtar$`)
	testName   = regexp.MustCompile(`^((?:internal|test|cmd)(?:/[a-z0-9]+)+)\.(Test[A-Z][A-Za-z0-9]*)$`)
	pageName   = regexp.MustCompile(`^(?:docs/[A-Za-z0-9/-]+\.md|README\.md|CONTRIBUTING\.md|LICENSE-[A-Z]+)$`)
	caseName   = regexp.MustCompile(`^[A-Z]{2}-[0-9]{3}[a-z]?$`)
)

// resolveProof looks for what a name stands for.
func resolveProof(name string) error {
	there := false
	kind, rest, _ := strings.Cut(name, " ")
	switch m := testName.FindStringSubmatch(name); {
	case scriptName.MatchString(name), pageName.MatchString(name):
		info, err := os.Stat(path.Join("../..", name))
		there = err == nil && info.Mode().IsRegular()
	case m != nil:
		there = anyFileHas(path.Join("../..", m[1]), "_test.go", "\nfunc "+m[2]+"(t *testing.T)")
	case kind == "check":
		there = slices.ContainsFunc(verify.Checks(), func(c verify.Check) bool { return strconv.Itoa(c.N) == rest })
	case kind == "drill":
		there = drill.Find(rest) != nil
	case kind == "case" && caseName.MatchString(rest):
		there = anyFileHas("../attack/testdata/cases", ".toml", "\nid = \""+rest+"\"\n") || anyFileHas("../netattack", "ids_test.go", "{\""+rest+"\", ")
	default:
		return fmt.Errorf("%q is no kind of proof", name)
	}
	if !there {
		return fmt.Errorf("%s is not there", name)
	}
	return nil
}

// anyFileHas reports whether a file of a directory with such an end has a text.
func anyFileHas(dir, suffix, text string) bool {
	entries, _ := os.ReadDir(dir)
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		if !strings.HasSuffix(e.Name(), suffix) {
			return false
		}
		data, err := os.ReadFile(path.Join(dir, e.Name()))
		return err == nil && strings.Contains(string(data), text)
	})
}
