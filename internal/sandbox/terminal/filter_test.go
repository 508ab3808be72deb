package terminal

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// run filters the pieces one after the other.
func run(answered bool, pieces ...string) string {
	var out bytes.Buffer
	f := NewFilter(&out, answered)
	for _, p := range pieces {
		_, _ = io.WriteString(f, p)
	}
	return out.String()
}

// check filters in as a whole, in two parts at every place, and by the byte.
func check(t *testing.T, in, want string) {
	t.Helper()
	if got := run(true, in); got != want {
		t.Fatalf("whole %.200q:\n got %.200q\nwant %.200q", in, got, want)
	}
	step := 1 + len(in)/1000 // every place, but for the few long ones
	for i := 0; i < len(in); i += step {
		if got := run(true, in[:i], in[i:]); got != want {
			t.Fatalf("split at %d of %.200q:\n got %.200q\nwant %.200q", i, in, got, want)
		}
	}
	if got := run(true, strings.Split(in, "")...); got != want {
		t.Fatalf("by character %.200q:\n got %.200q\nwant %.200q", in, got, want)
	}
}

// kept is what a full-screen program needs: it passes as it is.
var kept = map[string]string{
	"text":                  "hello, world ~!\r\n\tx\b",
	"UTF-8":                 "é ✳ 漢字 🙂 ─│┌ \u00a0",
	"C1 values inside UTF8": "Ü\u06dd\u275b\u8358", // continuation bytes 9c, 9d, 9b, 90
	"replacement":           "\ufffd",
	"bell":                  "\a",
	"SGR":                   "\x1b[m\x1b[0m\x1b[1;31m\x1b[38;5;208m\x1b[48;2;1;2;3m\x1b[4:3m\x1b[58:2::1:2:3m",
	"cursor":                "\x1b[H\x1b[10;20H\x1b[A\x1b[2B\x1b[3C\x1b[4D\x1b[5G\x1b[6d\x1b[s\x1b[u\x1b7\x1b8",
	"erase":                 "\x1b[J\x1b[2J\x1b[3J\x1b[K\x1b[1K\x1b[4X\x1b[?2J",
	"edit":                  "\x1b[2L\x1b[3M\x1b[4@\x1b[5P\x1b[6b",
	"scroll":                "\x1b[1;24r\x1b[r\x1b[2S\x1b[2T\x1bM\x1bD\x1bE",
	"tabs":                  "\x1bH\x1b[g\x1b[3g\x1b[?5W",
	"modes":                 "\x1b[?1h\x1b=\x1b[?25l\x1b[?7l\x1b[?12;25h\x1b[?1049h\x1b[?2004h\x1b[?2026h\x1b[?2026l\x1b[4h\x1b[4l\x1b>",
	"mouse":                 "\x1b[?1000;1002;1003;1006h\x1b[?1004h\x1b[?1000l",
	"keyboard":              "\x1b[>1u\x1b[=5u\x1b[<1u\x1b[?u\x1b[>4;2m\x1b[>4m\x1b[?4m",
	"cursor shape":          "\x1b[6 q\x1b[ q",
	"character sets":        "\x1b(0qqq\x1b(B\x1b)0\x0eqq\x0f",
	"reset":                 "\x1bc\x1b[!p",
	"queries":               "\x1b[c\x1b[0c\x1b[>c\x1b[5n\x1b[6n\x1b[?6n\x1b[?996n\x1b[?2026$p\x1b[4$p\x1b[>q\x1b[>0q\x1b[?1;1;0S",
	"colours":               "\x1b]4;1;rgb:ff/00/00\x1b\\\x1b]10;#fff\a\x1b]11;rgb:1111/2222/3333\x1b\\\x1b]12;red\a\x1b]104\a\x1b]104;1;2\a\x1b]111\x1b\\",
	"colour queries":        "\x1b]10;?\a\x1b]11;?\x1b\\\x1b]4;7;?\a",
	"link":                  "\x1b]8;;https://example.org/a?b=c;d\x1b\\x\x1b]8;;\x1b\\\x1b]8;id=7;http://example.org\ax\x1b]8;;\a",
	"notices":               "\x1b]9;done ✓\a\x1b]777;notify;ringfence;done\a\x1b]9;4;1;50\x1b\\\x1b]9;4;0\a\x1b]9;2 files changed\a",
	"kitty notice":          "\x1b]99;i=a1:d=0:p=title;Hello\x1b\\\x1b]99;i=a1:p=body;text\x1b\\\x1b]99;i=a1:d=1:a=focus;\x1b\\\x1b]99;;Hi\x1b\\",
	"sixel":                 "\x1bP0;1;0q\"1;1;4;6#0;2;0;0;0#0~~@@vv@@~~$-\x1b\\after",
}

func TestKept(t *testing.T) {
	for name, in := range kept {
		t.Run(name, func(t *testing.T) { check(t, in, in) })
	}
}

func TestTitle(t *testing.T) {
	for name, tc := range map[string]struct{ in, want string }{
		"icon and title": {"\x1b]0;✳ hello\a", pushTitle + "\x1b]0;✳ hello\a"},
		"terminator":     {"\x1b]2;a\x1b\\", pushTitle + "\x1b]2;a\x1b\\"},
		"one push":       {"\x1b]1;a\a\x1b]2;b\a", pushTitle + "\x1b]1;a\a\x1b]2;b\a"},
		"controls out":   {"\x1b]2;a\r\nb\x05c\a", pushTitle + "\x1b]2;abc\a"},
		"direction out":  {"\x1b]2;a\u202eb\u2066c\u200bd\a", pushTitle + "\x1b]2;abcd\a"},
		"cut":            {"\x1b]2;" + strings.Repeat("é", 200) + "\a", pushTitle + "\x1b]2;" + strings.Repeat("é", 128) + "\a"},
		"endless":        {"\x1b]2;" + strings.Repeat("x", 4300) + "\a", pushTitle + "\x1b]2;" + strings.Repeat("x", 256) + "\a"},
		"query":          {"\x1b]2;?\a", ""},
	} {
		t.Run(name, func(t *testing.T) { check(t, tc.in, tc.want) })
	}
}

// removed is what a terminal must not be told by an agent, alone between two
// letters, and why.
var removed = []struct{ name, in, why string }{
	{"clipboard write", "\x1b]52;c;Q0FOQVJZ\a", "the user would paste it into a shell"},
	{"clipboard write, ST", "\x1b]52;c;Q0FOQVJZ\x1b\\", "the same with the other end"},
	{"clipboard read", "\x1b]52;c;?\a", "types the clipboard"},
	{"clipboard, leading zero", "\x1b]052;c;Q0FOQVJZ\a", "a terminal may read it as 52"},
	{"clipboard, C1 in UTF-8", "\u009d52;c;Q0FOQVJZ\u009c", "U+009D is OSC"},
	{"clipboard, C1 byte", "\x9d52;c;Q0FOQVJZ\x9c", "0x9D is OSC in an 8-bit terminal"},
	{"clipboard, C1 byte, BEL", "\x9d52;c;Q0FOQVJZ\a", "mixed forms"},
	{"clipboard, long", "\x1b]52;c;" + strings.Repeat("QUFB", 1100) + "\a", "longer than what is held back"},
	{"clipboard, kitty", "\x1b]5522;type=read;.\x1b\\", "the same, newer"},
	{"clipboard in tmux", "\x1bPtmux;\x1b\x1b]52;c;QQ==\a\x1b\\", "pass-through of a multiplexer"},
	{"clipboard in screen", "\x1bP\x1b]52;c;QQ==\a\x1b\\", "pass-through of a multiplexer"},
	{"font", "\x1b]50;?\a", "the answer carries the agent's text"},
	{"emacs", "\x1b]51;Ecommand\a", "runs an Emacs command"},
	{"iTerm2 file", "\x1b]1337;File=inline=0:QQ==\a", "downloads a file"},
	{"iTerm2 other", "\x1b]1337;SetMark\a", "clipboard, profiles and more"},
	{"file transfer", "\x1b]5113;ac=send\x1b\\", "kitty's"},
	{"directory", "\x1b]7;file://h/tmp\a", "the next tab would open there"},
	{"prompt mark", "\x1b]133;A\a", "the agent's text as the host's prompt"},
	{"command mark", "\x1b]633;E;rm -rf x\a", "the agent's text as the host's command"},
	{"ConEmu run", "\x1b]9;7;calc\a", "runs a program"},
	{"ConEmu macro", "\x1b]9;6;\"x\"\a", "runs a macro"},
	{"ConEmu cwd", "\x1b]9;9;/tmp\a", "sets a directory"},
	{"ConEmu bare", "\x1b]9;5\a", "waits for a key"},
	{"progress, malformed", "\x1b]9;4;1;50;x\a", "not what it says"},
	{"urxvt extension", "\x1b]777;eval;x\a", "Perl"},
	{"kitty notice, report", "\x1b]99;i=x:a=report;t\x1b\\", "answers with the agent's id"},
	{"kitty notice, query", "\x1b]99;i=x:p=?;\x1b\\", "answers with the agent's id"},
	{"palette, junk", "\x1b]4;1;x$(y)\a", "not a colour"},
	{"colour list", "\x1b]10;?;?;?;?\a", "asks for more than was judged"},
	{"no number", "\x1b]lhidden\x1b\\", "Sun's title"},
	{"answerback", "\x05", "types the answerback"},
	{"flow", "\x11\x13", "stops the terminal"},
	{"zmodem", "\x18", "the start of a download"},
	{"title report", "\x1b[21t", "types the title, which the agent chose"},
	{"icon report", "\x1b[20t", "types the icon's name"},
	{"title push", "\x1b[22;0t", "fills the stack"},
	{"title pop", "\x1b[23;0t", "takes the user's title away"},
	{"resize", "\x1b[8;10;10t", "resizes the window"},
	{"iconify", "\x1b[2t", "hides the window"},
	{"state report", "\x1b[11t", "a report without need"},
	{"title modes", "\x1b[>2t", "titles in hex get around cleaning"},
	{"DECRQSS", "\x1bP$q\"p\x1b\\", "the answer carries the agent's text"},
	{"DECRQSS, C1", "\x90$qm\x9c", "the same, 8-bit"},
	{"XTGETTCAP", "\x1bP+q544e\x1b\\", "the answer carries the agent's text"},
	{"user keys", "\x1bP0;1|17/6c730d\x1b\\", "the next function key types a command"},
	{"soft font", "\x1bP1;1;1{ @\x1b\\", "letters would look like others"},
	{"macro", "\x1bP1;0;0!z6c73\x1b\\", "stores a macro"},
	{"macro call", "\x1b[1*z", "runs a macro"},
	{"ReGIS", "\x1bP0pS(E)\x1b\\", "graphics nobody uses"},
	{"kitty graphics, file", "\x1b_Ga=T,t=f;L2V0Yy9wYXNzd2Q=\x1b\\", "the terminal reads a file of the host"},
	{"kitty graphics, temp", "\x1b_Ga=T,t=t;L3RtcC94\x1b\\", "and deletes it"},
	{"kitty graphics, shm", "\x1b_Ga=T,t=s;L3g=\x1b\\", "shared memory"},
	{"kitty graphics, direct", "\x1b_Ga=T,t=d;AAAA\x1b\\", "answers with the agent's id; sixel does for pictures"},
	{"APC, C1", "\u009fGa=T,t=f;QQ\u009c", "the same, 8-bit"},
	{"PM", "\x1b^text\x1b\\", "no use"},
	{"SOS", "\x1bXtext\x1b\\", "no use"},
	{"screen title", "\x1bktitle\x1b\\", "a title past the cleaning"},
	{"print", "\x1b[i\x1b[5i\x1b[?5i", "prints, or sends to the host"},
	{"area checksum", "\x1b[1;1;1;1;5;5*y", "reads the screen"},
	{"terminal parameters", "\x1b[x", "a report without need"},
	{"tertiary attributes", "\x1b[=c", "a report without need"},
	{"printer status", "\x1b[?15n", "a report without need"},
	{"old identify", "\x1bZ", "a query in disguise"},
	{"graphics limits, set", "\x1b[?1;3;9S", "changes the terminal"},
	{"encoding", "\x1b%@", "bytes would mean something else"},
	{"8-bit answers", "\x1b G", "answers would mean something else"},
	{"VT52", "\x1b[?2l", "another grammar"},
	{"Tektronix", "\x1b[?38h", "another grammar"},
	{"columns", "\x1b[?3h\x1b[?40h", "resizes"},
	{"highlight mouse", "\x1b[?1001h\x1b[1;2;3;4;5T", "the terminal waits"},
	{"keyboard lock", "\x1b[2h", "locks the user out"},
	{"local echo", "\x1b[12l", "echoes in the terminal"},
	{"conformance", "\x1b[61\"p", "another grammar"},
	{"save modes", "\x1b[?1000s\x1b[?1000r", "behind the back of what is noted"},
	{"self test", "\x1b[2;1y", "resets"},
	{"colour stack", "\x1b[#R", "a report without need"},
	{"huge number", "\x1b[99999999b", "hangs terminals"},
	{"long CSI", "\x1b[" + strings.Repeat("1;", 300) + "m", "longer than what is held back"},
	{"malformed CSI", "\x1b[1?h\x1b[?1 2h\x1b[??1h", "terminals differ"},
	{"two intermediates", "\x1b(%5", "a set nobody uses"},
	{"Linux palette", "\x1b]P1ff0000\x1b]R", "has no end"},
	{"C1 of no use", "\u0080\u0090\u009c\u0086", "no use"},
	{"NUL and DEL", "\x00\x7f", "padding"},
}

func TestRemoved(t *testing.T) {
	for _, tc := range removed {
		t.Run(tc.name, func(t *testing.T) { check(t, "a"+tc.in+"b", "ab") })
	}
}

// TestChanged is about sequences in parts, and those that pass in another form.
func TestChanged(t *testing.T) {
	for name, tc := range map[string]struct{ in, want string }{
		"8-bit CSI":             {"\x9b31mx", "\x1b[31mx"},
		"8-bit CSI in UTF-8":    {"\u009b31mx", "\x1b[31mx"},
		"8-bit OSC":             {"\x9d2;t\x9c", pushTitle + "\x1b]2;t" + st},
		"8-bit next line":       {"a\u0085b", "a\x1bEb"},
		"allowed modes of many": {"\x1b[?3;25;2;1000h", "\x1b[?25;1000h"},
		"ESC inside CSI":        {"\x1b[12\x1b[31mx", "\x1b[31mx"},
		"CAN inside CSI":        {"\x1b[12\x18mx", "mx"},
		"SUB inside OSC":        {"\x1b]52;c;\x1aQQ==\a", "QQ==\a"},
		"control inside CSI":    {"\x1b[3\n1mx", "\n\x1b[31mx"},
		"letter inside CSI":     {"\x1b[3é1mx", "é1mx"},
		"ESC inside OSC":        {"\x1b]2;x\x1b[31my", "\x1b[31my"},
		"OSC inside OSC":        {"\x1b]2;x\x1b]52;c;QQ==\ay", "y"},
		"ESC ESC inside OSC":    {"\x1b]2;x\x1b\x1b\\y", "y"},
		"ESC C1 inside OSC":     {"\x1b]2;x\x1b\x9cy", "y"},
		"C1 inside OSC":         {"\x1b]2;x\u009b31my", "\x1b[31my"},
		"ESC at ESC":            {"\x1b\x1b[31m", "\x1b[31m"},
		"BEL does not end DCS":  {"\x1bP+q\ax\x1b\\y", "y"},
		"sixel cut by ESC":      {"\x1bPq~~\x1b[31mx", "\x1bPq~~\x1b\\\x1b[31mx"},
		"sixel cut by CAN":      {"\x1bPq~~\x18x", "\x1bPq~~\x1b\\x"},
		"sixel, 8-bit":          {"\x90q~~\x9cx", "\x1bPq~~\x1b\\x"},
		"sixel with junk":       {"\x1bPq~\r\n\x05é~\x1b\\", "\x1bPq~~\x1b\\"},
		"invalid byte":          {"a\xffb\xe9c", "a\ufffdb\ufffdc"},
		"cut character":         {"a\xe2\x9cb", "a\ufffdb"},
		"cut by ESC":            {"a\xe2\x9c\x1b[31m", "a\ufffd\x1b[31m"},
		"surrogate":             {"\xed\xa0\x80", "\ufffd\ufffd"}, // 0x80 is a C1 control without use
		"overlong ESC":          {"\xc1\x9b31mx", "\ufffd\x1b[31mx"},
		"Latin-1 line":          {"na\x9eka\nnext", "na\nnext"}, // 0x9e would open a string
		"file link":             {"\x1b]8;;file:///x\ay\x1b]8;;\a", "\x1b]8;;\ay\x1b]8;;\a"},
		"javascript link":       {"\x1b]8;;javascript:x\ay", "\x1b]8;;\ay"},
		"link with blank":       {"\x1b]8;;https://a b\ay", "\x1b]8;;\ay"},
		"long link":             {"\x1b]8;;https://" + strings.Repeat("a", 5000) + "\ay", "\x1b]8;;\ay"},
		"link parameters":       {"\x1b]8;x=\u202e;https://a\ay", "\x1b]8;;https://a\ay"},
	} {
		t.Run(name, func(t *testing.T) { check(t, tc.in, tc.want) })
	}
}

// TestUnanswered: where nobody reads the answers, nothing is asked.
func TestUnanswered(t *testing.T) {
	for _, in := range []string{kept["queries"], kept["colour queries"], kept["mouse"], "\x1b[?u\x1b[?4m", "\x1b[?2031;2048;9h"} {
		want := ""
		if in == kept["mouse"] {
			want = "\x1b[?1006h"
		}
		if got := run(false, in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestFailingWriter(t *testing.T) {
	r, w := io.Pipe()
	r.CloseWithError(io.ErrClosedPipe)
	if n, err := NewFilter(w, true).Write([]byte("x")); n != 0 || !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Write = %d, %v", n, err)
	}
}

// TestLeave: what the agent left on is switched off, and nothing else.
func TestLeave(t *testing.T) {
	for name, tc := range map[string]struct {
		in, undo, redo string
		chatty         bool
	}{
		"nothing":      {in: "hello"},
		"switched off": {in: "\x1b[?1000h\x1b[?25l\x1b[?1049h\x1b[1m\x1b[>1u\x1b[<u\x1b[m\x1b[?1049l\x1b[?25h\x1b[?1000l", undo: "\x1b[m"}, // which a saved cursor may have kept
		"screen": {
			in:   "\x1b[?1049h\x1b[?25l\x1b[?2004h",
			undo: "\x1b[?1049l\x1b[?25h\x1b[?2004l", redo: "\x1b[?1049h\x1b[?25l\x1b[?2004h",
		},
		"mouse":             {in: "\x1b[?1000;1006h", undo: "\x1b[?1000l\x1b[?1006l", redo: "\x1b[?1000h\x1b[?1006h", chatty: true},
		"keyboard":          {in: "\x1b[>1u\x1b[>5u", undo: "\x1b[<2u", redo: "\x1b[>1u\x1b[>5u", chatty: true},
		"keyboard set":      {in: "\x1b[=1u\x1b[=4;2u\x1b[=1;3u", undo: "\x1b[<1u", redo: "\x1b[>4u", chatty: true},
		"keyboard, screens": {in: "\x1b[>1u\x1b[?1049h\x1b[>3u", undo: "\x1b[<1u\x1b[?1049l\x1b[<1u", redo: "\x1b[>1u\x1b[?1049h\x1b[>3u", chatty: true},
		"keyboard, other":   {in: "\x1b[?1049h\x1b[>3u\x1b[?1049l", undo: "\x1b[?1049h\x1b[<1u\x1b[?1049l", chatty: true},
		"modify keys":       {in: "\x1b[>4;2m", undo: "\x1b[>4m", redo: "\x1b[>4;2m"},
		"shape and keypad":  {in: "\x1b[6 q\x1b=\x1b[4h", undo: "\x1b[4l\x1b>\x1b[0 q", redo: "\x1b[4h\x1b=\x1b[6 q"},
		"attributes":        {in: "\x1b[31m", undo: "\x1b[m"},
		"margins":           {in: "\x1b[2;5r", undo: "\x1b7\x1b[r\x1b8"},
		"character set":     {in: "\x1b(0", undo: "\x1b(B\x1b)B\x0f"},
		"shift":             {in: "\x0e", undo: "\x1b(B\x1b)B\x0f"},
		"link":              {in: "\x1b]8;;https://a\a", undo: "\x1b]8;;\x1b\\"},
		"colours":           {in: "\x1b]4;1;red\a\x1b]10;red\a\x1b]11;red\a\x1b]12;red\a", undo: "\x1b]104\x1b\\\x1b]110\x1b\\\x1b]111\x1b\\\x1b]112\x1b\\"},
		"title":             {in: "\x1b]2;x\a", undo: popTitle},
		"progress":          {in: "\x1b]9;4;1;5\a", undo: "\x1b]9;4;0\x1b\\"},
		"open image":        {in: "\x1bPq~~", undo: "\x1b\\"},
		"full reset":        {in: "\x1b[?1049h\x1bc"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			f := NewFilter(&out, true)
			_, _ = io.WriteString(f, tc.in)
			out.Reset()
			chatty, err := f.Leave()
			if d := cmp.Diff(tc.undo, out.String()); d != "" || err != nil || chatty != tc.chatty {
				t.Errorf("Leave: chatty %v, error %v, %s", chatty, err, d)
			}
			out.Reset()
			if err := f.Return(); err != nil {
				t.Fatal(err)
			}
			if name == "keyboard, other" {
				return
			}
			if d := cmp.Diff(tc.redo, out.String()); d != "" {
				t.Errorf("Return: %s", d)
			}
		})
	}
}

// TestLeaveInside: a stop in the middle of a sequence does not spoil it, and the
// rest of an image is not printed as text.
func TestLeaveInside(t *testing.T) {
	for in, rest := range map[string]string{
		"\x1b[3|1mx":           "\x1b[31mx",
		"\x1b]52;c;Q|Q==\ax":   "x",
		"\x1bPq~~|~~\x1b\\x":   "x",
		"\x1bPq~~\x1b|\\x":     "x",
		"\xe2\x9c|\xb3":        "✳",
		"\x1b]8;;https://|a\a": "\x1b]8;;https://a\a",
	} {
		var out bytes.Buffer
		f := NewFilter(&out, true)
		before, after, _ := strings.Cut(in, "|")
		_, _ = io.WriteString(f, before)
		_, _ = f.Leave()
		_ = f.Return()
		out.Reset()
		_, _ = io.WriteString(f, after)
		if out.String() != rest {
			t.Errorf("%q: rest %q, want %q", in, out.String(), rest)
		}
	}
}

// TestKeyDepth: pushes beyond the bound are not passed, so that all can be popped.
func TestKeyDepth(t *testing.T) {
	var out bytes.Buffer
	f := NewFilter(&out, true)
	_, _ = io.WriteString(f, strings.Repeat("\x1b[>1u", 1000))
	if n := strings.Count(out.String(), "u"); n != keyDepth {
		t.Errorf("%d pushes passed", n)
	}
	out.Reset()
	_, _ = f.Leave()
	if out.String() != "\x1b[<16u" {
		t.Errorf("undo %q", out.String())
	}
}

// TestTables: every row gives its reason, every mode fits the set of bits, and
// no key stands twice.
func TestTables(t *testing.T) {
	if len(modeTable) > 64 {
		t.Errorf("%d modes, and 64 bits", len(modeTable))
	}
	keys := map[string]bool{}
	row := func(name, why string, list ...string) {
		if name == "" || why == "" {
			t.Errorf("no reason: %q %q", name, list)
		}
		for _, k := range list {
			if keys[k] {
				t.Errorf("%q twice", k)
			}
			keys[k] = true
		}
	}
	for _, f := range csiFamilies {
		row(f.name, f.why, f.keys...)
	}
	for _, f := range oscFamilies {
		row(f.name, f.why, f.codes...)
	}
	for _, m := range modeTable {
		row("mode", m.why)
	}
	for _, r := range removed {
		row(r.name, r.why)
	}
}
