package fault

// Distance counts the edits from one word to another, a swap of neighbours being one. It
// is at most most+1, which stands for all that is farther: what cannot be near is not
// computed, because a word may come from a file and be long.
func Distance(a, b string, most int) int {
	if len(a) > len(b)+most || len(b) > len(a)+most {
		return most + 1
	}
	before, row := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		next := make([]int, len(b)+1)
		next[0] = i
		for j := 1; j <= len(b); j++ {
			change := row[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			next[j] = min(change, row[j]+1, next[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				next[j] = min(next[j], before[j-2]+1)
			}
		}
		before, row = row, next
	}
	return min(row[len(b)], most+1)
}
