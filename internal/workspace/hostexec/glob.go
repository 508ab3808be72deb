package hostexec

// glob compares s with a pattern in which "*" is any characters. It goes back to
// the last star only, so a hostile s costs no more than len(s)*len(pattern).
func glob[S string | []byte](pattern string, s S) bool {
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
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// maxKey bounds the name of a setting: two kinds of stars cost its square.
const maxKey = 512

// globKey compares the name of a setting with a pattern in which "*" is any
// characters but "." and "**" is any characters. "**." at the start may be nothing.
func globKey(pattern, key string) bool {
	if len(key) > maxKey {
		return false
	}
	if len(pattern) > 3 && pattern[:3] == "**." && globKey(pattern[3:], key) {
		return true
	}
	p, i := 0, 0
	near, nearAt := -1, 0 // the last "*", and where it goes on
	far, farAt := -1, 0   // the last "**"
	for i < len(key) {
		switch {
		case p+1 < len(pattern) && pattern[p] == '*' && pattern[p+1] == '*':
			far, farAt, near = p, i, -1
			p += 2
		case p < len(pattern) && pattern[p] == '*':
			near, nearAt = p, i
			p++
		case p < len(pattern) && pattern[p] == key[i]:
			p, i = p+1, i+1
		case near >= 0 && key[nearAt] != '.':
			nearAt++
			p, i = near+1, nearAt
		case far >= 0:
			farAt++
			p, i, near = far+2, farAt, -1
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}
