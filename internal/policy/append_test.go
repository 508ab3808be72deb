package policy

import (
	"strings"
	"testing"
)

var additions = []Addition{
	{"files", "read", "~/.toolrc", "seen in 1 session"},
	{"network", "allow", "api.example.com:443", "evil\nmode = \"internet\""},
	{"env", "pass", "TOOL_MODE", ""},
}

func TestAppend(t *testing.T) {
	for name, old := range map[string]string{
		"nothing":       "",
		"no newline":    "[files]\nread = [\"/opt/a\"]",
		"one line":      "[files]\nread = [ \"/opt/a\" ] # mine\n[env]\n",
		"lines":         "# head\n[files]\nread = [\n  \"/opt/a\", # [not a bracket]\n  '/opt/b'\n]\nmask = []\n[network]\nmode = \"dev\"\n",
		"empty list":    "[files]\nread = []\n[network]\nallow = [\n]\n",
		"dotted":        "files.read = [\"/opt/a\"]\n",
		"header only":   "[network] # here\n[env.set]\nA = \"b\"\n[limits]\npids = 5",
		"comment last":  "[env]\npass = [\n  \"A\" # a ] bracket\n  # another\n]\n",
		"strings":       "[env.set]\nB = \"\"\"]\\\"\"\"\"\"\nC = '''[x'''\n[env]\npass = [\"\"\"A\"\"\", 'B1']\n",
		"quoted header": "[\"files\"]\n\"read\" = [\"/opt/a\",]\n",
	} {
		got, err := Append([]byte(old), "policy.toml", additions)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		p, err := decode(got, "policy.toml")
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, got)
			continue
		}
		before, _ := decode([]byte(old), "policy.toml")
		if !p.Files.Read.has("~/.toolrc") || !p.Network.Allow.has("api.example.com:443") || !p.Env.Pass.has("TOOL_MODE") ||
			len(p.Files.Read) != len(before.Files.Read)+1 || len(p.Env.Set) != len(before.Env.Set) {
			t.Errorf("%s became\n%s", name, got)
		}
		for line := range strings.Lines(old) {
			if c := strings.TrimSpace(line); strings.HasPrefix(c, "#") && !strings.Contains(string(got), c) {
				t.Errorf("%s lost %q", name, c)
			}
		}
		again, err := Append(got, "policy.toml", additions)
		if err != nil || string(again) != string(got) {
			t.Errorf("%s: a second time it became\n%s", name, again)
		}
	}
}

func TestAppendLeavesAloneWhatItCannotAddTo(t *testing.T) {
	for _, old := range []string{
		"files = { read = [\"/opt/a\"] }\n",   // the table is closed
		"files.mask = []\n",                   // so is one of dotted keys
		"[network]\ngroups = [\"-github\"]\n", // one group, two switches
		"not toml",
	} {
		add := append(additions, Addition{"network", "groups", "+github", ""})
		if got, err := Append([]byte(old), "policy.toml", add); err == nil {
			t.Errorf("%q became\n%s", old, got)
		}
	}
	if _, err := Append(nil, "policy.toml", []Addition{{"files", "read", "relative", ""}}); err == nil {
		t.Error("a value that no policy could hold was added")
	}
	if _, err := Append(nil, "policy.toml", []Addition{{"network", "mode", "internet", ""}}); err == nil {
		t.Error("a word was added to as if it were a list")
	}
}

// FuzzAppend: whatever text there is, it is added to exactly, or left alone.
func FuzzAppend(f *testing.F) {
	f.Add("[files]\nread = [\"/opt/a\"]\n", "/opt/b", "why")
	f.Add("[files]\nread = [ # c\n'/opt/a', \"\"\"/opt/[\"\"\"]", "~/x\"]", "\r\n[network]")
	f.Add("files.read=[\n]\n[env]\n", "/\u202e", "]")
	f.Fuzz(func(t *testing.T, old, value, comment string) {
		got, err := Append([]byte(old), "f", []Addition{{"files", "read", value, comment}})
		if err != nil {
			return
		}
		before, err := decode([]byte(old), "f")
		if err != nil {
			t.Fatal("a bad text was taken")
		}
		after, err := decode(got, "f")
		if err != nil {
			t.Fatalf("it became bad: %v", err)
		}
		want := Merge(before, &Policy{Files: Files{Read: List{{Value: value}}}})
		if !sameRules(after, want) {
			t.Fatalf("%q\nbecame\n%q", old, got)
		}
	})
}
