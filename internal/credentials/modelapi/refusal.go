package modelapi

import (
	"encoding/json"
)

// Refusal is the answer to a request that is denied, in the form of the vendor's
// own errors, so that the agent shows it to a person and to the model.
func (a API) Refusal(status int, d Denied) (contentType string, body []byte) {
	message := "ringfence: " + d.Reason
	if d.Hint != "" {
		message += "; " + d.Hint
	}
	var answer any
	switch a {
	case Anthropic:
		answer = map[string]any{"type": "error", "error": map[string]any{
			"type": anthropicError(status), "message": message,
		}}
	case Gemini:
		answer = map[string]any{"error": map[string]any{
			"code": status, "message": message, "status": geminiError(status),
		}}
	default:
		answer = map[string]any{"error": map[string]any{
			"message": message, "type": "invalid_request_error", "param": nil, "code": "ringfence_" + d.code(),
		}}
	}
	body, _ = json.Marshal(answer) // strings and numbers: it cannot fail
	return "application/json", body
}

// code is the rule without its API.
func (d Denied) code() string {
	for i := len(d.Rule) - 1; i >= 0; i-- {
		if d.Rule[i] == '.' {
			return d.Rule[i+1:]
		}
	}
	return "denied"
}

func anthropicError(status int) string {
	switch {
	case status == 401:
		return "authentication_error"
	case status == 403:
		return "permission_error"
	case status == 404:
		return "not_found_error"
	case status == 413:
		return "request_too_large"
	case status == 429:
		return "rate_limit_error"
	case status >= 500:
		return "api_error"
	}
	return "invalid_request_error"
}

func geminiError(status int) string {
	switch {
	case status == 401:
		return "UNAUTHENTICATED"
	case status == 403:
		return "PERMISSION_DENIED"
	case status == 404:
		return "NOT_FOUND"
	case status == 429:
		return "RESOURCE_EXHAUSTED"
	case status == 503:
		return "UNAVAILABLE"
	case status >= 500:
		return "INTERNAL"
	}
	return "INVALID_ARGUMENT"
}
