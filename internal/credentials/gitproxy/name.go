package gitproxy

import "ringfence.dev/ringfence/internal/git/object"

// JudgeName says why a push to a ref would be denied by its name, before there is
// anything to push; "" if it would not. Which branch is the default one only the
// server knows: without its word main and master are taken for it.
func JudgeName(ref string, protected, allow []string) string {
	if !goodRef(ref) {
		return "it is no name of a ref"
	}
	f := &Forge{Config: Config{Protected: protected}, allow: map[string]bool{}}
	for _, a := range allow {
		f.allow[a] = true
	}
	some := object.Sum(object.Commit, nil)
	return f.judgeName(command{ref: ref, new: some}, state{refs: map[string]object.ID{}})
}
