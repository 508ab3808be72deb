package agent

import "errors"

// plainJSON turns JSON with comments and trailing commas, which agents accept in
// their settings, into plain JSON of the same length. It knows no more of JSON
// than where strings begin and end; the parser after it is the judge.
func plainJSON(data []byte) ([]byte, error) {
	out := append([]byte(nil), data...)
	comma := -1 // the last comma that nothing but space has followed
	for i := 0; i < len(out); {
		switch c := out[i]; {
		case c == '"':
			end := stringEnd(out, i)
			if end < 0 {
				return nil, errors.New("a string without an end")
			}
			comma, i = -1, end
		case c == '/' && i+1 < len(out) && (out[i+1] == '/' || out[i+1] == '*'):
			end := commentEnd(out, i)
			if end < 0 {
				return nil, errors.New("a comment without an end")
			}
			blank(out[i:end])
			i = end
		case c == ',':
			comma = i
			i++
		case c == '}' || c == ']':
			if comma >= 0 {
				out[comma] = ' '
			}
			comma = -1
			i++
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			i++
		default:
			comma = -1
			i++
		}
	}
	return out, nil
}

// stringEnd returns the index after the string that starts at i, or -1.
func stringEnd(data []byte, i int) int {
	for i++; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}

// commentEnd returns the index after the comment that starts at i, or -1.
func commentEnd(data []byte, i int) int {
	if data[i+1] == '/' {
		for ; i < len(data) && data[i] != '\n'; i++ {
		}
		return i
	}
	for i += 2; i+1 < len(data); i++ {
		if data[i] == '*' && data[i+1] == '/' {
			return i + 2
		}
	}
	return -1
}

func blank(data []byte) {
	for i := range data {
		data[i] = ' '
	}
}
