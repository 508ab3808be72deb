// Package checks has the commands that find out what holds on this machine, and those
// that put ringfence between its users and their agents.
package checks

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ringfence.dev/ringfence/internal/audit"
	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/git/repo"
	"ringfence.dev/ringfence/internal/session/launch"
)

// auditTime is how long an audit may take before it says what it left out.
const auditTime = 10 * time.Second

// Audit shows how exposed the machine and the project are.
func Audit() *command.Command {
	cmd := &command.Command{Name: "audit", Args: "[PATH] [--json | --sarif] [--all]", Short: "show how exposed this machine and project are",
		Long:     "Shows how exposed this machine and the project at PATH are to an agent: what lies about,\nwhich switches stand wrong, on which rung you stand and what says climb.\nIt reads and changes nothing. Exit 0: nothing found, 1: findings.",
		Examples: []string{"ringfence audit", "ringfence audit --all --json"},
		Takes:    command.One}
	f := &cmd.Flags
	asJSON := f.Bool("json", false, "print JSON")
	asSARIF := f.Bool("sarif", false, "print SARIF 2.1.0, for programs that show findings")
	all := f.Bool("all", false, "also show the inventory: what is no weakness by itself")
	cmd.Run = func(c *command.Console, args []string) (int, error) {
		if *asJSON && *asSARIF {
			return 2, fault.New(fault.Usage, "choose one", "--json and --sarif are two forms of the same")
		}
		if launch.Nested() {
			return 2, fault.New(fault.Usage, "run it outside", "this is the inside of a ringfence sandbox: the machine cannot be seen from here")
		}
		w, err := auditWorld(c, command.First(args))
		if err != nil {
			return 2, err
		}
		ctx, cancel := context.WithTimeout(context.Background(), auditTime)
		defer cancel()
		r, err := within(ctx, func() *audit.Report { return audit.Audit(ctx, w) })
		if err != nil {
			return 2, err
		}
		status := 0
		if r.Weak() {
			status = 1
		}
		if !*all {
			r.DropInventory()
		}
		switch {
		case *asJSON:
			return status, c.JSON(struct {
				Version string `json:"version"`
				Project string `json:"project,omitempty"`
				*audit.Report
			}{command.Version, w.Project, r})
		case *asSARIF:
			var b bytes.Buffer
			if err := audit.SARIF(&b, r, w, command.Version); err != nil {
				return 2, err
			}
			_, err := c.Out.Write(command.ASCII(b.Bytes()))
			return status, err
		}
		return status, showAudit(c, r, w)
	}
	return cmd
}

// within waits for an audit a little longer than it may take: it stops by itself unless
// a file system does not answer, and that nobody can interrupt.
func within(ctx context.Context, ask func() *audit.Report) (*audit.Report, error) {
	done := make(chan *audit.Report, 1)
	go func() { done <- ask() }()
	select {
	case r := <-done:
		return r, nil
	case <-ctx.Done():
	}
	select {
	case r := <-done:
		return r, nil
	case <-time.After(auditTime):
		return nil, fault.New(fault.Failed, "see which file system does not answer", "the audit waits for a file and does not come back")
	}
}

// auditWorld is this machine, with the project at path or around the directory where the
// user stands.
func auditWorld(c *command.Console, path string) (audit.World, error) {
	w := audit.Machine(c.Environ)
	home := c.Getenv("HOME")
	if !filepath.IsAbs(home) {
		return w, fault.New(fault.Usage, "set HOME", "HOME is not an absolute path: there is no home to look at")
	}
	var err error
	if w.Home, err = filepath.EvalSymlinks(home); err != nil {
		return w, fault.New(fault.NotFound, "set HOME", "the home directory: %w", err)
	}
	dirs, err := c.Dirs()
	if err != nil {
		return w, err
	}
	w.Config, w.State, w.Ceiling = dirs.Config, dirs.State, launch.Ceiling
	if w.Binary, err = os.Executable(); err != nil {
		return w, fmt.Errorf("find ringfence itself: %w", err)
	}
	w.Project, err = projectAt(path, w.Home)
	return w, err
}

// projectAt is the repository around a directory, or the directory. The home itself
// is a project only for who names it.
func projectAt(path, home string) (string, error) {
	dir := path
	if dir == "" {
		dir = "."
	}
	dir, err := filepath.Abs(dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return "", fault.New(fault.Usage, "", "the project: %w", err)
	}
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return "", fault.New(fault.Usage, "name the directory of a project", "%q is no directory", path)
	}
	if repo, err := repo.Find(dir, home); err == nil && repo != nil && repo.WorkTree != "" {
		return repo.WorkTree, nil
	}
	if path == "" && file.Within(home, dir) {
		return "", nil
	}
	return dir, nil
}

// showAudit prints a report for people.
func showAudit(c *command.Console, r *audit.Report, w audit.World) error {
	b := bufio.NewWriter(c.Out)
	width := min(command.Columns(c.Out), 100)
	styles := map[audit.Severity]command.Style{audit.Critical: command.Bad, audit.High: command.Bad, audit.Medium: command.Notice, audit.Low: command.Strong, audit.Info: command.Faint}
	for _, s := range audit.Severities() {
		if r.Count(s) == 0 {
			continue
		}
		fmt.Fprintf(b, "%s\n", c.Paint(styles[s], string(s)))
		for _, f := range r.Findings {
			if f.Severity == s {
				showFinding(b, f, w, width)
			}
		}
		fmt.Fprintln(b)
	}
	showRung(c, b, r, width)
	fmt.Fprintf(b, "\n%s\n", auditSummary(r))
	return b.Flush()
}

func showFinding(b io.Writer, f audit.Finding, w audit.World, width int) {
	title := f.Title
	if f.Detail != "" {
		title += " (" + f.Detail + ")"
	}
	fmt.Fprintf(b, "  %s  %s\n", f.ID, spread(title, 10, width))
	for _, row := range [][2]string{{"where", w.Shown(f.Where)}, {"gets", f.Gets}, {"fix", f.Fix}} {
		fmt.Fprintf(b, "          %-6s %s\n", row[0], spread(row[1], 17, width))
	}
}

// spread wraps text of others at a column.
func spread(text string, indent, width int) string {
	return command.Wrap(command.Inert(strings.Join(strings.Fields(text), " ")), indent, width)
}

func showRung(c *command.Console, b io.Writer, r *audit.Report, width int) {
	level := r.Rung.Level
	if level == "" {
		level = "-"
	}
	fmt.Fprintf(b, "%-10s %s\n", "rung", spread(level+"  "+r.Rung.Title, 11, width))
	for _, e := range r.Rung.Evidence {
		fmt.Fprintf(b, "%-10s %s\n", "", spread(e, 11, width))
	}
	for i, e := range r.Rung.Around {
		fmt.Fprintf(b, "%-10s %s\n", []string{"this is", ""}[min(i, 1)], spread(e, 11, width))
	}
	for i, t := range r.Triggers {
		fmt.Fprintf(b, "%-10s %s\n", []string{"climb for", ""}[min(i, 1)], spread(t.Title+": --for "+t.For, 11, width))
		for _, e := range t.Evidence {
			fmt.Fprintf(b, "%-10s   %s\n", "", spread(e, 13, width))
		}
	}
	who := "of the bare agent"
	if level == "L2" {
		who = "behind the fence"
	}
	fmt.Fprintf(b, "%-10s %s  (%s)\n", "trifecta", r.Trifecta.Line(audit.UTF8(c.Getenv)), who)
	for _, n := range r.Notes {
		fmt.Fprintf(b, "%-10s %s\n", "note", spread(n, 11, width))
	}
}

// auditSummary is the last line.
func auditSummary(r *audit.Report) string {
	var parts []string
	for _, s := range audit.Severities() {
		if n := r.Count(s); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	if len(parts) == 0 {
		return fmt.Sprintf("nothing found by %d checks", r.Checks)
	}
	return fmt.Sprintf("%s; %d checks", strings.Join(parts, ", "), r.Checks)
}
