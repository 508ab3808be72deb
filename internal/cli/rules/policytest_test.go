package rules

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/policy/environ"
)

// TestTestsAreReadWhole: a file of tests is read to its end or not at all; a line that is
// left out would be a test that nobody made.
func TestTestsAreReadWhole(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, size int) string {
		const line = "deny read ~/.ssh/**\n"
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(line+strings.Repeat("# more\n", size/len("# more\n"))+line), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	f, err := testFile(nil, nil, []string{write("fits", 100_000)})
	if err != nil || len(f.Lines) != 2 {
		t.Errorf("%v, %v", f, err)
	}
	for name, want := range map[string]string{
		write("large", command.MaxRead): "larger than", write("larger", 2*command.MaxRead): "larger than", dir: "is not a regular file", filepath.Join(dir, "absent"): "there are no tests: ",
	} {
		if _, err := testFile(nil, nil, []string{name}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestEnvNames: names are set in lines of 80 columns, behind what became of them.
func TestEnvNames(t *testing.T) {
	var b bytes.Buffer
	writeNames(&b, "passed", nil)
	writeNames(&b, "set", entries(strings.Fields("A B "+strings.Repeat("LONG_NAME_OF_20_CHAR ", 4))))
	want := "  passed     nothing\n  set        A B LONG_NAME_OF_20_CHAR LONG_NAME_OF_20_CHAR LONG_NAME_OF_20_CHAR\n             LONG_NAME_OF_20_CHAR\n"
	if b.String() != want {
		t.Errorf("%q, not %q", b.String(), want)
	}
}

func entries(names []string) (out []environ.Entry) {
	for _, n := range names {
		out = append(out, environ.Entry{Name: n})
	}
	return out
}
