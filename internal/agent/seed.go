package agent

// Fill returns the first content of a state file: the profile's seed and, of the
// host's own file, the keys that the profile carries over, without secrets. A
// host file that is absent or malformed adds nothing.
func (s State) Fill(host []byte, j Judge) []byte {
	seed := []byte(s.Seed)
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
	out, err := render("json", base)
	if err != nil {
		return seed
	}
	return out
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
