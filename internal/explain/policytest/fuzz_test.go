package policytest

import (
	"strings"
	"testing"
	"unicode/utf8"

	"ringfence.dev/ringfence/internal/fault"
)

// For any bytes: a file is read or refused with its line; what is read says the same
// when it is written and read again, and its errors fit a terminal.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"deny read ~/.ssh/**\n", "allow connect api.example.org:443\nhold write .git/hooks/**", "agent claude\nflags --net none\ndeny env A",
		"deny push main # x\n", "deny push refs/heads/x", "deny resolve x.test", "deny connect [::1]:1", "deny read \xff", "deny read /**",
		"\tdeny\tread\tx y", "deny read #", "#\n\r\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Parse("f.test", data)
		if err != nil {
			text := err.Error() + fault.HintOf(err)
			if fault.KindOf(err) != fault.Usage || !utf8.ValidString(text) || len(text) > 2000 || strings.ContainsAny(text, "\x00\x1b\u202e") {
				t.Fatalf("error %q", text)
			}
			return
		}
		var again strings.Builder
		if file.Agent != "" {
			again.WriteString("agent " + file.Agent + "\n")
		}
		if file.Flags != nil {
			again.WriteString("flags " + strings.Join(file.Flags, " ") + "\n")
		}
		for _, l := range file.Lines {
			if strings.Contains(l.Text, "\n") || l.Subject == "" || l.Source.Line < 1 {
				t.Fatalf("line %+v", l)
			}
			again.WriteString(l.Text + "\n")
		}
		second, err := Parse("f.test", []byte(again.String()))
		if err != nil || len(second.Lines) != len(file.Lines) || second.Agent != file.Agent {
			t.Fatalf("%q reads otherwise the second time: %v", again.String(), err)
		}
		for i := range file.Lines {
			a, b := file.Lines[i], second.Lines[i]
			a.Source, b.Source = b.Source, a.Source
			if a.Want != b.Want || a.Access != b.Access || a.Subject != b.Subject || a.Below != b.Below {
				t.Fatalf("%+v became %+v", a, b)
			}
		}
	})
}
