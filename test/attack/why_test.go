package attack

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/rungs"
)

// Every denial of the suite is asked about: `ringfence why` must say of its subject
// what the suite saw. What a probe met is in its own words, "closed NAME ERRNO"; what
// becomes of the workspace is in the wishes of a case; the rest a case says itself, as
// ACCESS VERDICT SUBJECT. The verdict "refused" is any but allowed.

// unasked are the denials that have no subject, and why.
var unasked = map[string]string{
	"AG-001": aLaunch, "AG-001a": aLaunch, "AG-003": aLaunch, "AG-006": aLaunch, "LA-002": aLaunch,
	"EP-003": aProcess, "EP-004": aProcess, "EP-009": aProcess, "EP-009a": aProcess, "EP-014": aProcess, "EP-017": aProcess,
	"EP-020": aProcess, "EP-022a": aProcess, "RF-001": aProcess, "RF-002": aProcess, "IN-001a": aProcess, "RF-011": aProcess,
	"IP-012": aProcess, "IP-012a": aProcess, "IP-014": aProcess, "RF-003": aProcess, "KN-027": aProcess, "RF-015": aProcess,
	"EP-012": "its name is no name of a variable: nobody could ask for it",
	"KN-001": aCall, "KN-002": aCall, "KN-002a": aCall, "KN-002b": aCall, "KN-003": aCall, "KN-004": aCall, "KN-006": aCall,
	"KN-006a": aCall, "KN-007": aCall, "KN-008": aCall, "KN-009": aCall, "KN-010": aCall, "KN-011": aCall, "KN-011a": aCall,
	"KN-013": aCall, "KN-014": aCall, "KN-018": aCall, "KN-018a": aCall, "KN-020": aCall, "KN-020a": aCall, "KN-021": aCall,
	"KN-021a": aCall, "KN-022": aCall, "KN-025": aCall, "KN-029": aCall, "KN-030": aCall, "RF-013": aCall, "RF-119": aCall,
	"RS-001": aLimit, "RS-002": aLimit, "RS-003": aLimit,
	"TT-001": aTerminal, "TT-001a": aTerminal, "TT-003": aTerminal, "TT-004": aTerminal, "TT-006": aTerminal, "TT-007": aTerminal,
	"TT-008": aTerminal, "TT-009": aTerminal,
	"GT-011": learned, "GT-011a": learned, "GT-024": learned, "GT-025": learned, "RF-116": learned, "PH-043": "it is about links by their own names, not about what they lead to", "RF-121": aCall,
}

const (
	aLaunch   = "it is about what is run, and by whom"
	aProcess  = "it is about processes, descriptors or their memory"
	aCall     = "it is about a system call or a privilege"
	aLimit    = "it is about an amount"
	aTerminal = "it is about the terminal"
	learned   = "the keeper learns it while the session runs"
)

// tellsSubjects finds the verbs of the probe whose names are subjects.
var tellsSubjects = regexp.MustCompile(`"\$P" (read|write|connect|order) `)

// denies says whether a case is a denial.
func (c Case) denies() bool {
	return c.Residual == "" && (c.Kind == kindNeg || c.Kind == kindHost || c.Kind == kindWork)
}

func TestEveryDenialIsAskedAbout(t *testing.T) {
	all, err := load()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, c := range all {
		seen[c.ID] = true
		reason, listed := unasked[c.ID]
		wishes, err := c.wishes("live")
		if err != nil {
			t.Error(err)
		}
		asked := len(c.Why) > 0 || tellsSubjects.MatchString(c.Run) || len(wishes) > 0
		switch {
		case !c.denies() && (listed || len(c.Why) > 0):
			t.Errorf("%s is no denial, and why is to be asked about it", c.ID)
		case c.denies() && !asked && !listed:
			t.Errorf("%s: nobody asks why: name its subjects, or list the reason that it has none", c.ID)
		case listed && len(c.Why) > 0:
			t.Errorf("%s has subjects and is listed to have none: %s", c.ID, reason)
		}
		for _, s := range c.Why {
			if len(strings.SplitN(s, " ", 3)) != 3 {
				t.Errorf("%s: why %q: want ACCESS VERDICT SUBJECT", c.ID, s)
			}
		}
	}
	for id := range unasked {
		if !seen[id] {
			t.Errorf("%s is no case", id)
		}
	}
}

// question is one subject, with the verdicts that agree with what was seen.
type question struct {
	kind, access, subject string
	verdicts              []string
	ours                  bool // it must be claimed
}

// askWhy replays the denials of a run. It is for the way that the control stands
// beside, and for both views.
func (h *host) askWhy(got *outcome) error {
	c := h.req.Case
	if _, none := unasked[c.ID]; none || !c.denies() || !h.firstWay() || !got.Ran {
		return nil
	}
	questions, err := h.questions(got)
	if err != nil {
		return err
	}
	got.Asked = len(questions)
	if len(questions) == 0 && !got.Moot {
		got.Why = append(got.Why, "there was nothing to ask why about")
	}
	for _, q := range questions {
		if fault := h.ask(q); fault != "" {
			got.Why = append(got.Why, fault)
		}
	}
	return nil
}

func (h *host) firstWay() bool {
	return slices.Equal(h.req.Enter, ways()[0].args) || h.req.Case.byViews()
}

func (h *host) questions(got *outcome) ([]question, error) {
	var out []question
	for _, s := range h.expand(h.req.Case.Why) {
		word := strings.SplitN(s, " ", 3)
		kind := "--path"
		if word[0] == "env" {
			kind = "--variable"
		}
		out = append(out, question{kind, word[0], word[2], h.orWaits(agreeing(word[1]), word[2]), true})
	}
	if tellsSubjects.MatchString(h.req.Case.Run) {
		for line := range strings.Lines(got.Out) {
			if q, ok := met(strings.TrimSpace(line)); ok {
				if h.req.Rung != rungs.Native && strings.HasPrefix(q.subject, "/proc/") {
					q.verdicts = append(q.verdicts, "private") // another kernel has less there
				}
				out = append(out, q)
			}
		}
	}
	view := "live"
	if slices.Contains(h.req.Enter, "--review") {
		view = "review"
	}
	wishes, err := h.req.Case.wishes(view)
	for _, w := range wishes {
		other := otherwise[h.req.Case.ID+" "+w.path]
		if other == aLoss && w.word == wordHeld {
			other = "" // in review that waits like anything else
		}
		if other != "" || h.isLink(w) {
			continue
		}
		verdict := map[string][]string{wordHeld: {"held"}, wordRefused: agreeing("refused"), wordReported: {"allowed"}}[w.word]
		out = append(out, question{"--path", "write", h.ws + "/" + w.path, verdict, w.word == wordHeld})
	}
	return out, err
}

// orWaits adds that a path of the workspace waits, where nothing is live.
func (h *host) orWaits(verdicts []string, subject string) []string {
	if h.req.Rung != rungs.Native && strings.HasPrefix(subject, h.ws+"/") {
		return append(verdicts, "held")
	}
	return verdicts
}

// otherwise are wishes about something else than a write to the path.
var otherwise = map[string]string{
	"RF-107 mise": aMove, "RF-107 .clinerules": aMove, "RF-107 .junie": aMove,
	"RF-111 .exrc": aLoss, "RF-127 .claude/settings.json": aLoss, "RF-127 .pre-commit-config.yaml": aLoss,
	"RF-118 Makefile": "it is about a second name for what is open",
}

const (
	aMove = "it is about moving a directory to that name"
	aLoss = "it is about taking away what is there"
)

// isLink holds for a wish that is about a link, which is the name and not what it leads
// to.
func (h *host) isLink(w wish) bool {
	st, err := os.Lstat(h.ws + "/" + w.path)
	return err == nil && st.Mode()&os.ModeSymlink != 0
}

// agreeing are the verdicts that a word stands for.
func agreeing(word string) []string {
	if word == "refused" {
		return []string{"denied", "absent", "held", "private"}
	}
	return []string{word}
}

// met reads a line of the probe: what was tried, and how the wall answered.
func met(line string) (question, bool) {
	word := strings.Fields(line)
	if len(word) != 3 || word[0] != "closed" {
		return question{}, false
	}
	name, errno := word[1], word[2]
	if addr, ok := strings.CutPrefix(name, "tcp:"); ok {
		return question{"--host", "connect", addr, agreeing("refused"), true}, true
	}
	name = strings.TrimPrefix(name, "unix:")
	if !strings.HasPrefix(name, "/") {
		return question{}, false
	}
	_, err := os.Lstat(name)
	q := question{"--path", "read", name, []string{"absent", "denied"}, err == nil}
	if errno == "EROFS" || errno == "EACCES" {
		q.access, q.verdicts = "write", []string{"denied"}
	}
	return q, true
}

// ask asks one question, and says what is wrong with the answer.
func (h *host) ask(q question) string {
	argv := append([]string{binDir + "/ringfence", "why", "--json", q.kind}, h.expand(h.launchFlags())...)
	cmd, done, err := h.command(append(argv, "--", q.subject))
	if err != nil {
		return err.Error()
	}
	defer done()
	var complaint strings.Builder
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		return fmt.Sprintf("why %q: %v: %s", q.subject, err, complaint.String())
	}
	var answer struct {
		Findings []struct {
			Access, Verdict, By, Rule, Source, Reason string
			Ours                                      bool
		}
	}
	if err := json.Unmarshal(out, &answer); err != nil {
		return fmt.Sprintf("why %q: %v", q.subject, err)
	}
	for _, f := range answer.Findings {
		switch {
		case f.Access != q.access:
			continue
		case !slices.Contains(q.verdicts, f.Verdict):
			return fmt.Sprintf("why says that %s %q is %s (%s: %s), and the suite saw otherwise: want one of %q", f.Access, q.subject, f.Verdict, f.By, f.Reason, q.verdicts)
		case q.ours && (!f.Ours || f.Rule == "" || f.Source == ""):
			return fmt.Sprintf("why does not own up to %s %q, or names no rule: %+v", f.Access, q.subject, f)
		}
		return ""
	}
	return fmt.Sprintf("why %q says nothing of %s: %s", q.subject, q.access, out)
}

// launchFlags are those that the case was launched with.
func (h *host) launchFlags() []string {
	return slices.Concat(h.req.Enter[1:], h.req.Case.Flags)
}
