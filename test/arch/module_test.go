package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const modulePath = "ringfence.dev/ringfence"

// source is one file of the module.
type source struct {
	*ast.File
	path string // slash-separated, from the module's root
	test bool
	fset *token.FileSet
}

// load parses every Go file of the module, under all build tags, by directory.
func load(t *testing.T) map[string][]source {
	t.Helper()
	root := os.DirFS("../..")
	if _, err := fs.Stat(root, "go.mod"); err != nil {
		t.Fatal(err)
	}
	all := map[string][]source{}
	err := fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || nested(root, path)) {
			return fs.SkipDir
		}
		if d.IsDir() || filepath.Ext(path) != ".go" {
			return nil
		}
		data, err := fs.ReadFile(root, path)
		if err != nil {
			return err
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, data, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		dir := filepath.ToSlash(filepath.Dir(path))
		all[dir] = append(all[dir], source{f, path, strings.HasSuffix(path, "_test.go"), fset})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// nested reports whether another module begins at dir.
func nested(root fs.FS, dir string) bool {
	_, err := fs.Stat(root, dir+"/go.mod")
	return err == nil
}

// imports returns what the code of a package, without its tests, imports: first
// packages of this module by directory, then all others by path.
func imports(files []source) (own, foreign map[string]bool) {
	own, foreign = map[string]bool{}, map[string]bool{}
	for _, f := range files {
		if f.test {
			continue
		}
		for _, spec := range f.Imports {
			path, _ := strconv.Unquote(spec.Path.Value)
			if dir, ok := strings.CutPrefix(path, modulePath+"/"); ok {
				own[dir] = true
			} else {
				foreign[path] = true
			}
		}
	}
	return own, foreign
}
