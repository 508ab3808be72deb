package seccomp

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
)

// TestLearnHandsOverAllThatWatchDoes: who learns keeps the trees as well as ever.
func TestLearnHandsOverAllThatWatchDoes(t *testing.T) {
	for _, goarch := range goarches {
		m := newProgram(t, goarch, func(g string) ([]byte, error) { return Learn(g, true) })
		for _, c := range handed {
			nr, ok := m.nr[c.call]
			if !ok {
				continue // this architecture never had it
			}
			want := c.want
			if want == allow && strings.Contains(" "+asked.words()+" ", " "+c.call+" ") {
				want = notify
			}
			if got := m.verdict(t, nr, c.args...); got != want {
				t.Errorf("%s: %s%x: %#x, want %#x", goarch, c.call, c.args, got, want)
			}
		}
	}
}

// TestLearnRefusesNothing: beside a view without a keeper it only tells.
func TestLearnRefusesNothing(t *testing.T) {
	for _, goarch := range goarches {
		m := newProgram(t, goarch, func(g string) ([]byte, error) { return Learn(g, false) })
		for name, nr := range m.nr {
			want := allow
			if strings.Contains(" "+asked.words()+" ", " "+name+" ") {
				want = notify
			}
			if got := m.verdict(t, nr, 0, 0o4755, 0o4755, 1); got != want {
				t.Errorf("%s: %s: %#x, want %#x", goarch, name, got, want)
			}
		}
	}
}

// TestOtherSessionsAreUntouched pins the programs of ordinary sessions: to learn must
// not change one byte of them. Who changes a table on purpose changes the digest too.
func TestOtherSessionsAreUntouched(t *testing.T) {
	for _, p := range []struct {
		name    string
		program func(string) ([]byte, error)
		want    map[string]string
	}{
		{"Watch", Watch, map[string]string{"amd64": "904e7f61a3608a0e", "arm64": "0b96c52081850ad4"}},
		{"Review", Review, map[string]string{"amd64": "85687670743daf6c", "arm64": "79d44412563f6e3d"}},
	} {
		for _, goarch := range goarches {
			raw, err := p.program(goarch)
			if err != nil {
				t.Fatal(err)
			}
			sum := sha256.Sum256(raw)
			if got := hex.EncodeToString(sum[:8]); got != p.want[goarch] {
				t.Errorf("%s for %s is %s, was %s", p.name, goarch, got, p.want[goarch])
			}
		}
	}
}

func (f family) words() string { return strings.Join(strings.Fields(f.calls), " ") }
