package policy

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCheck(t *testing.T) {
	p := mustDecode(t, `[workspace]
paths = ["/home", "~/v:ro"]
[files]
read = ["/", "~/", "/proc/self", "/run", "/run/current-system", "/opt"]
write = ["/etc/x", "/usrx", "~/w"]
mask = ["/nowhere", "~/w", "/opt/key", ".env", "~/own/key"]
[env]
pass = ["A"]
force = ["A", "B", "C"]
[env.set]
A = ""
B = ""
[limits]
pids = 1
tmp = "1KiB"
open = 4096
[require]
limits = ["pids", "memory"]
`)
	var got []string
	for _, pr := range Check(p, CheckEnv{Home: "/home/u", Workspaces: []string{"/home/u/own"}}) {
		got = append(got, fmt.Sprintf("%d: %s", pr.Source.Line, pr.Text))
	}
	want := []string{
		`2: "/home" holds the whole home directory and every credential in it: name what is needed of it`,
		`5: "/etc/x" belongs to the system, which is read-only inside`,
		`4: "/" is the whole host: name what is needed of it`,
		`4: "/home/u" holds the whole home directory and every credential in it: name what is needed of it`,
		`4: "/proc/self" is made by ringfence itself and cannot be the host's`,
		`4: "/run" is made by ringfence itself and cannot be the host's`,
		`6: "~/w" is both written and masked`,
		`11: A is both passed and set`,
		`9: C is forced but neither passed nor set`,
		`14: [limits] pids 1 is too low for a session to start: at least 32`,
		`18: the limit memory is required but [limits] sets none`,
		`15: [limits] tmp 1KiB is too low for a session to start: at least 1MiB`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

func TestCheckMasks(t *testing.T) {
	p := mustDecode(t, "[files]\nread = ['/opt']\nmask = ['/nowhere', '/opt/key', '.env', '~/w/key', '~/w']\n")
	texts := func(env CheckEnv) (out []string) {
		for _, pr := range Check(p, env) {
			out = append(out, pr.Text)
		}
		return out
	}
	const nothing = `mask %q hides nothing: it is in no workspace and in no path that is read or written`
	want := []string{fmt.Sprintf(nothing, "/nowhere"), `"~/w" is both written and masked`}
	if d := cmp.Diff(want, texts(CheckEnv{Home: "/h", Workspaces: []string{"/h/w"}})); d != "" {
		t.Errorf("with a workspace (-want +got)\n%s", d)
	}
	want = []string{fmt.Sprintf(nothing, "/nowhere"), `mask ".env" is relative and there is no workspace`,
		fmt.Sprintf(nothing, "~/w/key"), fmt.Sprintf(nothing, "~/w")}
	if d := cmp.Diff(want, texts(CheckEnv{Home: "/h"})); d != "" {
		t.Errorf("without one (-want +got)\n%s", d)
	}
}
