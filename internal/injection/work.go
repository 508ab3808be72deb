package injection

// work counts what one judgement costs: about one for each byte or word that is looked at,
// each time. Whatever the text is, the sum is bounded by its length: who wrote it cannot
// make others wait. What is left over then is said to be unread.
type work struct{ steps, left int }

// most is what a text of a length may cost. Prose takes a sixth of it.
func most(length int) int { return 64*length + 1<<16 }

func (w *work) charge(n int) { w.steps, w.left = w.steps+n, w.left-n }

func (w *work) spent() bool { return w.left < 0 }

// scale weighs the shapes of a window: of those with one name the heaviest counts.
type scale [names][maxWeight + 1]int

const maxWeight = 3

// take puts a shape on the scale, or off it.
func (s *scale) take(of *shape, n int) { s[of.id][of.weight] += n }

func (s *scale) total() (sum int) {
	for _, by := range s {
		for weight := maxWeight; weight > 0; weight-- {
			if by[weight] > 0 {
				sum += weight
				break
			}
		}
	}
	return sum
}
