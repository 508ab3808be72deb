package terminal

import (
	"bytes"
	"regexp"
	"strconv"
	"sync"
)

// press reads one key of those that matter here at the beginning of b: as ever, and as the
// keyboard protocols that some agents switch on spell it, with whatever else was asked to be
// reported: locks, other layouts, the text. n is 0 where it is none.
func press(b []byte, letter byte) (k key, n int) {
	switch {
	case b[0] == 0x1d:
		return ctrlKey, 1
	case b[0] == letter:
		return letterKey, 1
	case bytes.HasPrefix(b, []byte("\x1b[27;5;93~")):
		return ctrlKey, 10
	case b[0] != 0x1b:
		return other, 0
	}
	m := spelled().FindSubmatch(b)
	if m == nil {
		return other, 0
	}
	code, _ := strconv.Atoi(string(m[1]))
	mods, _ := strconv.Atoi(string(m[2]))
	if mods > 0 {
		mods--
	}
	switch mods &^= capsLock | numLock; {
	case string(m[3]) == "3" || code >= firstModifier && code <= lastModifier:
		return silent, len(m[0])
	case code == ']' && mods == ctrl:
		return ctrlKey, len(m[0])
	case code == int(letter) && mods == 0:
		return letterKey, len(m[0])
	}
	return other, 0
}

// spelled is CSI code:others ; modifiers:event ; text u.
var spelled = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\x1b\[([0-9]{1,7})(?::[0-9:]{0,32})?(?:;([0-9]{0,3})(?::([0-9]))?(?:;[0-9:]{0,64})?)?u`)
})

type key int

const (
	other     key = iota
	ctrlKey       // Ctrl-]
	letterKey     // the one that is waited for
	silent        // a key that was let go, or one such as Ctrl by itself
)

const (
	ctrl, capsLock, numLock     = 4, 64, 128
	firstModifier, lastModifier = 57441, 57454
)

// Prefix waits for Ctrl-] and a letter. Ctrl-] twice is one Ctrl-] for the session; before
// any other key it is what it is.
type Prefix struct {
	Letter byte
	held   []byte
}

// Run reads what was typed, and says what of it is passed on and whether the letter came.
// In a paste the keys are text as all else.
func (d *Prefix) Run(typed []byte, pasted bool) (pass []byte, gone bool) {
	if !pasted {
		return d.take(typed)
	}
	pass, d.held = append(d.held, typed...), nil
	return pass, false
}

func (d *Prefix) take(typed []byte) (pass []byte, gone bool) {
	for len(typed) > 0 {
		k, n := press(typed, d.Letter)
		switch {
		case k == ctrlKey && d.held == nil:
			d.held, typed = bytes.Clone(typed[:n]), typed[n:]
			continue
		case k == ctrlKey:
			pass, d.held, typed = append(pass, typed[:n]...), nil, typed[n:]
			continue
		case k == silent && d.held != nil:
			typed = typed[n:]
			continue
		case k == letterKey && d.held != nil:
			d.held = nil
			return pass, true
		}
		pass, d.held = append(pass, d.held...), nil
		pass, typed = append(pass, typed[0]), typed[1:]
	}
	return pass, false
}
