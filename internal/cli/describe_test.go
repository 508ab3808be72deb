package cli

import (
	"errors"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/cli/docgen"
	"ringfence.dev/ringfence/internal/cli/table"
)

// described is what all commands say of themselves, in an empty environment.
func described(t *testing.T) []docgen.Command {
	t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	c := &context{in: null, out: null, err: null, environ: []string{"HOME=" + t.TempDir()}}
	all, err := c.describe()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func visit(all []docgen.Command, do func(docgen.Command)) {
	for _, c := range all {
		do(c)
		visit(c.Subs, do)
	}
}

func TestCommandsDescribeThemselves(t *testing.T) {
	visit(described(t), func(c docgen.Command) {
		if c.Short == "" || c.About == "" {
			t.Errorf("%s says nothing of itself", c.Name)
		}
		if n := len(c.Examples); len(c.Subs) == 0 && (n < 1 || n > 3) {
			t.Errorf("%s has %d examples", c.Name, n)
		}
		for _, e := range c.Examples {
			if !strings.Contains(e, "ringfence "+c.Name) || len(e) > 78 {
				t.Errorf("%s: %q is no example of it", c.Name, e)
			}
		}
		for _, f := range c.Flags {
			if f.Text == "" || strings.HasSuffix(f.Text, ".") {
				t.Errorf("%s %s: %q", c.Name, f.Dashed(), f.Text)
			}
		}
	})
}

// TestHelpFits: the help of everything, and the list of it all, in 80 columns.
func TestHelpFits(t *testing.T) {
	helps := []string{"help"}
	visit(described(t), func(c docgen.Command) { helps = append(helps, "help "+c.Name) })
	for _, line := range helps {
		text := shown(t, 0, []string{"HOME=" + t.TempDir()}, func(c *context) {
			if _, err := c.dispatch(append([]string{"ringfence"}, strings.Fields(line)...)); err != nil && !errors.Is(err, flag.ErrHelp) {
				t.Errorf("%s: %v", line, err)
			}
		})
		if text == "" {
			t.Errorf("%s says nothing", line)
		}
		for l := range strings.Lines(text) {
			if table.Width(strings.TrimSuffix(l, "\n")) > 80 {
				t.Errorf("%s: %d columns: %q", line, table.Width(l), l)
			}
		}
	}
}

// TestSubcommandsAreTold: a command that looks at its first argument by itself has
// subcommands that nobody is told of.
func TestSubcommandsAreTold(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	for _, name := range files {
		if name == "describe.go" || strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if at := ownVerb(n); at.IsValid() {
				t.Errorf("%s: a subcommand goes through c.verb or c.mustVerb", fset.Position(at))
			}
			return true
		})
	}
}

// ownVerb finds args[0] == "word", switch args[0] and m[args[0]].
func ownVerb(n ast.Node) (at token.Pos) {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		if lit, ok := n.Y.(*ast.BasicLit); ok && n.Op == token.EQL && firstArg(n.X) {
			if word, _ := strconv.Unquote(lit.Value); word != "" && !strings.HasPrefix(word, "-") {
				return n.Pos()
			}
		}
	case *ast.SwitchStmt:
		if n.Tag != nil && firstArg(n.Tag) {
			return n.Pos()
		}
	case *ast.IndexExpr:
		if _, call := n.Index.(*ast.CallExpr); !call && firstArg(n.Index) {
			return n.Pos()
		}
	}
	return token.NoPos
}

// firstArg matches args[0] and f.Arg(0).
func firstArg(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.IndexExpr:
		x, ok := e.X.(*ast.Ident)
		i, lit := e.Index.(*ast.BasicLit)
		return ok && lit && i.Value == "0" && x.Name == "args"
	case *ast.CallExpr:
		sel, ok := e.Fun.(*ast.SelectorExpr)
		if !ok || sel.Sel.Name != "Arg" || len(e.Args) != 1 {
			return false
		}
		lit, ok := e.Args[0].(*ast.BasicLit)
		return ok && lit.Value == "0"
	}
	return false
}

// Where the generated texts are kept.
const (
	manualDir     = "../../docs/man"
	completionDir = "../../packaging/completion"
)

// TestPagesAreCurrent: what is kept of the manual and the completions is what the
// program prints now.
func TestPagesAreCurrent(t *testing.T) {
	all := described(t)
	want := map[string]string{}
	for name, text := range docgen.Manual(all, manualShort, manualAbout, manualMore) {
		want[filepath.Join(manualDir, name)] = text
	}
	for _, shell := range docgen.Shells() {
		want[filepath.Join(completionDir, "ringfence."+shell)] = docgen.Completion(shell, all)
	}
	var old []string
	for path, text := range want {
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			old = append(old, filepath.Base(path))
		}
	}
	if slices.Sort(old); len(old) > 0 {
		t.Errorf("not what ringfence prints: %q; run `make pages`", old)
	}
	for _, dir := range []string{manualDir, completionDir} {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		for _, e := range entries {
			if _, ok := want[filepath.Join(dir, e.Name())]; !ok {
				t.Errorf("%s is of a command that is gone: run `make pages`", filepath.Join(dir, e.Name()))
			}
		}
	}
}

func TestSuggest(t *testing.T) {
	words := []string{"run", "rm", "policy", "grant", "--json", "--yes"}
	for typed, want := range map[string]string{
		"polciy": "policy", "polic": "policy", "grnat": "grant", "runn": "run", "--jsno": "--json", "--yess": "--yes",
		"frobnicate": "", "": "", "x": "", strings.Repeat("policy", 1000): "",
	} {
		got := suggest(typed, words)
		if want == "" && got != "" || want != "" && !strings.Contains(got, strconv.Quote(want)) {
			t.Errorf("%q: %q", typed, got)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"", "ab", 2}, {"kitten", "sitting", 3}, {"ab", "ba", 1}, {"log", "logs", 1}} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("%q, %q: %d", c.a, c.b, got)
		}
	}
}
