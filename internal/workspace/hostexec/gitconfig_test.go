package hostexec

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// listed is what git itself reads from a configuration.
func listed(t *testing.T, file, text string) (string, bool) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("git", "config", "--list", "-z", "--file", file)
	cmd.Dir = filepath.Dir(file)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Dir(file), "GIT_CONFIG_NOSYSTEM=1", "GIT_CEILING_DIRECTORIES=/"}
	out, err := cmd.Output()
	return string(out), err == nil
}

// written is what our reader makes of it, in git's form.
func written(text string) (string, bool) {
	entries, err := parseConfig([]byte(text))
	var b strings.Builder
	for _, e := range entries {
		b.WriteString(e.key)
		if !e.bare {
			b.WriteString("\n" + e.value)
		}
		b.WriteByte(0)
	}
	return b.String(), err == nil
}

// evened drops what versions of git differ in: white space inside of values.
var evened = strings.NewReplacer("\t", " ", "\r", " ")

func TestConfigIsReadAsGitReadsIt(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Fatal("git is not installed")
	}
	file := filepath.Join(t.TempDir(), "config")
	texts := []string{
		plainOld, "", "\n\n# c\n; d\n", "[a]b=c", "[a]\nb", "[A \"Sub.X\"]\nKey = V\n", "[a.B]\nc=1\n", "[a \"x\\\"y\\\\z\\q\"]\nb=1\n",
		"[a]\nb = \"x # y\" ; z\n", "[a]\nb = x \\\n  y\n", "[a]\nb = a\\tb\\nc\\\\d\\\"e\n", "[a]\nb = \"open\n", "[a]\nb = \\x\n",
		"[a]\nb c\n", "[a]\n=x\n", "[a\n", "[a \"b\n", "[a \"b\"\n", "[a \"b\" ]\nc=1\n", "[a  \"b\"]\nc=1\n", "[a]\r\nb = c\r\n",
		"\ufeff[a]\nb=c\n", "[a]\n1b=c\n", "[a]\nb-1=c\n", "[a]\nb_1=c\n", "[a-b]\nc=1\n", "[a]\nb =   \n", "[a]\nb=\"\"\n", "[a] ; c\nb=1 # d\n",
		"[a]\nb = x\\", "[a]\nb = \"x\\\ny\"\n", "[a \"\"]\nb=1\n", "[a]\nb = x;y\n", "[a]\nb = x   y   \n", "[a] b = 1 \n c = 2", "[a]\nb\t=\t1\n",
		"[include]\npath = x\n", "[a]\nb=\x01\n", "[ü]\nb=1\n", "[a \"ü\"]\nb=ü\n", "[a]\nb = x\ry\n", "[a]]\nb=1\n", "[a.]\nb=1\n",
	}
	rng := rand.New(rand.NewPCG(5, 5))
	pieces := []string{
		"[a]", "[a \"b\"]", "[A.b]", "[a \"B c\"]", "\n", "\n", "\n\t", "key", "k-2", " = ", "=", "value", "\"", "\\\n", "\\n", "\\\\", "\\\"", "#", ";",
		" ", "\t", "\r\n", "x y", "!", "[", "]", "ü", "\\q", "1",
	}
	for range 250 {
		var b strings.Builder
		b.WriteString("[a]\n")
		for range rng.IntN(14) {
			b.WriteString(pieces[rng.IntN(len(pieces))])
		}
		texts = append(texts, b.String())
	}
	for _, text := range texts {
		want, valid := listed(t, file, text)
		got, ok := written(text)
		if valid != ok || ok && evened.Replace(got) != evened.Replace(want) {
			t.Errorf("%q:\ngit  %v %q\nhere %v %q", text, valid, want, ok, got)
		}
	}
}

func TestConfigIsStricterThanGit(t *testing.T) {
	for _, text := range []string{"[a]\nb=\x00\n", "[]\nb=1\n", "b = 1\n", "[.a]\nb=1\n"} {
		if _, err := parseConfig([]byte(text)); err == nil {
			t.Errorf("%q passes", text)
		}
	}
	if _, err := parseConfig([]byte("[a]\nb = 1\n[c\n")); err == nil || !strings.Contains(err.Error(), "line ") {
		t.Errorf("no line: %v", err)
	}
}

// FuzzConfig: what is read can be written plainly and is read the same again.
func FuzzConfig(f *testing.F) {
	for _, s := range []string{plainOld, "[a \"b\"]\nc = \"d\\\ne\"\n", "[a]b", "[a]\nb = x ; y\n"} {
		f.Add([]byte(s))
	}
	quote := strings.NewReplacer("\\", "\\\\", "\"", "\\\"", "\n", "\\n", "\t", "\\t", "\b", "\\b")
	f.Fuzz(func(t *testing.T, b []byte) {
		entries, err := parseConfig(b)
		if err != nil {
			return
		}
		var text strings.Builder
		for _, e := range entries {
			sub, ok := e.sub()
			text.WriteString("[" + e.section())
			if ok {
				text.WriteString(" \"" + strings.NewReplacer("\\", "\\\\", "\"", "\\\"").Replace(sub) + "\"")
			}
			text.WriteString("]\n" + e.name())
			if !e.bare {
				text.WriteString(" = \"" + quote.Replace(e.value) + "\"")
			}
			text.WriteString("\n")
		}
		again, err := parseConfig([]byte(text.String()))
		if err != nil || len(again) != len(entries) {
			t.Fatalf("%q -> %q: %v", b, text.String(), err)
		}
		for i := range again {
			if !same(again[i], entries[i]) {
				t.Fatalf("%+v, again %+v", entries[i], again[i])
			}
		}
	})
}
