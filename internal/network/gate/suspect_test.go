package gate

import "testing"

// TestSmokeDoesNotFillTheJournal: however many texts are found, few lines are written, and
// the last of them say how many there were.
func TestSmokeDoesNotFillTheJournal(t *testing.T) {
	var s smoke
	lines, last := 0, 0
	for range 1 << 20 {
		if write, count := s.next(); write {
			lines++
			last = count
		}
	}
	if lines > maxSuspects+20 || last != 1<<20 {
		t.Errorf("%d lines, the last one tells %d", lines, last)
	}
}
