package change

import "bytes"

// IsText reports whether b can be shown and merged by lines. Like git it takes all
// for text that has no NUL near its beginning: source in an old encoding of one
// byte per character is text, too.
func IsText(b []byte) bool {
	return bytes.IndexByte(b[:min(len(b), 8000)], 0) < 0
}

// lines cuts b after every newline. The last line may have none.
func lines(b []byte) [][]byte {
	if len(b) == 0 {
		return nil
	}
	out := bytes.SplitAfter(b, []byte("\n"))
	if len(out[len(out)-1]) == 0 {
		out = out[:len(out)-1]
	}
	return out
}

// number gives equal lines the same number, in all texts together.
func number(texts ...[][]byte) [][]int32 {
	seen := map[string]int32{}
	out := make([][]int32, len(texts))
	for i, text := range texts {
		out[i] = make([]int32, len(text))
		for j, line := range text {
			n, ok := seen[string(line)]
			if !ok {
				n = int32(len(seen))
				seen[string(line)] = n
			}
			out[i][j] = n
		}
	}
	return out
}
