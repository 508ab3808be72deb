package audit

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"ringfence.dev/ringfence/internal/git/repo"
)

// freshDays is how long a clone counts as new.
const freshDays = 14

// Fresh says that a repository was cloned from elsewhere in the last days and that no
// commit of the user's is in it; "" if not. It goes by the log of HEAD, which an agent can
// write: it is good for advice alone.
func Fresh(w World, r *repo.Repo) string {
	l := &look{World: w, ctx: context.Background(), docs: map[string]*document{}, repo: &repository{Repo: r}}
	from := l.clonedFrom()
	if from == "" || l.worked() {
		return ""
	}
	head, _ := l.logHead()
	age := time.Since(logTime(head))
	if age < 0 || age > freshDays*24*time.Hour {
		return ""
	}
	switch days := int(age.Hours() / 24); days {
	case 0:
		return "cloned today " + from
	case 1:
		return "cloned yesterday " + from
	default:
		return fmt.Sprintf("cloned %d days ago %s", days, from)
	}
}

// logTime is when an entry of a log was made: the number behind the address.
func logTime(entry string) time.Time {
	_, rest, _ := strings.Cut(entry, "> ")
	number, _, _ := strings.Cut(rest, " ")
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Unix(n, 0)
}
