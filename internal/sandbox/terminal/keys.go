package terminal

import "strconv"

// keyDepth bounds the stack of keyboard flags; a push beyond it is dropped. No
// program goes so deep, and terminals differ in what they then forget.
const keyDepth = 16

// keyFlags follows kitty's keyboard protocol on one screen, so that the pushes
// of an agent that died can be popped.
type keyFlags struct {
	stack [keyDepth]uint8
	depth int
}

func (k *keyFlags) any() bool { return k.depth > 0 }

// apply follows one sequence, and says whether it may pass and how. What somebody outside
// has pushed is not popped, and not set either: flags that are set before the first push
// are pushed.
func (k *keyFlags) apply(prefix byte, n []int) (pass bool, as byte, number int) {
	if len(n) > 2 || prefix != '=' && len(n) > 1 {
		return false, 0, 0
	}
	switch prefix {
	case '>':
		return k.push(n[0]), prefix, n[0]
	case '<':
		number = min(max(n[0], 1), k.depth)
		k.depth -= number
		return number > 0, prefix, number
	}
	return k.set(n)
}

func (k *keyFlags) push(flags int) bool {
	if flags > 31 || k.depth == keyDepth {
		return false
	}
	k.stack[k.depth] = uint8(flags)
	k.depth++
	return true
}

// set follows CSI = flags ; how u, where how is 1 replace, 2 add, 3 remove.
func (k *keyFlags) set(n []int) (pass bool, as byte, number int) {
	how := 1
	if len(n) == 2 && n[1] != 0 {
		how = n[1]
	}
	if n[0] > 31 || how > 3 {
		return false, 0, 0
	}
	as = '='
	if k.depth == 0 {
		as = '>'
		k.push(0)
	}
	top := &k.stack[k.depth-1]
	switch how {
	case 1:
		*top = uint8(n[0])
	case 2:
		*top |= uint8(n[0])
	case 3:
		*top &^= uint8(n[0])
	}
	return true, as, int(*top)
}

func (k *keyFlags) undo(b []byte) []byte {
	if k.depth > 0 {
		b = append(b, "\x1b[<"+strconv.Itoa(k.depth)+"u"...)
	}
	return b
}

func (k *keyFlags) redo(b []byte) []byte {
	for _, flags := range k.stack[:k.depth] {
		b = append(b, "\x1b[>"+strconv.Itoa(int(flags))+"u"...)
	}
	return b
}
