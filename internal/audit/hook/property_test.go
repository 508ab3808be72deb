package hook

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ringfence.dev/ringfence/internal/audit/scan"
)

// quoted writes a word in any of the ways that mean the same to a shell.
func quoted(word string) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		var b strings.Builder
		for len(word) > 0 {
			n := rapid.IntRange(1, len(word)).Draw(t, "length")
			piece := word[:n]
			word = word[n:]
			switch rapid.IntRange(0, 5).Draw(t, "how") {
			case 0:
				b.WriteString("'" + piece + "'")
			case 1:
				b.WriteString(`"` + piece + `"`)
			case 2:
				for _, c := range piece {
					b.WriteString(`\` + string(c))
				}
			case 3:
				b.WriteString("$'")
				for _, c := range []byte(piece) {
					fmt.Fprintf(&b, rapid.SampledFrom([]string{`\x%02x`, `\%03o`, `\u%04x`}).Draw(t, "escape"), c)
				}
				b.WriteString("'")
			case 4:
				b.WriteString(piece + `''`)
			default:
				b.WriteString("\\\n" + piece)
			}
		}
		return b.String()
	})
}

// plain are command lines of words in which nothing is special, but for a place that
// must stay as it is: a tilde is one only if it is not quoted.
var plain = []string{
	"rm -rf /", "rm -r -f /etc", "rm -rf ..", "rm -rf .", "git push origin main", "git push --force", "git push origin +x", "sudo id",
	"env rm -rf /", "timeout 5 rm -rf /", "chmod 777 x", "terraform destroy", "dd if=x of=/dev/sda", "mkfs.ext4 /dev/sda1", "reboot", "history -c",
	"rm -rf build", "git push origin feat/x", "chmod 755 x", "terraform plan", "echo sudo rm -rf /", "ls -la /", "curl -o f https://x.test",
	"bash -c true", "find / -delete", "find . -name x -delete", "xargs rm -rf /",
}

// TestQuoting: however the words of a command are quoted, the verdict is the same.
func TestQuoting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.SampledFrom(plain).Draw(t, "line")
		want := Judge(line, ann)
		var words []string
		for _, word := range strings.Fields(line) {
			words = append(words, quoted(word).Draw(t, "word"))
		}
		other := strings.Join(words, rapid.SampledFrom([]string{" ", "  ", "\t", " \\\n "}).Draw(t, "gap"))
		if got := Judge(other, ann); got.Decision != want.Decision || got.Rule != want.Rule {
			t.Fatalf("%q is %v %s, but %q is %v %s", line, want.Decision, want.Rule, other, got.Decision, got.Rule)
		}
	})
}

// wraps are what does not change what a command does.
var wraps = []string{"%s", "( %s )", "{ %s; }", "true && %s", "false || %s", "ls; %s", "ls\n%s", "if true; then %s; fi", "while :; do %s; done", "f() { %s; }; f",
	"%s &", "! %s", "time %s", "X=1 %s", "echo $( %s )", "echo \"`%s`\"", "cat <( %s )", "x=$( %s )", "for i in 1 2; do %s; done", "case a in a) %s ;; esac", "%s # why", "nohup %s", "command %s", "%s 2>&1 | tee log"}

// TestWrapping: a command that is denied is denied wherever it stands.
func TestWrapping(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.SampledFrom(plain).Draw(t, "line")
		want := Judge(line, ann)
		if want.Decision != Deny {
			t.Skip()
		}
		for i := range rapid.IntRange(1, 4).Draw(t, "depth") {
			w := rapid.SampledFrom(wraps).Draw(t, "wrap")
			if i > 0 {
				line = "{ " + line + "\n}"
				if simpleOnly(w) {
					continue
				}
			}
			line = fmt.Sprintf(w, line)
		}
		if got := Judge(line, ann); got.Decision != Deny {
			t.Fatalf("%q is %v %s", line, got.Decision, got.Rule)
		}
	})
}

// simpleOnly holds for what can stand around a simple command only.
func simpleOnly(w string) bool {
	return w == "X=1 %s" || w == "nohup %s" || w == "command %s" || strings.Contains(w, "`")
}

// FuzzJudge: nothing makes it fail or run away, and a verdict says why.
func FuzzJudge(f *testing.F) {
	for _, name := range []string{"deny.txt", "pass.txt", "ask.txt"} {
		for _, row := range table(f, name) {
			if _, line, ok := strings.Cut(row, "\t"); ok && name == "deny.txt" {
				row = line
			}
			f.Add(row)
		}
	}
	f.Fuzz(func(t *testing.T, line string) {
		v := Judge(line, ann)
		if (v.Decision == Pass) != (v.Reason == "") || (v.Decision == Pass) != (v.Rule == "") {
			t.Fatalf("%+v", v)
		}
		if again := Judge(line, ann); again != v {
			t.Fatalf("%+v, then %+v", v, again)
		}
		// What is dangerous alone is not made harmless by what stands before it. (What
		// ends inside of a quote, a document or a comment does not stand before it.)
		if v.Decision != Pass || strings.ContainsAny(line, "\\<'\"#`(){}[]$\x00") {
			return
		}
		if _, err := scan.ReadShell(line); err == nil && strings.TrimSpace(line) != "" {
			if w := Judge(line+"\nrm -rf /", ann); w.Decision == Pass && !strings.HasSuffix(strings.TrimSpace(line), "|") {
				t.Fatalf("%q hides what follows", line)
			}
		}
	})
}

// FuzzReadCall: what an agent sends is read or refused.
func FuzzReadCall(f *testing.F) {
	f.Add(`{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"rm -rf /"},"cwd":"/"}`)
	f.Add(`{"hook_event_name":"SessionStart"}`)
	f.Add(`{"hook_event_name":"PreToolUse","tool_input":{"command":["rm"]}}`)
	f.Add(`[]`)
	f.Fuzz(func(t *testing.T, text string) {
		call, err := ReadCall(strings.NewReader(text))
		if err != nil {
			return
		}
		if call.Event == "" {
			t.Fatal("no event")
		}
		answer, v := Answer("claude", call, ann, Gate{})
		if v.Decision == Deny && answer == "" {
			t.Fatal("denied without a word")
		}
	})
}
