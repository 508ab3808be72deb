package cli

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"ringfence.dev/ringfence/internal/audit"
	"ringfence.dev/ringfence/internal/audit/scan"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/git/repo"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/policy/agent"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/session"
)

// scanForm is a scan for programs.
type scanForm struct {
	Root     string        `json:"root"`
	Findings []scanFinding `json:"findings"`
	Entries  int           `json:"entries"`
	Read     int           `json:"read"`
	Complete bool          `json:"complete"`
}

type scanFinding struct {
	scan.Finding
	Trusted bool `json:"trusted"`
}

// scan shows what of a repository would run or change when it is opened.
func scanCommand() *command {
	cmd := &command{name: "scan", args: "[PATH] [--json]", short: "show what of a repository would run when an agent opens it",
		long:     "Shows what of a repository would run, or would change what runs, when an agent, an\neditor or git opens it. Nothing of it is run. Exit status: 0 for nothing dangerous\nthat is not trusted, 1 for findings.",
		examples: []string{"ringfence scan", "ringfence scan --json"},
		takes:    takesOne}
	f := &cmd.flags
	asJSON := f.Bool("json", false, "print the findings as JSON")
	cmd.run = func(c *console, args []string) (int, error) {
		path := first(args)
		root, dir, err := c.scanRoot(path)
		if err != nil {
			return 2, fault.New(fault.Usage, "name a directory", "scan: %w", err)
		}
		report, err := c.scanAt(root, dir)
		if err != nil {
			return 2, err
		}
		c.inHistory(root, report)
		form, open, err := c.scanned(root, report)
		if err != nil {
			return 2, err
		}
		if *asJSON {
			err = c.writeJSON(form)
		} else {
			c.showScan(form)
		}
		if err == nil && open {
			return 1, nil
		}
		return 0, err
	}
	return cmd
}

// scanRoot is what is looked at, and where in it an agent would start: a directory
// that was named, or else what a launch here would take for the workspace.
func (c *console) scanRoot(path string) (root, dir string, err error) {
	named := path != ""
	if !named {
		path = "."
	}
	if path, err = filepath.Abs(path); err != nil {
		return "", "", err
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return "", "", err
	}
	if st, err := os.Stat(path); err != nil || !st.IsDir() {
		return "", "", fmt.Errorf("%q is not a directory", path)
	}
	if named {
		return path, "", nil
	}
	s, err := session.Look(session.Options{Agent: agent.Command, Dir: path, Environ: c.environ, Flags: &policy.Policy{}, NoProject: true})
	if err != nil {
		return path, "", nil // no workspace, and a directory all the same
	}
	root = s.Workspaces[0].Path
	return root, startIn(root, path), nil
}

// scanAt looks at a tree, and at the git directories of a linked worktree.
func (c *console) scanAt(root, dir string) (*scan.Report, error) {
	budget := scan.Hand(dir)
	if repo, err := repo.Find(root, c.getenv("HOME")); err == nil && repo != nil && repo.Root() == root {
		budget.Git = repo.OutsideDirs()
	}
	step, done := c.progress("looking at files", 0)
	defer done()
	budget.Step = step
	return scan.Scan(root, budget)
}

// inHistory adds what is a secret no more.
func (c *console) inHistory(root string, report *scan.Report) {
	secrets, whole := audit.InHistory(root, c.getenv("HOME"))
	for _, path := range secrets {
		report.InHistory(strings.TrimPrefix(path[len(root):], "/"))
	}
	report.Complete = report.Complete && whole
}

// startIn is where in a workspace an agent would start.
func startIn(root, dir string) string {
	rel, err := filepath.Rel(root, dir)
	if err != nil || rel == "." || !filepath.IsLocal(rel) {
		return ""
	}
	return rel
}

// scanned marks what is trusted, and reports whether something dangerous is not.
func (c *console) scanned(root string, report *scan.Report) (form scanForm, open bool, err error) {
	dirs, err := c.dirs()
	if err != nil {
		return form, false, err
	}
	store := session.TrustStore(dirs.State)
	form = scanForm{Root: plan.Show(root), Findings: []scanFinding{}, Entries: report.Entries, Read: report.Read, Complete: report.Complete}
	trusted := map[string]bool{}
	for _, f := range report.Files {
		if f.Digest == "" {
			continue
		}
		ok, err := store.Trusted(root, f.Path, f.Digest)
		if err != nil {
			return form, false, err
		}
		trusted[f.Path] = ok
	}
	for _, f := range report.Findings {
		ok := trusted[f.File()]
		f.Path = plan.Show(f.Path)
		form.Findings = append(form.Findings, scanFinding{f, ok})
		open = open || f.Level == scan.Danger && !ok
	}
	return form, open, nil
}

func (c *console) showScan(form scanForm) {
	w := bufio.NewWriter(c.out)
	defer w.Flush()
	dangers := 0
	for _, f := range form.Findings {
		writeFinding(w, f)
		if f.Level == scan.Danger && !f.Trusted {
			dangers++
		}
	}
	looked := fmt.Sprintf("looked at %d names, read %d files", form.Entries, form.Read)
	if !form.Complete {
		looked += "; there is more that was not looked at"
	}
	switch {
	case len(form.Findings) == 0:
		fmt.Fprintf(c.err, "ringfence: nothing found: %s\n", looked)
	case dangers == 0:
		fmt.Fprintf(c.err, "ringfence: nothing dangerous that is not trusted: %s\n", looked)
	default:
		fmt.Fprintf(c.err, "ringfence: %d dangerous: %s\nringfence: hint: `ringfence trust` there accepts exactly this content\n", dangers, looked)
	}
}

func writeFinding(w io.Writer, f scanFinding) {
	where := f.Path
	if f.Line > 0 {
		where += fmt.Sprintf(":%d", f.Line)
	}
	mark := string(f.Level)
	if f.Trusted {
		mark = "trusted"
	}
	fmt.Fprintf(w, "%s %-7s %s\n", f.ID, mark, where)
	inside := "shown as it is"
	switch {
	case f.Trusted:
		inside = "as it is: it is trusted"
	case f.Cured:
		inside = "the file is shown without it, until it is trusted"
	}
	for _, l := range []struct{ name, text string }{{"what", blot("", f.What)}, {"all", blot("", f.Full)}, {"who", f.Who + ", " + f.When}, {"gets", f.Gets}, {"inside", inside}} {
		if l.text == "" {
			continue
		}
		fmt.Fprintf(w, "  %-7s %s\n", l.name, wrapText(inert(l.text), 10, 80))
	}
}

// untrusted tells of what a repository brings before its agent starts: in full once,
// in a line after that.
func (c *console) untrusted(w io.Writer, s *session.Session, talk bool) {
	u := &s.Trees.Untrusted
	if !u.Complete && (talk || u.First) {
		fmt.Fprintln(w, "ringfence: not all of this tree was looked at; `ringfence scan` looks further")
	}
	if len(u.Findings) == 0 {
		return
	}
	if !u.New {
		if talk {
			fmt.Fprintf(w, "  not trusted %d settings of the project, shown before; see ringfence scan\n", len(u.Findings))
		}
		return
	}
	const most, ofOne = 16, 2 // lines, and of one file: none hides the others
	fmt.Fprintln(w, "ringfence: opening this repository would run or change something:")
	told, of := 0, map[string]int{}
	for _, f := range u.Findings {
		if of[f.Path]++; of[f.Path] > ofOne || told == most {
			continue
		}
		told++
		where := plan.Show(f.Path)
		if f.Line > 0 {
			where += fmt.Sprintf(":%d", f.Line)
		}
		how := "shown as it is"
		if f.Cured {
			how = "taken out inside"
		}
		fmt.Fprintf(w, "ringfence:   %s %s: %s (%s)\n", f.ID, where, strings.TrimSpace(inert(f.What)), how)
	}
	if told < len(u.Findings) {
		fmt.Fprintf(w, "ringfence:   and %d more\n", len(u.Findings)-told)
	}
	fmt.Fprintln(w, "ringfence: hint: `ringfence scan` explains it, `ringfence trust` accepts exactly this")
}
