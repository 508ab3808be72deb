package terminal

import "strconv"

// keyDepth bounds the stack of keyboard flags; a push beyond it is dropped. No
// program goes so deep, and terminals differ in what they then forget.
const keyDepth = 16

// keyFlags follows kitty's keyboard protocol on one screen, so that the pushes
// of an agent that died can be popped.
type keyFlags struct {
	base  uint8 // set without a push
	stack [keyDepth]uint8
	depth int
}

func (k *keyFlags) any() bool { return k.depth > 0 || k.base != 0 }

// apply follows one sequence and reports whether it may pass.
func (k *keyFlags) apply(prefix byte, n []int) bool {
	if len(n) > 2 || prefix != '=' && len(n) > 1 {
		return false
	}
	switch prefix {
	case '>':
		if n[0] > 31 || k.depth == keyDepth {
			return false
		}
		k.stack[k.depth] = uint8(n[0])
		k.depth++
		return true
	case '<':
		k.depth -= min(max(n[0], 1), k.depth)
		return true
	}
	return k.set(n)
}

// set follows CSI = flags ; how u, where how is 1 replace, 2 add, 3 remove.
func (k *keyFlags) set(n []int) bool {
	how := 1
	if len(n) == 2 && n[1] != 0 {
		how = n[1]
	}
	if n[0] > 31 || how > 3 {
		return false
	}
	flags, top := uint8(n[0]), &k.base
	if k.depth > 0 {
		top = &k.stack[k.depth-1]
	}
	switch how {
	case 1:
		*top = flags
	case 2:
		*top |= flags
	case 3:
		*top &^= flags
	}
	return true
}

func (k *keyFlags) undo(b []byte) []byte {
	if k.depth > 0 {
		b = append(b, "\x1b[<"+strconv.Itoa(k.depth)+"u"...)
	}
	if k.base != 0 {
		b = append(b, "\x1b[=0u"...)
	}
	return b
}

func (k *keyFlags) redo(b []byte) []byte {
	if k.base != 0 {
		b = append(b, "\x1b[="+strconv.Itoa(int(k.base))+"u"...)
	}
	for _, flags := range k.stack[:k.depth] {
		b = append(b, "\x1b[>"+strconv.Itoa(int(flags))+"u"...)
	}
	return b
}
