package hook

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/audit/scan"
)

// expansions are words, with what is set before them, that bash and we must read alike.
// Nothing in them does anything.
var expansions = []string{
	`a 'b c' "d e" f\ g`, `a''b "x"'y'z`, `'' "" $'' x`, `$'a\x41\101\u0041\tb'`, `$'\'' "\"" "\a\$\\"`, "a\\\nb \"c\\\nd\"",
	`X=1; $X "$X" '$X' ${X}2`, `X='a b'; $X "$X" x$X"y"`, `X=' a '; x${X}y`, `X=; $X "$X" a$X`, `IFS=,; X=a,b,c; $X "$X"`,
	`{a,b}c {1..3} x{,y} {a} {a,{b,c}d} "{a,b}" \{a,b}`, `{a..e} {3..1}`[:9], `a{b,'c d',"e"}f`, `${X:-a b} "${X:-a b}" ${X-c}`, `X=1; ${X:+y z} "${X:+y}"`,
	`X=a.b.c; ${X#*.} ${X##*.} ${X%.*} ${X%%.*}`, `X=aXbXc; ${X/X/-} ${X//X/-}`, `X=hello; ${X:1} ${X:1:2} ${X: -2} ${#X}`,
	`X=aB; ${X^^} ${X,,} ${X^} ${X,}`, `X=Y Y=z; ${!X}`, `a=(1 "2 3" 4); "${a[@]}" ${a[1]} "${a[1]}" ${#a}`, `a=(1); a+=(2 3); "${a[@]}"`, `X=a; X+=b; $X`,
	`$(echo a b) "$(echo a b)"`, "`echo a` \"`echo \\\"b\\\"`\"",
	`"$(echo "a $(echo "b  c")")"`, `$(echo 'a)b')`, `X=$(echo 1; echo 2); "$X" $X`, `$((5))`, `a#b x=y -- -n`, `~+ "~" x~ `[:8], `X=a; "$X"'$X'\$X"\$X"`,
	"$(cat <<EOF\na $((1))\nEOF\n)", "\"$(cat <<'EOF'\n$X 'y'\nEOF\n)\"",
	`for i in 1 2; do X+=$i; done; $X`, `if true; then X=y; fi; $X`, `case a in a|b) X=c ;; esac; $X`, `{ X=1; }; (X=2); $X`, `: ${X:=d}; $X`, `read X <<< 'a b'; "$X"`,
	`X=$'a\nb'; "$X" $X`, `X='*'; "$X"`, `é "ü" $'\xc3\xa9'`, `"a"$'b'c\d'e'`, `X=(a b); $X ${X[0]}`, `printf -v X %s y 2>/dev/null; z`,
}

// TestLikeBash: the arguments that we see are those that bash makes.
func TestLikeBash(t *testing.T) {
	for _, line := range expansions {
		before, words := "", line
		if i := strings.LastIndex(line, "; "); i >= 0 && !strings.HasPrefix(line, "\"$(") && !strings.HasPrefix(line, "$(") {
			before, words = line[:i+2], line[i+2:]
		}
		script := before + "show " + words
		cmd := exec.Command("bash", "-c", `show() { printf '<%s>' "$@"; }; `+script)
		cmd.Env, cmd.Dir = []string{"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8", "HOME=/home/ann"}, "/"
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%q: bash: %v\n%s", line, err, out)
			continue
		}
		if got := shown(t, script); got != string(out) {
			t.Errorf("%q\nbash %s\nwe   %s", line, out, got)
		}
	}
}

// shown is what show would print.
func shown(t *testing.T, script string) string {
	t.Helper()
	l := newLook(script, ann)
	l.sh.dir = "/"
	var got []string
	was := rules
	rules = append(slices.Clone(rules), rule{[]string{"show"}, func(_ *look, _ string, args []string, _ string) { got = args }})
	defer func() { rules = was }()
	l.script(script, "")
	if got == nil {
		return "<>"
	}
	return "<" + strings.Join(got, "><") + ">"
}

// TestReadsWhatBashReads: what bash takes for a command line is one for us.
func TestReadsWhatBashReads(t *testing.T) {
	var lines []string
	for _, row := range table(t, "deny.txt") {
		_, line, _ := strings.Cut(row, "\t")
		lines = append(lines, line)
	}
	lines = append(lines, table(t, "pass.txt")...)
	lines = append(lines, table(t, "ask.txt")...)
	for _, line := range append(lines, "if", "(", "echo )", "{ a", "case x in", "a | | b", "a && ; b", "for", "$(", "\"", "${x", "function", "<", "a ;; b", "done", "then x", "`a") {
		cmd := exec.Command("bash", "-n")
		cmd.Stdin = strings.NewReader(line)
		out, _ := cmd.CombinedOutput()
		_, err := scan.ReadShell(line)
		if bash := len(out) == 0; bash && err != nil {
			t.Errorf("%q: bash reads it, we do not: %v", line, err)
		} else if !bash && err == nil && !strings.Contains(string(out), "warning") {
			t.Logf("%q: we read it, bash does not: %s", line, out)
		}
	}
}
