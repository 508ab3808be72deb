package broker

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/journal"
)

// forgeAPI is as much of the API of GitHub Enterprise as gh asks for.
func forgeAPI(w http.ResponseWriter, r *http.Request) {
	if token := strings.TrimPrefix(strings.TrimPrefix(r.Header.Get("Authorization"), "token "), "Bearer "); token != forgeToken && token != attackToken {
		http.Error(w, `{"message":"Bad credentials"}`, http.StatusUnauthorized)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	say := func(v any) { json.NewEncoder(w).Encode(v) }
	path := strings.TrimPrefix(r.URL.Path, "/api/v3")
	switch {
	case r.URL.Path == "/api/graphql":
		b, _ := io.ReadAll(r.Body)
		if strings.Contains(string(b), "viewer") {
			say(map[string]any{"data": map[string]any{"viewer": map[string]any{"login": "alice"}}})
			return
		}
		if strings.Contains(string(b), "__type") {
			say(map[string]any{"data": map[string]any{"Issue": map[string]any{"fields": []any{}}}})
			return
		}
		say(map[string]any{"data": map[string]any{"repository": map[string]any{"id": "R_1", "hasIssuesEnabled": true, "name": "work",
			"issues":       map[string]any{"totalCount": 1, "nodes": []any{map[string]any{"number": 7, "title": "an issue of the forge", "state": "OPEN", "updatedAt": "2024-01-01T00:00:00Z", "labels": map[string]any{"nodes": []any{}, "totalCount": 0}}}, "pageInfo": map[string]any{"hasNextPage": false}},
			"pullRequests": map[string]any{"totalCount": 0, "nodes": []any{}, "pageInfo": map[string]any{"hasNextPage": false}}}}})
	case r.Method == http.MethodGet && strings.HasPrefix(path, "/repos/"):
		say(map[string]any{"full_name": strings.TrimPrefix(path, "/repos/"), "default_branch": "main", "echo": r.Header.Get("Authorization")})
	case r.Method == http.MethodPost:
		w.WriteHeader(http.StatusCreated)
		say(map[string]any{"number": 8, "html_url": "https://" + forgeName + "/x"})
	default:
		say(map[string]any{"login": "alice"})
	}
}

// gh is the real one. It finds the forge and a token by itself, as it does on the host.
func TestForgeAPI(t *testing.T) {
	need(t, "gh")
	s := begin(t)
	f := s.forge()
	f.api = forgeAPI
	s.checkout(f)
	s.keepToken()
	h := s.hold("run", "--", "sh")
	for _, row := range []struct {
		command, want string
		ok            bool
	}{
		{"gh api user", `"login":"alice"`, true},
		{"gh api repos/" + ownRepo, ownRepo, true},
		{"gh api repos/" + publicRepo, publicRepo, true},
		{"gh issue list", "an issue of the forge", true},
		{"gh api graphql -f query='query{viewer{login}}'", "alice", true},
		{"gh api repos/" + ownRepo + "/issues -f title=x", `"number":8`, true},
		{"curl -sS https://" + forgeName + "/" + ownRepo + "/releases", "a page of the forge", true},
		{"gh api gists -f 'files[a][content]=x'", "ringfence", false},
		{"gh api repos/" + dropRepo + "/issues -f title=x", "ringfence", false},
		{"gh api -X DELETE repos/" + ownRepo, "ringfence", false},
		{"gh api repos/" + ownRepo + "/actions/secrets", "ringfence", false},
		{"gh api user/keys -f key=x", "ringfence", false},
		{"gh api graphql -f query='mutation{deleteRef(input:{refId:\"x\"}){clientMutationId}}'", "ringfence", false},
		{"GH_ENTERPRISE_TOKEN=" + attackToken + " gh api user", "ringfence", false},
	} {
		f.forget()
		out, ok := h.try(row.command)
		if ok != row.ok || !strings.Contains(out, row.want) {
			t.Errorf("%s: %v\n%s", row.command, ok, out)
		}
		if strings.Contains(out, forgeToken) {
			t.Errorf("%s: the real token came in:\n%s", row.command, out)
		}
		if n := len(f.requests()); (n > 0) != row.ok {
			t.Errorf("%s: the forge got %d requests", row.command, n)
		}
		for _, q := range f.requests() {
			if strings.HasPrefix(q.Path, "/api/") != strings.Contains(q.Header.Get("Authorization"), forgeToken) {
				t.Errorf("%s: %s was sent with %q", row.command, q.Path, q.Header.Get("Authorization"))
			}
		}
	}
	if out := h.say("env"); strings.Contains(out, forgeToken) || !strings.Contains(out, "GH_HOST="+forgeName) {
		t.Errorf("inside:\n%s", out)
	}
	h.end()
	uses := map[string]int{}
	for _, j := range s.Journal() {
		if j.Kind == journal.Broker && j.Secret == "forge" {
			uses[j.Verdict]++
		}
	}
	if uses[journal.Allow] < 6 || uses[journal.Deny] < 7 {
		t.Errorf("in the journal: %v", uses)
	}
	// The control: on the host the attacker's token works.
	s.env = append(s.env, "GH_HOST="+forgeName, "GH_ENTERPRISE_TOKEN="+attackToken)
	if r := s.host("gh", "api", "user"); r.Status != 0 || !f.holds(attackToken) {
		t.Errorf("control: %s", r.show())
	}
}
