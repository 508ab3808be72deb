package terminal

import (
	"bytes"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// passes is the filter's promise written down a second time, without its code:
// the output consists of these and of nothing else.
var passes = regexp.MustCompile(`^(?s:` + strings.Join([]string{
	`[^\x00-\x1f\x7f\x{80}-\x{9f}]`, // printable
	`[\x07-\x0f]`,                   // bell and layout
	`\x1b[78=>DEHMc]`,
	`\x1b[()][AB012]`,
	`\x1b\[[0-9;]*[@A-MPXZ` + "`" + `abdefgrsu]`,
	`\x1b\[[0-9]*[ST]`,
	`\x1b\[[0-9;:]*m`,
	`\x1b\[\?[0-9;]*[JKW]`,
	`\x1b\[0*4[hl]`,
	`\x1b\[\?(?:` + modesThatPass + `)(?:;(?:` + modesThatPass + `))*[hl]`,
	`\x1b\[0*[0-6]? q`,
	`\x1b\[[0-9;]*!p`,
	`\x1b\[[<=>][0-9;]*u`,
	`\x1b\[>0*4(?:;[0-9]*)?m`,
	`\x1b\](?:[012](?:;[^\x00-\x1f\x7f\x{80}-\x{9f}]{0,256})?)(?:\x07|\x1b\\)`,
	`\x1b\]8;[!-~]*;(?:[hH][tT][tT][pP][sS]?://[!-~]+)?(?:\x07|\x1b\\)`,
	`\x1b\]9;4(?:;[0-9]{1,3}){0,2}(?:\x07|\x1b\\)`,
	`\x1b\]9;[0-9]*[^\x00-\x1f\x7f\x{80}-\x{9f}0-9;][^\x00-\x1f\x7f\x{80}-\x{9f}]*(?:\x07|\x1b\\)`,
	`\x1b\]9;;[^\x00-\x1f\x7f\x{80}-\x{9f}]*(?:\x07|\x1b\\)`,
	`\x1b\]99;(?:(?:i=[a-zA-Z0-9_.+-]+|d=[01]|p=title|p=body|a=focus|u=[0-9])?:?)*;[^\x00-\x1f\x7f\x{80}-\x{9f}]*(?:\x07|\x1b\\)`,
	`\x1b\]777;notify;[^\x00-\x1f\x7f\x{80}-\x{9f}]*(?:\x07|\x1b\\)`,
	`\x1b\]4` + pairs + `(?:\x07|\x1b\\)`,
	`\x1b\]1[012];[0-9a-zA-Z#:/_.+-]+(?:\x07|\x1b\\)`,
	`\x1b\](?:104[0-9;]*|11[012];?)(?:\x07|\x1b\\)`,
	`\x1bP[0-9;]*q[ -~]*\x1b\\`,
	asks,
}, "|") + `)*$`)

const modesThatPass = `1|5|6|7|9|12|25|45|47|66|69|80|100[0234567]|101[56]|104[789]|1070|2004|202[67]|2031|2048|8452`

// asks are the queries that pass where somebody reads the answer.
const asks = `\x1b\[>?0*c|\x1b\[0*[56]n|\x1b\[\?0*(?:6|996)n|\x1b\[\??[0-9]*\$p|\x1b\[\?0*u|\x1b\[\?0*4m|\x1b\[>0*q|` +
	`\x1b\[\?[0-9]*;0*[14](?:;[0-9]*)?S|\x1b\]1[012];\?(?:\x07|\x1b\\)|` +
	`\x1b\]4` + pairs + `;[0-9]+;\?` + pairs + `(?:\x07|\x1b\\)`

const pairs = `(?:;[0-9]+;(?:\?|[0-9a-zA-Z#:/_.+-]+))*`

var (
	asking  = regexp.MustCompile(asks)
	reports = regexp.MustCompile(`\x1b\[\?(?:[0-9]+;)*(?:9|100[0234]|2031|2048)(?:;[0-9]+)*h`)
	tooBig  = regexp.MustCompile(`\x1b\[(?:[<-?]?[0-9;:]*[1-9][0-9]{5}|[^@-~]{257})`)
	pushes  = regexp.MustCompile(`\x1b\[22;0t(\x1b\][012])`)
)

// harmless reports whether a terminal may be told out.
func harmless(out string) bool {
	return utf8.ValidString(out) && passes.MatchString(out) && !tooBig.MatchString(out)
}

// finished filters pieces and gives the terminal back.
func finished(t fataler, answered bool, pieces ...string) string {
	var out bytes.Buffer
	f := NewFilter(&out, answered)
	for _, p := range pieces {
		if n, err := io.WriteString(f, p); n != len(p) || err != nil {
			t.Fatalf("Write = %d, %v", n, err)
		}
		if len(f.buf) > stringLimit+4 || cap(f.buf) > 2*stringLimit || cap(f.out) > 8*chunkLimit {
			t.Fatalf("state grew: %d of %d, %d", len(f.buf), cap(f.buf), cap(f.out))
		}
	}
	if _, err := f.Leave(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// judge fails if out holds anything that may not pass. Our own push of the title
// stands right before a title, our pop at the very end.
func judge(t fataler, in, out string, answered bool) {
	if !harmless(strings.TrimSuffix(pushes.ReplaceAllString(out, "$1"), popTitle)) {
		t.Fatalf("%.1000q\ncame out as %.1000q", in, out)
	}
	if !answered && (asking.MatchString(out) || reports.MatchString(out)) {
		t.Fatalf("%.1000q\nasks: %.1000q", in, out)
	}
}

func FuzzFilter(f *testing.F) {
	for _, in := range kept {
		f.Add(in, uint16(len(in)/2), true)
	}
	for i, tc := range removed {
		f.Add("a"+tc.in+"b", uint16(i%(len(tc.in)+1)), i%2 == 0)
	}
	f.Fuzz(func(t *testing.T, in string, at uint16, answered bool) {
		examine(t, in, int(at), answered)
	})
}

// TestFragments puts pieces of the grammar together at random, which meets more
// of its corners than random bytes do.
func TestFragments(t *testing.T) {
	atoms := []string{
		"\x1b", "\x1b", "[", "]", "P", "\\", "\a", "_G", "^", "X", "k", "(", "0", "1", "4", "9", "52", "777", "99", "104", "10",
		";", ":", "?", ">", "<", "=", "$", " ", "!", "q", "p", "h", "l", "m", "n", "c", "t", "u", "r", "S", "i", "7", "8",
		"2", "25", "1049", "1000", "99999999", "c;QQ==", "https://a", "file:///x", "notify;", "i=1", "red", "#fff", "tmux;",
		"\x18", "\x1a", "\x05", "\n", "\x7f", "\x9b", "\x9c", "\x9d", "\x90", "\u009b", "\u009d", "\u009c", "é", "✳", "\xe2", "\x9c", "\xc2", "\xff", "~~", "x",
	}
	rapid.Check(t, func(rt *rapid.T) {
		in := strings.Join(rapid.SliceOfN(rapid.SampledFrom(atoms), 1, 60).Draw(rt, "in"), "")
		examine(rt, in, rapid.IntRange(0, 200).Draw(rt, "at"), rapid.Bool().Draw(rt, "answered"))
	})
}

// fataler is what testing and rapid have in common here.
type fataler interface {
	Fatal(...any)
	Fatalf(string, ...any)
}

// examine asserts what must hold for any input: nothing passes but what the
// scanner knows, the split does not matter, memory is bounded, and what has
// passed once passes again.
func examine(t fataler, in string, at int, answered bool) {
	whole := finished(t, answered, in)
	judge(t, in, whole, answered)
	i := at % (len(in) + 1)
	if parts := finished(t, answered, in[:i], in[i:]); parts != whole {
		t.Fatalf("%.1000q split at %d:\n%.1000q, but whole\n%.1000q", in, i, parts, whole)
	}
	var bytewise []string
	for i := range len(in) {
		bytewise = append(bytewise, in[i:i+1])
	}
	if parts := finished(t, answered, bytewise...); parts != whole {
		t.Fatalf("%.1000q by the byte:\n%.1000q, but whole\n%.1000q", in, parts, whole)
	}
	if twice := run(answered, whole); strings.ReplaceAll(twice, pushTitle, "") !=
		strings.NewReplacer(pushTitle, "", popTitle, "").Replace(whole) {
		t.Fatalf("%.1000q: what passed once does not pass again:\n%.1000q\n%.1000q", in, whole, twice)
	}
}

// TestScanner: the scanner of the fuzz test is not blind.
func TestScanner(t *testing.T) {
	for _, tc := range removed {
		if harmless("a" + tc.in + "b") {
			t.Errorf("%s: %.200q goes for harmless", tc.name, tc.in)
		}
	}
	for name, in := range kept {
		if !harmless(in) {
			t.Errorf("%s: %.200q goes for harmful", name, in)
		}
	}
}

// FuzzPastes: how input is split changes nothing, and every byte belongs to one run.
func FuzzPastes(f *testing.F) {
	for _, seed := range []string{"a\x1b[200~b\x1b[201~c", "\x1b[200~\x1b[0n\x1b[20", "\x1b\x1b[201~\x1b[0n", "\x1b[200~\x1b[200~\x1b[201~x"} {
		f.Add([]byte(seed), uint8(3), true)
	}
	f.Fuzz(func(t *testing.T, b []byte, size uint8, ever bool) {
		var whole, split Pastes
		whole.Follow(b, ever)
		for part := range slices.Chunk(b, int(size)+1) {
			for len(part) > 0 {
				n, pasted := split.Scan(part, ever, true)
				if n < 1 || n > len(part) || pasted && !ever {
					t.Fatalf("%d of %d, pasted %v", n, len(part), pasted)
				}
				part = part[n:]
			}
		}
		if whole.open != split.open || whole.status != split.status {
			t.Errorf("whole %+v, split %+v", whole, split)
		}
	})
}
