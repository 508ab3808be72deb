package knownsecrets

import (
	"path"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Whatever is put below a location that a tree row names, the row still names it.
func TestBelowATreeThereIsNoEscape(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := rapid.SampledFrom([]string{"/home/u/.ssh", "/home/u/.config/gh", "/run/user", "/proc"}).Draw(t, "base")
		tail := rapid.SliceOfN(rapid.StringMatching(`[a-z.*~ ]{1,6}`), 0, 4).Draw(t, "tail")
		abs := base + "/" + strings.Join(tail, "/")
		if c := path.Clean(abs); c != base && !strings.HasPrefix(c, base+"/") {
			return // dots led out of it
		}
		if _, ok := Path("/home/u", abs); !ok {
			t.Fatalf("%q matches no row", abs)
		}
	})
}

// FuzzPath holds Path to its word for any bytes: no panic, the same answer for
// the same place however spelt, and no answer for a path that is not absolute.
func FuzzPath(f *testing.F) {
	f.Add("/home/u", "/home/u/.ssh/id_rsa")
	f.Add("/", "/.aws/credentials")
	f.Add("", "/etc/shadow")
	f.Add("/home/u/", "//home//u/./.netrc")
	f.Add("relative", "~/.ssh")
	f.Add("/home/\xff", "/home/\xff/.kube/\x00\n")
	f.Fuzz(func(t *testing.T, home, abs string) {
		e, ok := Path(home, abs)
		if ok && (e.Pattern == "" || !strings.HasPrefix(abs, "/")) {
			t.Fatalf("Path(%q, %q) = %+v", home, abs, e)
		}
		if again, ok2 := Path(home, path.Clean(abs)); strings.HasPrefix(abs, "/") && (ok2 != ok || again != e) {
			t.Fatalf("%q and its clean form differ", abs)
		}
		Env(home)
	})
}
