package attack

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/pelletier/go-toml/v2"
)

// Kinds of cases, by what the exit status means.
const (
	kindNeg    = "neg"    // run inside: 0 is open, 1 is closed
	kindHost   = "host"   // run inside; open if then check says 0 or, without a check, if the host changed
	kindPos    = "pos"    // run inside: must be 0
	kindLaunch = "launch" // run on the host, launches by itself: must be 0
	kindWork   = "work"   // run inside: the paths must become what Want says, and Check, if any, must say 1
)

// Case is one row of the catalogue. The scripts are bash; what they may use is
// said in script_test.go.
type Case struct {
	ID    string
	Title string
	Kind  string
	Wall  string // what closes it; for a positive control, what it would break

	Setup string // on the host, as the user, before the launch
	Run   string
	Check string // on the host, afterwards

	Flags    []string          // for ringfence run
	Env      map[string]string // at the launch
	Terminal bool              // launched from a terminal
	Keys     string            // typed there once the script has printed "ready"
	Hangup   bool              // the terminal is closed once the script has printed "ready"
	Stdin    string            // a file or directory to stand on standard input

	Control  string // who runs the control, if not the same user: user, root
	Only     string // who the case is about, if not both: user, root
	Moot     string // a test on the host: 0 says that the kernel itself closes this, so there is no control
	Refused  bool   // to refuse the launch closes it as well
	Killed   bool   // to be killed closes it as well
	Sentry   bool   // so it does where the limit is that of another kernel
	Residual string // it is open, and this is why that is accepted

	Why []string // what `ringfence why` must say of it, see why_test.go

	Views  bool     // by the views of the workspace, and not by the other ways; always so for kind work
	Want   []string // what becomes of paths in the workspace, see wish
	Review []string // the same in review, if it is not that all of them wait
	Part   []Part   // cases of the catalogue that share one run
	Word   string   // of kind launch by views: what the page says of it; LIVE; REVIEW if they differ
}

// Part is a case that differs from its neighbours by a path only.
type Part struct {
	ID, Title string
	Want      []string
}

// byViews says whether the case is about the workspace.
func (c Case) byViews() bool { return c.Views || c.Kind == kindWork }

type file struct{ Case []Case }

// load reads all cases, strictly: a misspelt key would be a check that never runs.
func load() ([]Case, error) {
	names, err := filepath.Glob("testdata/cases/*.toml")
	if err != nil || len(names) == 0 {
		return nil, fmt.Errorf("no cases: %v", err)
	}
	var all []Case
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		var f file
		if err := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields().Decode(&f); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, f.Case...)
	}
	return all, nil
}

var idForm = regexp.MustCompile(`^[A-Z]{2}-[0-9]{3}[a-z]?$`)

func TestCasesAreWellFormed(t *testing.T) {
	all, err := load()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, c := range all {
		if !idForm.MatchString(c.ID) || seen[c.ID] {
			t.Errorf("%q: no number, or one that is taken", c.ID)
		}
		seen[c.ID] = true
		checkWork(t, c, seen)
		if c.Title == "" || c.Wall == "" || c.Run == "" {
			t.Errorf("%s: no title, wall or script", c.ID)
		}
		if !slices.Contains([]string{kindNeg, kindHost, kindPos, kindLaunch, kindWork}, c.Kind) {
			t.Errorf("%s: kind %q", c.ID, c.Kind)
		}
		for _, who := range []string{c.Control, c.Only} {
			if !slices.Contains([]string{"", "user", "root"}, who) {
				t.Errorf("%s: user %q", c.ID, who)
			}
		}
		if (c.Keys != "" || c.Hangup) && !c.Terminal {
			t.Errorf("%s: no terminal", c.ID)
		}
	}
}

// checkWork looks at what only cases of the workspace have.
func checkWork(t *testing.T, c Case, seen map[string]bool) {
	for _, p := range c.Part {
		if !idForm.MatchString(p.ID) || seen[p.ID] || p.Title == "" || len(p.Want) == 0 {
			t.Errorf("%q in %s: no number, or one that is taken, no title, or no wish", p.ID, c.ID)
		}
		seen[p.ID] = true
	}
	wants := len(c.Want) + len(c.Part)
	if c.Kind == kindWork && wants == 0 && c.Check == "" || !c.byViews() && wants+len(c.Review) > 0 || (c.Word != "") != (c.Views && c.Kind == kindLaunch) {
		t.Errorf("%s: wishes or a word that nobody reads, or none", c.ID)
	}
	for _, v := range views() {
		if _, err := c.wishes(v.name); err != nil {
			t.Errorf("%s: %v", c.ID, err)
		}
	}
}

// Every residual is told to the user, by its number.
func TestResidualsAreDocumented(t *testing.T) {
	all, err := load()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/threat-model.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		if c.Residual != "" && !bytes.Contains(page, []byte(c.ID)) {
			t.Errorf("docs/threat-model.md does not speak of %s: %s", c.ID, c.Residual)
		}
	}
}
