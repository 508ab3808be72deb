package rules

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/cli/command"
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
