package terminal

import (
	"slices"
	"strconv"
)

// mode is a private mode (DECSET, DECRST) that passes.
type mode struct {
	number int
	on     bool // how a terminal starts
	types  bool // while it is on, the terminal types by itself
	stays  bool // terminals differ in how they start: left as the agent left it
	why    string
}

// modeTable are the private modes that pass; the agent's changes are undone at
// the end. Not here, with the reason: 2 (VT52) and 38 (Tektronix) change the
// grammar; 3 and 40 resize; 4, 18, 19 and 42 are of printers and old terminals;
// 1001 makes the terminal wait for the program; 1034-1039 change what keys send
// and have no common start; 1042 and 1043 raise the window at a bell.
var modeTable = []mode{
	{1, false, false, false, "cursor keys"},
	{5, false, false, false, "reverse video"},
	{6, false, false, false, "origin"},
	{7, true, false, false, "wrap at the margin"},
	{9, false, true, false, "mouse, X10"},
	{12, false, false, false, "blinking cursor"},
	{25, true, false, false, "visible cursor"},
	{45, false, false, false, "wrap backwards"},
	{47, false, false, false, "alternate screen, oldest form"},
	{66, false, false, false, "keypad"},
	{69, false, false, false, "left and right margins"},
	{80, false, false, false, "sixel scrolling"},
	{1000, false, true, false, "mouse buttons"},
	{1002, false, true, false, "mouse drags"},
	{1003, false, true, false, "all mouse movement"},
	{1004, false, true, false, "focus"},
	{1005, false, false, false, "mouse, UTF-8 form"},
	{1006, false, false, false, "mouse, SGR form"},
	{1007, false, false, true, "wheel as arrow keys on the alternate screen"},
	{1015, false, false, false, "mouse, urxvt form"},
	{1016, false, false, false, "mouse in pixels"},
	{1047, false, false, false, "alternate screen"},
	{1048, false, false, true, "save cursor: an act, not a state"},
	{1049, false, false, false, "alternate screen with saved cursor"},
	{1070, true, false, true, "private colours of sixel"},
	{bracketedPaste, false, false, false, "the terminal marks what is pasted"},
	{2026, false, false, false, "synchronized output"},
	{2027, false, false, true, "grapheme clusters"},
	{2031, false, true, false, "reports of the colour scheme"},
	{2048, false, true, false, "reports of the size"},
	{8452, false, false, true, "cursor after sixel"},
}

// bracketedPaste is the mode in which a terminal marks where a paste begins and ends.
const bracketedPaste = 2004

// screenModes are those that show the alternate screen.
var screenModes = []int{47, 1047, 1049}

// input holds for modes that change what the terminal sends.
func (m mode) input() bool {
	return m.types || m.number == 1 || m.number == 66 || m.number == bracketedPaste
}

func modeRow(number int) int {
	return slices.IndexFunc(modeTable, func(m mode) bool { return m.number == number })
}

// keepModes passes the modes of the table and cuts the others out.
func (f *Filter) keepModes(c *csi) bool {
	var kept []byte
	for _, n := range c.numbers() {
		row := modeRow(n)
		if row < 0 {
			continue
		}
		if f.traces.setMode(row, c.final == 'h'); modeTable[row].input() && !f.answered {
			continue // remembered alone
		}
		f.marks = f.marks || n == bracketedPaste && c.final == 'h'
		if kept != nil {
			kept = append(kept, ';')
		}
		kept = strconv.AppendInt(kept, int64(n), 10)
	}
	c.params = kept
	return kept != nil
}
