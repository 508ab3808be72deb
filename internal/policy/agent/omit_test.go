package agent

import (
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOmitted(t *testing.T) {
	f := newFixture(t)
	f.write("ext/a/.env", "x", 0o600)
	f.write("ext/a/deep/.env", "x", 0o600)
	f.write("ext/b/.git/config", "x", 0o600)
	f.write("ext/.env", "x", 0o600)
	f.link("ext/l", "a")
	c := Config{Omit: []string{"*/.env", "*/.git", "none/.env"}}
	got, err := c.Omitted(f.path("ext"), os.ReadDir)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{f.path("ext/a/.env"), f.path("ext/b/.git")}, got); diff != "" {
		t.Error(diff)
	}
	if got, err := c.Omitted(f.path("absent"), os.ReadDir); err != nil || got != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestOmittedIsBounded(t *testing.T) {
	f := newFixture(t)
	for i := range maxListed + 1 {
		f.write("ext/"+strconv.Itoa(i), "", 0o600)
	}
	if _, err := (Config{Omit: []string{"*/.env"}}).Omitted(f.path("ext"), os.ReadDir); err == nil {
		t.Error("a directory that was not looked through may be shown")
	}
}
