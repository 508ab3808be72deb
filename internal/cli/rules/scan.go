package rules

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"ringfence.dev/ringfence/internal/audit"
	"ringfence.dev/ringfence/internal/audit/scan"
	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/session/launch"
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

// Scan shows what of a repository would run or change when it is opened.
func Scan() *command.Command {
	cmd := &command.Command{Name: "scan", Args: "[PATH] [--json]", Short: "show what of a repository would run when an agent opens it",
		Long:     "Shows what of a repository would run, or would change what runs, when an agent, an\neditor or git opens it. Nothing of it is run. Exit status: 0 for nothing dangerous\nthat is not trusted, 1 for findings.",
		Examples: []string{"ringfence scan", "ringfence scan --json"},
		Takes:    command.One}
	asJSON := cmd.Flags.Bool("json", false, "print the findings as JSON")
	cmd.Run = func(c *command.Console, args []string) (int, error) {
		root, dir, err := scanRoot(c, command.First(args))
		if err != nil {
			return 2, fault.New(fault.Usage, "name a directory", "scan: %w", err)
		}
		report, err := scanAt(c, root, dir)
		if err != nil {
			return 2, err
		}
		inHistory(c, root, report)
		form, open, err := scanned(c, root, report)
		if err != nil {
			return 2, err
		}
		if *asJSON {
			err = c.JSON(form)
		} else {
			showScan(c, form)
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
func scanRoot(c *command.Console, path string) (root, dir string, err error) {
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
	s, err := lookAt(c, path)
	if err != nil {
		return path, "", nil // no workspace, and a directory all the same
	}
	root = s.Workspaces[0].Path
	return root, startIn(root, path), nil
}

func scanAt(c *command.Console, root, dir string) (*scan.Report, error) {
	step, done := c.Progress("looking at files", 0)
	defer done()
	return audit.Scan(root, dir, c.Getenv("HOME"), step)
}

// inHistory adds what is a secret no more.
func inHistory(c *command.Console, root string, report *scan.Report) {
	secrets, whole := audit.InHistory(root, c.Getenv("HOME"))
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
func scanned(c *command.Console, root string, report *scan.Report) (form scanForm, open bool, err error) {
	dirs, err := c.Dirs()
	if err != nil {
		return form, false, err
	}
	store := launch.TrustStore(dirs.State)
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

func showScan(c *command.Console, form scanForm) {
	w := bufio.NewWriter(c.Out)
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
		c.Say("nothing found: %s", looked)
	case dangers == 0:
		c.Say("nothing dangerous that is not trusted: %s", looked)
	default:
		c.Say("%d dangerous: %s", dangers, looked)
		c.Say("hint: `ringfence trust` there accepts exactly this content")
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
		fmt.Fprintf(w, "  %-7s %s\n", l.name, command.Wrap(command.Inert(l.text), 10, 80))
	}
}
