package toolbox

import (
	"path"
	"strings"
	"testing"
)

// Links of a package lead nowhere but into its tree.
func FuzzResolve(f *testing.F) {
	f.Add("usr/bin/x", "../lib/x", "usr/lib/x")
	f.Add("bin/x", "../../../etc/passwd", "etc/passwd")
	f.Add("bin/x", Dir+"/id/../../x", "x")
	f.Add("bin/x", "/../x", "x")
	f.Add("bin/x", "x", "bin/x")
	f.Fuzz(func(t *testing.T, at, to, there string) {
		l := &looker{inside: Dir + "/id", bins: map[string]string{there: "", at: to}}
		got, ok := l.resolve(at)
		if !ok {
			return
		}
		if _, known := l.bins[got]; !known {
			t.Errorf("%q: %q is nothing that was found", to, got)
		}
		if got != at && got != there {
			t.Errorf("%q leads to %q", to, got)
		}
		if clean := path.Clean(there); there == clean && !path.IsAbs(there) && !strings.HasPrefix(there, "..") && (path.IsAbs(got) || strings.HasPrefix(path.Clean(got), "../")) && got != at {
			t.Errorf("%q leads out: %q", to, got)
		}
	})
}
