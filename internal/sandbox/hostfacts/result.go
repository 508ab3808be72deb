package hostfacts

// Status is the outcome of one probe.
type Status string

// The outcomes. Degraded means that the launch goes ahead with less; unusable
// that it refuses under the default policy, which requires every wall.
const (
	OK       Status = "ok"
	Degraded Status = "degraded"
	Unusable Status = "unusable"
)

// Result is one line of doctor. Walls go by the names that policy uses.
type Result struct {
	Name   string `json:"name"`
	Status Status `json:"status"`
	Detail string `json:"detail,omitempty"`
	Fix    string `json:"fix,omitempty"`
}

// Verdict is the exit status of doctor: 0 ok, 1 degraded, 2 unusable.
func Verdict(results []Result) int {
	verdict := 0
	for _, r := range results {
		switch r.Status {
		case OK:
		case Degraded:
			verdict = max(verdict, 1)
		default:
			verdict = 2
		}
	}
	return verdict
}
