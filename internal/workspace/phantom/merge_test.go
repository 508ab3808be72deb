package phantom

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

func TestMerge(t *testing.T) {
	const real = "# ours\nTOKEN=real-secret-abcdef\nPORT=3000\nPASSWORD='real-secret-ghijkl'\n"
	seed := bytes.Repeat([]byte("s"), 32)
	phantom, _, err := Phantom(".env", []byte(real), seed)
	if err != nil {
		t.Fatal(err)
	}
	p := string(phantom)
	token, _, _ := strings.Cut(p[strings.Index(p, "TOKEN="):], "\n")
	for _, c := range []struct{ name, changed, want, keys string }{
		{"nothing", p, real, "[] [] []"},
		{"new", p + "NEW=1\n", real + "NEW=1\n", "[NEW] [] []"},
		{"new, with a comment", p + "\n# for the cache\nNEW=1\n", real + "\n# for the cache\nNEW=1\n", "[NEW] [] []"},
		{"changed", strings.ReplaceAll(p, "PORT=3000", "PORT=4000"), strings.ReplaceAll(real, "3000", "4000"), "[] [PORT] []"},
		{"a secret of its own", strings.ReplaceAll(p, token, "TOKEN=own"), strings.ReplaceAll(real, "real-secret-abcdef", "own"), "[] [TOKEN] []"},
		{"deleted", strings.ReplaceAll(p, token+"\n", ""), real, "[] [] [TOKEN]"},
		{"without the last line end", strings.TrimSuffix(p, "\n") + "\nNEW=1", real + "NEW=1\n", "[NEW] [] []"},
		{"a phantom elsewhere", p + "COPY" + token[len("TOKEN"):] + "\n", "", ""},
		{"twice", p + "NEW=1\nNEW=2\n", "", ""},
		{"on two lines", p + "NEW=\"a\nb\"\n", "", ""},
		{"a line that goes on", p + "NEW=a\\\nb\n", "", ""},
		{"a command", p + "NEW=$(id)\n", "", ""},
		{"a command after it", p + "NEW=1; id\n", "", ""},
		{"a command with it", p + "NEW=1 id\n", "", ""},
		{"a pipe", p + "NEW=1|id\n", "", ""},
		{"a process", p + "NEW=<(id)\n", "", ""},
		{"another's value", p + "NEW=http://evil.test/${TOKEN}\n", "", ""},
		{"in quotes", p + "NEW='1; id' \nURL=http://u:p@h.test:1/a?b=c\n", real + "NEW='1; id' \nURL=http://u:p@h.test:1/a?b=c\n", "[NEW URL] [] []"},
		{"no assignment", p + "rm -rf /\n", "", ""},
		{"a comment that is none to a shell", p + "\u00a0# x; id\nNEW=1\n", "", ""},
		{"another", p + "\v# x; id\nNEW=1\n", "", ""},
		{"a comment that moves the cursor", p + "# \x1b[2A\nNEW=1\n", "", ""},
		{"other line ends", strings.ReplaceAll(p, "\n", "\r\n"), "", ""},
	} {
		m, err := Merge("a/.env", []byte(real), phantom, []byte(c.changed))
		if err != nil {
			if c.keys != "" {
				t.Errorf("%s: %v", c.name, err)
			}
			if strings.Contains(err.Error(), "real-secret") {
				t.Errorf("%s: the error tells: %v", c.name, err)
			}
			continue
		}
		if got := fmt.Sprint(m.New, " ", m.Changed, " ", m.Stay); string(m.Data) != c.want || got != c.keys {
			t.Errorf("%s: %s\n%s\nwant %s\n%s", c.name, got, m.Data, c.keys, c.want)
		}
	}
	if _, err := Merge("x.yml", []byte("a: b\n"), nil, nil); err == nil {
		t.Error("a file of another form was merged")
	}
	if _, err := Merge(".env", []byte("PORT=1\n"), phantom, []byte(strings.ReplaceAll(p, token, "TOKEN=own"))); err == nil {
		t.Error("a key that the host has not any more was set")
	}
}

// FuzzMerge: whatever is made of the phantom, no line of the real file is lost that was
// not changed by its key.
func FuzzMerge(f *testing.F) {
	const real = "A=real-secret-abcdef\nB=2\n"
	phantom, _, err := Phantom(".env", []byte(real), bytes.Repeat([]byte("s"), 32))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(append(bytes.Clone(phantom), "C=3\n"...))
	f.Add([]byte("A=1\n"))
	f.Add([]byte("export A='x y' \n#\n\nB=\n"))
	f.Fuzz(func(t *testing.T, changed []byte) {
		m, err := Merge(".env", []byte(real), phantom, changed)
		if err != nil {
			return
		}
		out, err := readEnv(m.Data)
		if err != nil {
			t.Fatalf("%q is not understood: %v", m.Data, err)
		}
		for key, line := range map[string]string{"A": "A=real-secret-abcdef", "B": "B=2"} {
			i, ok := out.at[key]
			if touched := strings.Contains(fmt.Sprint(m.Changed), key); !ok || !touched && out.lines[i].text != line {
				t.Errorf("%s is lost in %q", key, m.Data)
			}
		}
	})
}
