package golden

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// facts are what a text may hold that is another one in each run, for each user
// or on each machine.
type facts struct {
	role    role
	session string
}

// replacements is everything else that differs from run to run or from machine to
// machine. Each row is as narrow as it can be: what it takes away nobody sees change.
var replacements = []struct {
	what string
	old  *regexp.Regexp
	new  string
}{
	{"the user's number", regexp.MustCompile(`/run/user/\d+`), "/run/user/UID"},
	{"the machine-id, made of the session", regexp.MustCompile(`\A[0-9a-f]{32}\n\z`), "MACHINE-ID\n"},
	{"the layer, named after an inode", regexp.MustCompile(`/layer/[0-9a-f]{32}/`), "/layer/LAYER/"},
	{"a variable that holds the session", regexp.MustCompile(`\Asetenv RINGFENCE [0-9a-z]{10}\z`), "setenv RINGFENCE SESSION"},
	{"whose name the session has", regexp.MustCompile(`\Asetenv (USER|LOGNAME) [\w.-]+\z`), "setenv $1 NAME"},
	{"a time", regexp.MustCompile(`\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "TIME"},
	{"a session that a text names", regexp.MustCompile(`ringfence (grant|publish) [0-9a-z]{10} `), "ringfence $1 SESSION "},
	{"whose file it is", regexp.MustCompile(`it is no\s+program:\s+\\?"[^"]+"\s+belongs\s+to\s+(?:user\s+)?[\w.-]+\s+and\s+has\s+mode\s+(\d+)`), "it is no program, mode $1"},
	{"how much git makes in a repository", regexp.MustCompile(`looked at \d+ names, read \d+ files`), "looked at N names, read N files"},
	{"the same in JSON", regexp.MustCompile(`"(entries|read)": \d+`), `"$1": N`},
	{"a session", regexp.MustCompile(`/sessions/[0-9a-z]{10}/`), "/sessions/SESSION/"},
}

func (n facts) replace(s string) string {
	if n.session != "" {
		s = strings.ReplaceAll(s, n.session, "SESSION")
	}
	s = n.role.row().ReplaceAllString(s, "NAME:x:ID:")
	for _, r := range replacements {
		s = r.old.ReplaceAllString(s, r.new)
	}
	return phantom.ReplaceAllStringFunc(s, hidePhantom)
}

// phantom is a value that is worth nothing: the shape of a credential or of a masked
// value of testdata, and a random rest.
var phantom = regexp.MustCompile(`\b(sk-ant-[a-z]+\d\d-|sk-proj-|sk-|dbt_|gh[a-z]_|github_pat_|glpat-|npm_|AIza|ya29\.|CORP_TOKEN |API_TOKEN=|DB_PASSWORD="|TOKEN=)[A-Za-z0-9]{12,}|\A[A-Za-z0-9]{16,22}\n?\z`)

// real are parts of the credentials of testdata: one of them in a plan is to be seen.
var real = []string{"aaaaaaaaaaaa", "bbbbbbbbbbbb", "cccccccccccc", "abcdefghijkl", "qrstuvwxyz"}

func hidePhantom(s string) string {
	if slices.ContainsFunc(real, func(r string) bool { return strings.Contains(s, r) }) {
		return s
	}
	return phantom.ReplaceAllString(s, "${1}RANDOM")
}

// cardReplacements are for what a person is told about a session. The variables are
// in the plan; which limits hold depends on the machine.
var cardReplacements = []struct {
	old *regexp.Regexp
	new string
}{
	{regexp.MustCompile(`(?m)^ringfence [0-9a-z]{10} `), "ringfence SESSION "},
	{regexp.MustCompile(`(?m)^  limits .*\n(   +.*\n)*`), ""},
	{regexp.MustCompile(`(?m)^ringfence: warning: the limit of \d+ processes is not enforced: .*\n`), ""},
	{regexp.MustCompile(`(?m)^  set .*\n(   +.*\n)*`), ""},
	{regexp.MustCompile(`(?m)after [0-9.mµ]+s$`), "after TIME"},
}

func cardFacts(s string) string {
	for _, r := range cardReplacements {
		s = r.old.ReplaceAllString(s, r.new)
	}
	return s
}

// row is the beginning of the role's rows in /etc/passwd and /etc/group.
func (r role) row() *regexp.Regexp {
	return regexp.MustCompile(fmt.Sprintf(`(?m)^[\w.-]+:x:(%d:%d|%[2]d):`, r.uid, r.gid))
}

// value writes a number, a word or anything else of JSON.
func (n facts) value(key string, v any) string {
	switch v := v.(type) {
	case float64:
		if key == "landlock.abi" {
			return "of this kernel"
		}
		return strconv.FormatFloat(v, 'f', -1, 64)
	case string:
		return n.replace(v)
	}
	return fmt.Sprint(v)
}

// systemLine is what has to hold of the operating system's own files wherever
// they are.
func systemLine(op map[string]any) string {
	line := text(op["dst"])
	if op["do"] != "symlink" && op["do"] != "bind" || op["write"] != nil {
		line += " is not read-only"
	}
	return line
}

// checkSystem: of the list in testdata/system.txt, all that this machine has is
// shown, and nothing else.
func checkSystem(t *testing.T, got []string) {
	t.Helper()
	f, err := os.Open("testdata/system.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var want []string
	for s := bufio.NewScanner(f); s.Scan(); {
		real, err := filepath.EvalSymlinks(s.Text())
		if err != nil {
			continue
		}
		if st, err := os.Stat(real); err == nil && (st.IsDir() || st.Mode().IsRegular()) {
			want = append(want, s.Text())
		}
	}
	for _, path := range got {
		if !slices.Contains(want, path) {
			t.Errorf("of the system is shown, and testdata/system.txt does not say so: %s", path)
		}
	}
	for _, path := range want {
		if !slices.Contains(got, path) {
			t.Errorf("of the system is not shown, and testdata/system.txt says so: %s", path)
		}
	}
}
