package file

// The patterns of ringfence's own data and of policy about hosts' paths, branches and
// settings. A hostile text costs no more than its length times that of the pattern, or
// its square where "*" and "**" are mixed. File masks of a policy also have [classes];
// those follow path.Match.

// Star compares s with a pattern in which "*" is any bytes.
func Star[S string | []byte](pattern string, s S) bool {
	if n := len(pattern); n > 0 && len(s) > 0 && pattern[n-1] != '*' && pattern[n-1] != s[len(s)-1] {
		return false // most end otherwise
	}
	p, i := 0, 0
	star, resume := -1, 0
	for i < len(s) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, resume = p, i
			p++
		case p < len(pattern) && pattern[p] == s[i]:
			p, i = p+1, i+1
		case star >= 0:
			resume++
			p, i = star+1, resume
		default:
			return false
		}
	}
	return onlyStars(pattern[p:])
}

// Wild compares s with a pattern in which "*" is any bytes but sep, "?" one byte but
// sep, and "**" any bytes.
func Wild(pattern, s string, sep byte) bool {
	p, i := 0, 0
	near, nearAt := -1, 0 // the last "*", and where it goes on
	far, farAt := -1, 0   // the last "**"
	for i < len(s) {
		switch {
		case p+1 < len(pattern) && pattern[p] == '*' && pattern[p+1] == '*':
			far, farAt, near = p, i, -1
			p += 2
		case p < len(pattern) && pattern[p] == '*':
			near, nearAt = p, i
			p++
		case p < len(pattern) && (pattern[p] == s[i] || pattern[p] == '?' && s[i] != sep):
			p, i = p+1, i+1
		case near >= 0 && s[nearAt] != sep:
			nearAt++
			p, i = near+1, nearAt
		case far >= 0:
			farAt++
			p, i, near = far+2, farAt, -1
		default:
			return false
		}
	}
	return onlyStars(pattern[p:])
}

func onlyStars(pattern string) bool {
	for i := range len(pattern) {
		if pattern[i] != '*' {
			return false
		}
	}
	return true
}

// Names compares names with a pattern, of which "**" is any number of names, also none.
// same compares one.
func Names[N any](pattern []string, names []N, same func(pattern string, name N) bool) bool {
	p, back, from := 0, -1, 0
	for i := 0; i < len(names); {
		switch {
		case p < len(pattern) && pattern[p] == "**":
			back, from = p, i
			p++
		case p < len(pattern) && same(pattern[p], names[i]):
			p, i = p+1, i+1
		case back >= 0:
			from++
			p, i = back+1, from
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == "**" {
		p++
	}
	return p == len(pattern)
}
