package rules

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/session/launch"
)

// options reads a command line as a launch would.
func options(t *testing.T, words ...string) (launch.Options, error) {
	t.Helper()
	cmd := &command.Command{Name: "run"}
	l := NewFlags(cmd)
	if err := cmd.ParseFlags(words); err != nil {
		t.Fatal(err)
	}
	return l.Options(&command.Console{Environ: []string{"HOME=/home/you"}}, "command", []string{"true"})
}

// TestFlagsAreALayer: what the flags say is what a policy file would say, and each rule
// names its flag.
func TestFlagsAreALayer(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	opt, err := options(t, "--ro", "~/notes", "--rw=data", "--mask", "private", "--review", "--reveal", "/w/.env",
		"--net", "dev,+rust", "--allow-host", "api.example.org", "--deny-host", "x.example.org", "--publish", "8080", "--proxy", "env",
		"--min-release-age", "3d", "--install-scripts", "--allow-package", "npm:left-pad", "--pids", "10", "--memory", "1GiB", "--env", "A=b", "--workspace", "sub:ro")
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{filepath.Join(here, "sub:ro")}; !cmp.Equal(want, opt.Workspaces) || !cmp.Equal([]string{"A=b"}, opt.Env) {
		t.Errorf("workspaces %q, variables %q", opt.Workspaces, opt.Env)
	}
	var b bytes.Buffer
	if err := policy.Write(&b, opt.Flags); err != nil {
		t.Fatal(err)
	}
	want := `
[workspace]
view = "review" # flag --review
reveal = [ "/w/.env", # flag --reveal
]
[files]
read = [ "/home/you/notes", # flag --ro
]
write = [ "` + here + `/data", # flag --rw
]
mask = [ "private", # flag --mask
]
[network]
mode = "dev" # flag --net
groups = [ "+rust", # flag --net
]
allow = [ "api.example.org", # flag --allow-host
]
deny = [ "x.example.org", # flag --deny-host
]
publish = [ 8080, # flag --publish
]
proxy = "env" # flag --proxy
[limits]
pids = 10 # flag --pids
memory = "1GiB" # flag --memory
[supply]
age = "3d" # flag --min-release-age
scripts = true # flag --install-scripts
allow = [ "npm:left-pad", # flag --allow-package
]`
	if diff := cmp.Diff(strings.Fields(want), strings.Fields(b.String())); diff != "" {
		t.Errorf("%s\n%s", diff, b.String())
	}
}

func TestFlagsThatSayNothing(t *testing.T) {
	opt, err := options(t)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&policy.Policy{}, opt.Flags); diff != "" {
		t.Errorf("no flag is a rule: %s", diff)
	}
}

// TestFlagsNameAnyPath: a path that looks like a pattern is a path of the host all the
// same, where a shell has read it.
func TestFlagsNameAnyPath(t *testing.T) {
	opt, err := options(t, "--ro", "/srv/[a]", "--expose=~/x*")
	if err != nil {
		t.Fatal(err)
	}
	if ro, expose := opt.Flags.Files.Read[0].Value, opt.Flags.Files.Expose[0].Value; ro != "/srv/[a]" || expose != "/home/you/x*" {
		t.Errorf("%s, %s", ro, expose)
	}
}

func TestFlagsThatAreRefused(t *testing.T) {
	for line, want := range map[string]string{
		"--ro=":                                 "--ro: the path is empty",
		"--workspace=":                          "--workspace: the path is empty",
		"--mask ../up":                          `--mask: "../up" is not a path in the workspace`,
		"--mask *.key":                          `--mask: "*.key" looks like a pattern`,
		"--review --live":                       "--review and --live contradict each other",
		"--memory much":                         "--memory: ",
		"--allow-host http://x/":                "--allow-host: ",
		"--proxy x":                             "--proxy: ",
		"--min-release-age soon":                "--min-release-age: ",
		"--allow-package a/b/c:d":               "--allow-package: ",
		"--mcp ../x":                            "--mcp: ",
		"--net none --publish 8080":             "--net none closes the network, and another flag opens some of it",
		"--net nowhere":                         "",
		"--net none --allow-host a.example.org": "--net none closes the network, and another flag opens some of it",
	} {
		_, err := options(t, strings.Fields(line)...)
		if err == nil || fault.KindOf(err) != fault.Usage || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", line, err)
		}
	}
}
