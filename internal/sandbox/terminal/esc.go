package terminal

// escKept are the escape sequences, other than CSI and strings, that pass: an
// intermediate byte or 0, and the final byte.
//
// Not among them, with the reason: ESC % changes the terminal's encoding and so
// how it reads all that follows; ESC SP F/G makes it answer in 8-bit form; ESC Z
// is an old query; ESC l and m lock memory; ESC n o | } ~ N O shift to character
// sets nobody uses; ESC # draws double-height lines.
var escKept = map[[2]byte]string{
	{0, '7'}: "save cursor",
	{0, '8'}: "restore cursor",
	{0, '='}: "application keypad",
	{0, '>'}: "numeric keypad",
	{0, 'D'}: "index",
	{0, 'E'}: "next line",
	{0, 'H'}: "set tab stop",
	{0, 'M'}: "reverse index, to scroll down",
	{0, 'c'}: "full reset, as `reset` and `tput reset` send it",

	{'(', '0'}: "line drawing in G0",
	{'(', 'A'}: "British in G0",
	{'(', 'B'}: "ASCII in G0",
	{'(', '1'}: "alternate ROM in G0",
	{'(', '2'}: "alternate graphics ROM in G0",
	{')', '0'}: "line drawing in G1",
	{')', 'A'}: "British in G1",
	{')', 'B'}: "ASCII in G1",
	{')', '1'}: "alternate ROM in G1",
	{')', '2'}: "alternate graphics ROM in G1",
}

func (f *Filter) judgeEscape(inter, final byte) {
	if _, ok := escKept[[2]byte{inter, final}]; !ok {
		return
	}
	f.traces.escape(inter, final)
	if !f.answered && inter == 0 && (final == 'c' || final == '=' || final == '>') {
		if final == 'c' {
			f.emit(resetDrawing + "\x1b[r\x1b[H\x1b[2J")
		}
		return
	}
	f.out = append(f.out, esc)
	if inter != 0 {
		f.out = append(f.out, inter)
	}
	f.out = append(f.out, final)
}
