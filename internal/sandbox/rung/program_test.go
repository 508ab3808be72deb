package rung

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestKeptSum: a digest is taken from where it is kept only for the very same file, and a
// crooked one never.
func TestKeptSum(t *testing.T) {
	kept := filepath.Join(t.TempDir(), "program")
	asked := 0
	sum := strings.Repeat("ab", 32)
	of := func(id string) string {
		t.Helper()
		got, err := (&Program{ID: id, Sum: func() (string, error) { asked++; return sum, nil }}).KeptSum(kept)
		if err != nil || got != sum {
			t.Errorf("%q: %q, %v", id, got, err)
		}
		return got
	}
	for i, id := range []string{"1:2", "1:2", "1:3", "", "1:3"} {
		of(id)
		if want := []int{1, 1, 2, 3, 3}[i]; asked != want {
			t.Errorf("%d: %q: summed up %d times, want %d", i, id, asked, want)
		}
	}
	for _, text := range []string{"", "1:3", "1:3 " + sum, "1:3 " + sum[1:] + "\n", "1:3 " + strings.ToUpper(sum) + "\n", "1:3 " + sum + "\n\n", "1:33 " + sum + "\n", "1:3 " + strings.Repeat("z", 64) + "\n"} {
		if err := os.WriteFile(kept, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		before := asked
		if of("1:3"); asked != before+1 {
			t.Errorf("%q was taken", text)
		}
	}
	if _, err := (&Program{ID: "4", Sum: func() (string, error) { return "", errors.New("no") }}).KeptSum(kept); err == nil {
		t.Error("no error")
	}
}
