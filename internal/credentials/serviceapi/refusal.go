package serviceapi

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Refusal spells a denial so that the usual client of the kind shows it.
func Refusal(k Kind, status int, d Decision) (contentType string, body []byte) {
	text := "ringfence: " + strings.TrimSuffix(d.Reason, ".")
	if d.Hint != "" {
		text += " (" + d.Hint + ")"
	}
	var v any
	switch k {
	case NPM:
		v = map[string]any{"error": text}
	case Cargo:
		v = map[string]any{"errors": []any{map[string]any{"detail": text}}}
	case GitHub:
		v = map[string]any{"message": text, "documentation_url": "", "status": strconv.Itoa(status)}
	case GitLab, Gitea:
		v = map[string]any{"message": text}
	default:
		return "text/plain; charset=utf-8", []byte(text + "\n")
	}
	body, err := json.Marshal(v)
	if err != nil { // maps of strings always marshal
		return "text/plain; charset=utf-8", []byte(text + "\n")
	}
	return "application/json; charset=utf-8", append(body, '\n')
}
