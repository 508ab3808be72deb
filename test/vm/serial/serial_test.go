package serial

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func FuzzReceive(f *testing.F) {
	for _, seed := range []string{
		`{"status":0}` + "\n", `{"status":137,"stdout":"a\nb"}` + "\n", `{"status":0}{"status":0}` + "\n",
		`{"status":0`, `{"state":0}` + "\n", "[    1.2] oom-kill\n", "\n", "",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var o, again Outcome
		if Receive(NewReader(strings.NewReader(s)), &o) != nil {
			return
		}
		var b strings.Builder
		if err := Send(&b, o); err != nil {
			t.Fatal(err)
		}
		if err := Receive(NewReader(strings.NewReader(b.String())), &again); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(o, again); d != "" {
			t.Error(d)
		}
	})
}

func TestReceiveIsStrict(t *testing.T) {
	for _, s := range []string{"", `{"status":0}`, `{"status":0}{}` + "\n", `{"state":0}` + "\n", "oops\n",
		`{"stdout":"` + strings.Repeat("x", maxLine) + `"}` + "\n"} {
		var o Outcome
		if err := Receive(NewReader(strings.NewReader(s)), &o); err == nil {
			t.Errorf("%.40q is taken for %+v", s, o)
		}
	}
}
