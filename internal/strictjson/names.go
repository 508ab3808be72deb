package strictjson

import "hash/maphash"

// fewNames is how many names of an object are compared one by one.
const fewNames = 48

// seed is of this process, so that nobody outside can make hashes meet.
var seed = maphash.MakeSeed()

// names are those of one open object: hashes on the walker's stack, and a set of
// them once they are many.
type names struct {
	first int
	set   map[uint64]struct{}
}

// name reads the name of a member and sees to it that it is new.
func (w *walker) name(own *names) (Text, error) {
	if w.peek() != '"' {
		return Text{}, w.bad("no name")
	}
	start := w.at
	t, err := w.text()
	if err != nil {
		return Text{}, err
	}
	decoded := t.raw
	if t.escaped {
		w.scratch = unescape(w.scratch[:0], t.raw)
		decoded = w.scratch
		for _, c := range decoded {
			if c < ' ' {
				return Text{}, &Error{start, "a control character in a name"}
			}
		}
	}
	if !own.add(w, maphash.Bytes(seed, decoded)) {
		return Text{}, &Error{start, "a name that was there before"}
	}
	if len(w.names)-own.first > MaxMembers {
		return Text{}, &Error{start, "too many members"}
	}
	return t, nil
}

// add reports whether the name with this hash is new.
func (own *names) add(w *walker, hash uint64) bool {
	mine := w.names[own.first:]
	switch {
	case own.set != nil:
		if _, there := own.set[hash]; there {
			return false
		}
		own.set[hash] = struct{}{}
	default:
		for _, h := range mine {
			if h == hash {
				return false
			}
		}
		if len(mine) == fewNames {
			own.set = make(map[uint64]struct{}, 4*fewNames)
			for _, h := range mine {
				own.set[h] = struct{}{}
			}
			own.set[hash] = struct{}{}
		}
	}
	w.names = append(w.names, hash)
	return true
}
