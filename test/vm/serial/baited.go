package serial

// BaitPort is where the guest's bait listens.
const BaitPort = 7000

// Baited is how a program went that ran beside the bait.
type Baited struct {
	Status int      `json:"status"`
	Stdout string   `json:"stdout"`
	Stderr string   `json:"stderr"`
	Came   int      `json:"came"` // connections
	Left   []string `json:"left"` // of ringfence, when the program had ended
}
