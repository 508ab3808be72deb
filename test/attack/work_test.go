package attack

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"ringfence.dev/ringfence/test/rungs"
)

// views are the ways of cases about the workspace: how changes reach the host.
func views() []way {
	all := []way{
		{"live", []string{"run"}},
		{"review", []string{"run", "--review"}},
	}
	if rungs.Name() == rungs.GVisor {
		return all[1:] // the live view needs the kernel of the host
	}
	return all
}

// Words for what becomes of a path that an attack writes.
const (
	wordRefused  = "refused"  // the host is as it was, and so is the session's own view
	wordHeld     = "held"     // the host is as it was; the report has it, and it waits
	wordReported = "reported" // the report has it, by rank and with a reason
	wordWorks    = "works"    // it must work, and does
)

// wish is what must become of one path: WORD PATH [RANK]. The rank of what is held
// is unasked if none is given.
type wish struct{ word, path, rank string }

func parseWish(s string) (wish, error) {
	word, rest, _ := strings.Cut(s, " ")
	w := wish{word: word, path: rest}
	if at := strings.LastIndexByte(rest, ' '); at >= 0 && slices.Contains([]string{"unasked", "asked", "secret", "source"}, rest[at+1:]) {
		w.path, w.rank = rest[:at], rest[at+1:]
	}
	if w.rank == "" && word != wordRefused {
		w.rank = "unasked"
	}
	if w.path == "" || !slices.Contains([]string{wordRefused, wordHeld, wordReported}, word) {
		return w, fmt.Errorf("wish %q: want WORD PATH [RANK]", s)
	}
	return w, nil
}

// wishes are those of a case in one view. In review everything waits, so that is
// what they are unless the case says otherwise.
func (c Case) wishes(view string) ([]wish, error) {
	text := slices.Clone(c.Want)
	for _, p := range c.Part {
		text = append(text, p.Want...)
	}
	if view == "review" && c.Review != nil {
		text = c.Review
	}
	var out []wish
	for _, s := range text {
		w, err := parseWish(s)
		if err != nil {
			return nil, err
		}
		if view == "review" && c.Review == nil {
			w.word = wordHeld
			if w.rank == "" {
				w.rank = "unasked"
			}
		}
		out = append(out, w)
	}
	return out, nil
}

// entry is one change in the report of `ringfence diff --json`.
type entry struct {
	Path      string
	PathBytes []byte `json:"path_bytes"`
	From      string
	FromBytes []byte `json:"from_bytes"`
	Kind      string
	State     string
	Rank      string
	Text      string
	Findings  []struct{ Rank, Who, When, Why string }
}

func (e entry) name() string {
	if e.PathBytes != nil {
		return string(e.PathBytes)
	}
	return e.Path
}

func (e entry) from() string {
	if e.FromBytes != nil {
		return string(e.FromBytes)
	}
	return e.From
}

// reportFile is where scripts of the host's side find the report.
const reportFile = scratch + "/report.json"

// review asks for the report of the session that has just ended. None is left of
// a session that changed nothing.
func (h *host) review() ([]entry, error) {
	cmd, done, err := h.command([]string{binDir + "/ringfence", "diff", "--json"})
	if err != nil {
		return nil, err
	}
	defer done()
	var complaint strings.Builder
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return nil, err
	}
	if len(out) == 0 && strings.Contains(complaint.String(), "no session has left anything") {
		out = []byte(`{"entries": []}`)
	}
	var report struct{ Entries []entry }
	if err := json.Unmarshal(out, &report); err != nil {
		return nil, fmt.Errorf("ringfence diff --json: %w\n%s%s", err, out, complaint.String())
	}
	return report.Entries, os.WriteFile(reportFile, out, 0o644)
}

// tree takes down the workspace byte by byte. Names are the path in it.
func (h *host) tree() (map[string]string, error) {
	out := map[string]string{}
	err := filepath.WalkDir(h.ws, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, syscall.ENAMETOOLONG):
			return fs.SkipDir // a control may go deeper than a path can say
		case err != nil || path == h.ws:
			return err
		}
		st, err := d.Info()
		if errors.Is(err, syscall.ENAMETOOLONG) {
			return fs.SkipDir
		}
		if err != nil {
			return err
		}
		what := st.Mode().String()
		switch {
		case st.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			what += " to " + target
		case st.Mode().IsRegular() && st.Size() > 1<<20:
			what += fmt.Sprintf(" %d bytes of %d", st.Size(), st.ModTime().UnixNano())
		case st.Mode().IsRegular():
			sum, err := hashFile(path)
			if err != nil {
				return err
			}
			what += " " + sum
		}
		out[strings.TrimPrefix(path, h.ws+"/")] = what
		return nil
	})
	return out, err
}

func hashFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", sum.Sum(nil)), nil
}

// differs lists the paths at which two such trees differ.
func differs(before, after map[string]string) []string {
	var out []string
	for name, what := range after {
		if before[name] != what {
			out = append(out, name)
		}
	}
	for name := range before {
		if _, ok := after[name]; !ok {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}
