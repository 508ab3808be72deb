package agent

// Fill returns the first content of a state file: the profile's seed and, of the
// host's own file, the keys that the profile carries over, without secrets. A
// host file that is absent or malformed adds nothing.
func (s State) Fill(host []byte, j Judge) []byte {
	seed := []byte(s.Seed)
	if answered := s.Answered(seed, j); answered != nil {
		seed = answered
	}
	if len(s.Carry) == 0 || len(host) == 0 {
		return seed
	}
	base, err := parse("json", seed)
	if err != nil {
		return seed
	}
	found, err := parse("json", host)
	if err != nil {
		return seed
	}
	carried := carry(split(s.Carry), nil, found)
	newScrubber(s.Rules, j).table(nil, carried, false)
	for key, value := range carried {
		base[key] = value
	}
	s.answer(base, j)
	out, err := render("json", base)
	if err != nil {
		return seed
	}
	return out
}

// Answered returns a state file of an earlier session with the answers that every
// session has, nil if they are there or the file is none that can be written anew.
func (s State) Answered(data []byte, j Judge) []byte {
	tree, err := parse("json", data)
	if len(s.Answer) == 0 || err != nil || !s.answer(tree, j) {
		return nil
	}
	out, err := render("json", tree)
	if err != nil {
		return nil
	}
	return out
}

// answer puts them in, and reports whether one was missing. What stands in the way of
// one is left: the agent then asks.
func (s State) answer(tree map[string]any, j Judge) bool {
	missing := false
	for _, path := range split(s.Answer) {
		for _, dir := range append([]string{j.Dir}, j.Workspaces...) {
			if dir == "" {
				continue
			}
			at, ok := tree, true
			for _, key := range path[:len(path)-1] {
				if key == DirMark {
					key = dir
				}
				if at[key] == nil {
					at[key] = map[string]any{}
				}
				if at, ok = at[key].(map[string]any); !ok {
					break
				}
			}
			if last := path[len(path)-1]; ok && at[last] != true {
				at[last], missing = true, true
			}
		}
	}
	return missing
}

// carry copies what the patterns name: a match whole, a beginning of a match as
// a table with less in it.
func carry(patterns [][]string, path []string, from map[string]any) map[string]any {
	to := map[string]any{}
	for key, value := range from {
		here := append(path[:len(path):len(path)], key)
		if matches(patterns, here) {
			to[key] = value
			continue
		}
		table, ok := value.(map[string]any)
		if !ok {
			continue
		}
		for _, p := range patterns {
			if leads(p, here) {
				to[key] = carry(patterns, here, table)
				break
			}
		}
	}
	return to
}
