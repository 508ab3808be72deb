package knownsecrets

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// plant makes a home with the given files and returns its resolved path.
func plant(t *testing.T, files ...string) string {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("canary"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return home
}

func symlink(t *testing.T, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Fatal(err)
	}
}

// seen returns the paths that Under finds, relative to home.
func seen(t *testing.T, home, path string, expose ...string) []string {
	t.Helper()
	var all []string
	for _, f := range Under(home, path, expose) {
		rel, err := filepath.Rel(home, f.Path)
		if err != nil || f.Entry.What == "" {
			t.Fatalf("finding %+v: %v", f, err)
		}
		all = append(all, rel)
	}
	return all
}

func TestUnder(t *testing.T) {
	home := plant(t, ".ssh/id_rsa", ".ssh/config", ".config/gh/hosts.yml", ".config/zoomus.conf", ".config/nvim/init.lua",
		".config/JetBrains/GoLand/options/a.xml", ".cargo/credentials.toml", ".cargo/bin/rg", "src/p/main.go", "src/p/.env")
	for path, want := range map[string][]string{
		"src":                              nil,
		"src/p":                            nil, // a workspace's own .env is for masks, not for refusals
		"src/p/.env":                       {"src/p/.env"},
		"src/absent":                       nil,
		".ssh":                             {".ssh"},
		".ssh/config":                      {".ssh/config"},
		".ssh/absent":                      {".ssh/absent"},
		".cargo":                           {".cargo/credentials.toml"},
		".cargo/bin":                       nil,
		".config":                          {".config/JetBrains", ".config/gh", ".config/zoomus.conf"},
		".config/nvim":                     nil,
		".config/JetBrains/GoLand":         {".config/JetBrains/GoLand"},
		".config/absent/../gh/":            {".config/gh"},
		".":                                {".cargo/credentials.toml", ".config/JetBrains", ".config/gh", ".config/zoomus.conf", ".ssh"},
		"src/p/../../.config/gh/hosts.yml": {".config/gh/hosts.yml"},
	} {
		if got := seen(t, home, home+"/"+path); !slices.Equal(got, want) {
			t.Errorf("Under(~/%s) = %q, want %q", path, got, want)
		}
	}
}

func TestUnderAncestorOfHome(t *testing.T) {
	home := plant(t, ".netrc")
	if got := seen(t, home, filepath.Dir(home)); !slices.Equal(got, []string{".netrc"}) {
		t.Errorf("above home: %q", got)
	}
	var etc []string
	for _, f := range Under(home, "/etc", nil) {
		etc = append(etc, f.Path)
	}
	if !slices.Contains(etc, "/etc/shadow") {
		t.Errorf("Under(/etc) = %q", etc)
	}
	if got := Under("", "/etc/shadow", nil); len(got) != 1 {
		t.Errorf("without a home: %v", got)
	}
}

func TestUnderFollowsSymlinks(t *testing.T) {
	home := plant(t, ".ssh/config", "dotfiles/config/gh/hosts.yml", "src/main.go")
	symlink(t, home+"/.ssh", home+"/src/keys")
	symlink(t, "dotfiles/config", home+"/.config")
	symlink(t, home, home+"-alias")
	t.Cleanup(func() { os.Remove(home + "-alias") })

	for path, want := range map[string][]string{
		home + "/src/keys":        {".ssh"}, // the given path is innocent, the resolved one is not
		home + "/src/keys/config": {".ssh/config"},
		home + "/src":             nil, // a symlink in a mounted tree leads nowhere inside
		home + "/.config":         {".config/gh"},
		home + "-alias/.ssh":      {".ssh"},
		home + "-alias/src":       nil,
		home + "-alias":           {".config/gh", ".ssh"},
	} {
		if got := seen(t, home, path); !slices.Equal(got, want) {
			t.Errorf("Under(%s) = %q, want %q", path, got, want)
		}
	}
	// The other way round: HOME is the alias and the path is not.
	if got := Under(home+"-alias", home+"/.ssh/config", nil); len(got) != 1 {
		t.Errorf("home by its alias: %v", got)
	}
}

func TestUnderExpose(t *testing.T) {
	home := plant(t, ".ssh/id_rsa", ".aws/credentials", ".config/gh/hosts.yml")
	for _, c := range []struct {
		path   string
		expose []string
		want   []string
	}{
		{"/.ssh", []string{"/.ssh"}, nil},
		{"/.ssh/id_rsa", []string{"/.ssh"}, nil},
		{"/.ssh", []string{"/.ssh/id_rsa"}, []string{".ssh"}}, // a part does not name the whole
		{"", []string{"/.ssh", "/.aws"}, []string{".config/gh"}},
		{"", []string{""}, []string{".aws", ".config/gh", ".ssh"}}, // HOME names nothing
		{"/.config", []string{"/.config/gh/hosts.yml"}, []string{".config/gh"}},
		{"/.config", []string{"/.config/gh"}, nil},
	} {
		expose := make([]string, len(c.expose))
		for i, e := range c.expose {
			expose[i] = home + e
		}
		if got := seen(t, home, home+c.path, expose...); !slices.Equal(got, c.want) {
			t.Errorf("Under(~%s) exposing %q = %q, want %q", c.path, c.expose, got, c.want)
		}
	}
}

// A listing that is cut short is an answer of "yes".
func TestUnderHugeDirectory(t *testing.T) {
	home := plant(t)
	for i := range maxNames + 1 {
		if err := os.Symlink("x", fmt.Sprintf("%s/f%d", home, i)); err != nil {
			t.Fatal(err)
		}
	}
	if got := seen(t, home, home); !slices.Contains(got, ".vault_pass*") {
		t.Errorf("Under(~) = %q", got)
	}
	if err := os.Remove(home + "/f0"); err != nil {
		t.Fatal(err)
	}
	if got := seen(t, home, home); got != nil {
		t.Errorf("with a listing that is whole: %q", got)
	}
}

func TestLinked(t *testing.T) {
	home := plant(t, ".aws/credentials", ".netrc", "ws/main.go")
	if got := Linked(home, home+"/ws"); got != nil {
		t.Errorf("no second name: %v", got)
	}
	if err := os.Link(home+"/.aws/credentials", home+"/ws/innocent"); err != nil {
		t.Fatal(err)
	}
	got := Linked(home, home+"/ws")
	if len(got) != 1 || got[0].Path != home+"/.aws/credentials" {
		t.Errorf("Linked = %v", got)
	}
	if got := Linked(home, "/proc"); got != nil {
		t.Errorf("another filesystem: %v", got)
	}
}
