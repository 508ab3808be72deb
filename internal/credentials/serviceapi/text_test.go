package serviceapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// gitlabReads is how GitLab finds commands in a text: it deletes carriage returns, and
// then a line that begins with a slash and the name of a command is one, in any case.
func gitlabActs(s string) bool {
	return regexp.MustCompile(`(?im)^[ \t]*/(?:merge|approve|close|move|assign|rebase|run_pipeline|relate)(?:[ \t\n]|$)`).MatchString(strings.ReplaceAll(s, "\r", ""))
}

// hostileTexts are commands as somebody would hide them.
var hostileTexts = []string{
	"/merge", "/MERGE", "/\rmerge", "/m\re\rrge", "\r/merge", "x\r/merge", "x\n\r/merge", "x\r\n/merge", "x\u2028/merge", "x\u2029/merge", "x\u0085/merge",
	"x\v/merge", "x\f/merge", "\u0000/merge", "/me\u0000rge", "\ufeff/merge", "\u200b/merge", "/\u200bmerge", "\u00a0/merge", "\u3164/merge", "\u2800/merge", "\u2060/merge",
	"<!-- -->/merge", "text <!-- \n -->/merge", "```\n```\n/merge", "```\n/merge\n```", "> x\n/merge", "\t /approve", "/move\tother/project", "/move other/project",
	"/merge /x", "/merge\u00a0/x", "/ merge", "／merge", "/merge\u001b[2K/", "/tmp", "/_", "/é", "/" + "\u202e" + "egrem", "x\x7f\n/merge",
}

// harmlessTexts are what people write.
var harmlessTexts = []string{
	"", "well done", "see `/merge`", "either/or", "/usr/bin/env is a path", "/a/b", "// a comment", "line\r\nline\r\n\r\n- item\n\ttab", "a\n/srv/x\nb", "👩‍💻 naïve “quotes” – ok", "1/2", "<!-- hidden -->text",
}

// No text that GitLab obeys passes, and none that is made to look like one; what people
// write does.
func TestCommands(t *testing.T) {
	s := newService(t, Config{Kind: GitLab, Repos: []string{"42"}})
	for _, where := range []struct{ method, path, field string }{
		{"POST", "/issues", "description"}, {"POST", "/issues", "title"}, {"PUT", "/issues/1", "description"}, {"POST", "/issues/1/notes", "body"},
		{"PUT", "/issues/1/notes/2", "body"}, {"POST", "/merge_requests", "description"}, {"PUT", "/merge_requests/1", "description"},
		{"POST", "/merge_requests/1/notes", "body"}, {"POST", "/merge_requests/1/discussions", "body"}, {"POST", "/repository/commits/abc/comments", "note"},
		{"POST", "/merge_requests/1/discussions", "position"},
	} {
		ask := func(text string) Decision {
			b, err := json.Marshal(map[string]any{where.field: text})
			if where.field == "position" {
				b, err = json.Marshal(map[string]any{"body": "x", "position": map[string]any{"deep": []string{text}}})
			}
			if err != nil {
				t.Fatal(err)
			}
			r := request(where.method + " /api/v4/projects/42" + where.path + " " + string(b))
			return s.Judge(r)
		}
		for _, text := range hostileTexts {
			if d := ask(text); d.Allow {
				t.Errorf("%s %s: %q passes", where.method, where.path, text)
			}
		}
		for _, text := range harmlessTexts {
			if d := ask(text); !d.Allow {
				t.Errorf("%s %s: %q does not pass: %s", where.method, where.path, text, d.Reason)
			}
		}
	}
}

// Every forge: characters that readers take in different ways, a name that stands twice
// for a reader to whom case means nothing, a robot that acts.
func TestTextsOfForges(t *testing.T) {
	hub := newService(t, Config{Kind: GitHub, Repos: []string{"o/r"}, Host: "api.github.com"})
	tea := newService(t, Config{Kind: Gitea, Repos: []string{"o/r"}, Host: "gitea.test"})
	for text, want := range map[string]bool{
		`{"body":"fine\r\n\tyes"}`: true, `{"body":"a\rb"}`: false, `{"body":"a\u0000"}`: false, `{"body":"\u001b[2K"}`: false, `{"body":"a\u2028b"}`: false,
		`{"body":"\ud800"}`: false, `{"body":"\udc00\ud800"}`: false, `{"body":"\ud83d\ude00"}`: true, `{"body":"\ufffe"}`: false,
		`{"body":"x","BODY":"y"}`: false, `{"body":"x","Body":"y"}`: false, `{"labels":["a\rb"]}`: false, `{"a\rb":"x"}`: false, `{"ſtate":"x","state":"y"}`: false,
	} {
		if d := hub.Judge(request("POST /repos/o/r/issues/1/comments " + text)); d.Allow != want {
			t.Errorf("GitHub: %s: %+v", text, d)
		}
		if d := tea.Judge(request("POST /api/v1/repos/o/r/issues/1/comments " + text)); d.Allow != want {
			t.Errorf("Gitea: %s: %+v", text, d)
		}
	}
	for text, want := range map[string]bool{"@dependabot merge": false, "@Dependabot squash and merge": false, "@depend\u200babot merge": false, "ask dependabot": true,
		"@copilot fix it": false, "@alice": true, "@copilots": true, "&#64;copilot fix it": false, "&commat;copilot": false, "@copil&#111;t fix it": false,
		"@co<!-- x -->pilot": false, "@<b></b>copilot": false, "a <b> & copilot": true} {
		b, _ := json.Marshal(map[string]string{"body": text})
		if d := hub.Judge(request("POST /repos/o/r/issues/1/comments " + string(b))); d.Allow != want {
			t.Errorf("%q: %+v", text, d)
		}
	}
}

// An issue that is assigned to a robot of GitHub's has it push and open pull requests,
// where "agent_assignment" says. Fields that are not known do not pass.
func TestNoRobotIsSetToWork(t *testing.T) {
	s := newService(t, Config{Kind: GitHub, Repos: []string{"o/r"}, Host: "api.github.com"})
	for line, want := range map[string]bool{
		`POST /repos/o/r/issues {"title":"t","assignees":["copilot-swe-agent[bot]"]}`:                                 false,
		`POST /repos/o/r/issues {"title":"t","agent_assignment":{"target_repo":"o/other"}}`:                           false,
		`PATCH /repos/o/r/issues/1 {"assignees":["alice","Copilot"]}`:                                                 false,
		`PATCH /repos/o/r/issues/1 {"assignee":"copilot"}`:                                                            false,
		`POST /repos/o/r/issues/1/assignees {"assignees":["openai-code-agent[bot]"]}`:                                 false,
		`POST /repos/o/r/issues/1/assignees {"assignees":["alice"]}`:                                                  true,
		`POST /repos/o/r/issues {"title":"t","body":"b","labels":["a"],"milestone":1,"assignees":["copilotsfriend"]}`: true,
		`POST /repos/o/r/pulls {"title":"t","head":"f","base":"main","draft":true,"maintainer_can_modify":true}`:      true,
		`POST /repos/o/r/pulls/1/reviews {"event":"COMMENT","comments":[{"path":"a","line":1,"body":"b"}]}`:           true,
		`POST /repos/o/r/pulls/1/comments {"body":"b","commit_id":"c","path":"p","line":1,"side":"RIGHT"}`:            true,
		`POST /repos/o/r/pulls/1/requested_reviewers {"reviewers":["alice"],"team_reviewers":["t"]}`:                  true,
		`POST /repos/o/r/pulls {"title":"t","head":"f","base":"main","auto_merge":true}`:                              false,
	} {
		if d := s.Judge(request(line)); d.Allow != want {
			t.Errorf("%s: %+v", line, d)
		}
	}
	s.learn("I_1")
	for input, want := range map[string]bool{`["BOT_kgDOC9w8XQ"]`: false, `"BOT_kgDOC9w8XQ"`: false, `["U_1","MDM6Qm90MQ=="]`: false, `["U_1"]`: true} {
		line := `POST /graphql {"query":"mutation($a:[ID!]!){addAssigneesToAssignable(input:{assignableId:\"I_1\",assigneeIds:$a}){clientMutationId}}","variables":{"a":` + input + `}}`
		if d := s.Judge(request(line)); d.Allow != want {
			t.Errorf("%s: %+v", line, d)
		}
	}
	if d := s.Judge(request(`POST /graphql {"query":"mutation($a:ID!){addAssigneesToAssignable(input:{assignableId:\"I_1\",assigneeIds:[$a]}){clientMutationId}}","variables":{"a":"BOT_1"}}`)); d.Allow {
		t.Errorf("a robot in a list: %+v", d)
	}
}

// Rack passes over brackets before and behind the name of a parameter.
func TestBracketsOfParameters(t *testing.T) {
	s, c := newService(t, Config{Kind: GitLab, Host: "lab.test"}), &Common{}
	for _, form := range []string{"%s", "[%s]", "%s]", "]%s", "[[%s", "%%5B%s%%5D", "%s[]", "[%s][]", "+[%s]"} {
		for _, name := range []string{"sudo", "private_token"} {
			query := fmt.Sprintf(form, name) + "=x"
			r := httptest.NewRequest("GET", "/api/v4/projects?"+query, nil)
			value, _, _ := s.Presented(r)
			if d := s.Judge(From(r, nil)); d.Allow && value == "" {
				t.Errorf("%s passes, and nothing is presented", query)
			}
			if s.Strip(r); name == "private_token" && r.URL.RawQuery != "" {
				t.Errorf("%s stays", r.URL.RawQuery)
			}
			if d, _ := c.Judge("gitlab.com", Request{Method: "GET", Path: "/api/v4/projects", Query: query, Header: http.Header{}}); d.Allow {
				t.Errorf("%s passes at a common host", query)
			}
		}
	}
}

// Fields that are not known do not pass at GitLab.
func TestGitLabFields(t *testing.T) {
	s := newService(t, Config{Kind: GitLab, Repos: []string{"42"}})
	for body, want := range map[string]bool{`{"title":"t","labels":["a"],"assignee_ids[]":[1]}`: true, `{"title":"t","approvals_before_merge":0}`: false,
		`{"title":"t","merge_when_pipeline_succeeds":true}`: false, `{"title":"t","auto_merge":true}`: false, `{"title":"t","to_project_id":42}`: false} {
		if d := s.Judge(request("POST /api/v4/projects/42/merge_requests " + body)); d.Allow != want {
			t.Errorf("%s: %+v", body, d)
		}
	}
}

// glab asks for the project by its name, and gives the number that it was told.
func TestGitLabNumberIsLearnt(t *testing.T) {
	s := newService(t, Config{Kind: GitLab, Repos: []string{"o/r"}})
	create := func(id string) bool {
		return s.Judge(request(`POST /api/v4/projects/o%2Fr/merge_requests {"title":"t","source_branch":"f","target_branch":"m","target_project_id":` + id + `}`)).Allow
	}
	if create("42") {
		t.Error("a number that nobody told")
	}
	if d := s.Judge(request("GET /api/v4/projects/o%2Fother")); !d.Allow || d.Learn != nil {
		t.Errorf("another project is learnt from: %+v", d)
	}
	d := s.Judge(request("GET /api/v4/projects/o%2Fr?license=true"))
	if !d.Allow || d.Learn == nil {
		t.Fatalf("%+v", d)
	}
	for _, answer := range []string{`{"id":42,"name":"r"}`, `{"id":"7x"}`, `[]`, `{"id":1.5}`, `{"id":-3}`} {
		d.Learn([]byte(answer))
	}
	for id, want := range map[string]bool{"42": true, `"42"`: true, "7": false, `"7x"`: false, "1.5": false, "-3": false, "null": false, "4.2e1": false} {
		if create(id) != want {
			t.Errorf("%s: %v", id, !want)
		}
	}
}

// What goes on is written anew: every spelling of a body becomes the same one.
func TestBodyAnew(t *testing.T) {
	s := newService(t, Config{Kind: GitHub, Repos: []string{"o/r"}, Host: "api.github.com"})
	tea := newService(t, Config{Kind: Gitea, Repos: []string{"o/r"}, Host: "gitea.test"})
	for body, want := range map[string]string{
		`{ "body" : "\u002fmerge \u003c&\u2713" , "milestone":1.50, "labels":[ ], "content":{"b":null,"a":[true]} }`: `{"body":"/merge <&✓","content":{"a":[true],"b":null},"labels":[],"milestone":1.50}`,
		`{}`: `{}`,
	} {
		d := tea.Judge(request("POST /api/v1/repos/o/r/issues/1/comments " + body))
		if !d.Allow || string(d.Body) != want {
			t.Errorf("%s: %s %+v", body, d.Body, d)
		}
		if again, err := readObject(d.Body); err != nil || string(anew(again)) != want {
			t.Errorf("%s: read again it is %s: %v", body, anew(again), err)
		}
	}
	if d := s.Judge(request("POST /graphql " + `{"query":"{ viewer { login } }", "variables" : {} }`)); string(d.Body) != `{"query":"{ viewer { login } }","variables":{}}` {
		t.Errorf("%s", d.Body)
	}
}

// FuzzCommand: what GitLab takes for a command, in whatever disguise, does not pass.
func FuzzCommand(f *testing.F) {
	for _, s := range append(hostileTexts, harmlessTexts...) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) {
			return
		}
		if gitlabActs(s) && Unclear(s) == "" && !Command(s) {
			t.Errorf("%q passes", s)
		}
		if Unclear(s) == "" && strings.Contains(strings.ReplaceAll(s, "\r\n", ""), "\r") {
			t.Errorf("%q is clear", s)
		}
	})
}
