package serviceapi

import (
	"encoding/json"
	"strings"
	"testing"
)

// ask makes a GraphQL request.
func ask(query string, variables map[string]any) Request {
	body, _ := json.Marshal(map[string]any{"query": query, "variables": variables})
	r := request("POST /graphql")
	r.Body, r.Length = body, int64(len(body))
	return r
}

func hub(t testing.TB) *Service {
	return newService(t, Config{Kind: GitHub, Host: "api.github.com", Repos: []string{"o/r"}})
}

func TestQueries(t *testing.T) {
	s := hub(t)
	for _, q := range []string{
		`{viewer{login}}`,
		`query UserCurrent{viewer{login}}`,
		"query($o:String!,$n:[Int!]!=[1,2]) @x(a:1) {\r\n # comment, ok\n repository(owner:$o,name:\"r\"){...f ... on Repository{id} ... @include(if:true){name}}} fragment f on Repository{id}",
		`{search(query:"a \"b\" \u00e4 é",type:ISSUE,first:-1,x:1.5e+3){nodes{__typename}}}`,
		`{a(b:"""block " text \""" gists""",c:{d:[$e,null]}){f}}`,
		`{repository(owner:"other",name:"one"){issues(first:1){nodes{title}}}}`,
		`{__type(name:"Issue"){fields(includeDeprecated:true){name}}}`,
	} {
		if d := s.Judge(ask(q, nil)); !d.Allow {
			t.Errorf("%s: %s", q, d.Reason)
		}
	}
	for _, q := range []string{
		``, `{`, `}`, `{}`, `{a{}}`, `{a`, `{a}}`, `{a}{b}`, `query{a}query{b}`, `query A{a} mutation B{b}`,
		`subscription{a}`, `type A{b:Int}`, `extend type A{b:Int}`, `schema{query:Q}`, `fragment f on X{a}`,
		`{viewer{gists(first:1){nodes{name}}}}`, `{viewer{x:gists(first:1){nodes{name}}}}`, `{node(id:"x"){... on Gist{files{text}}}}`,
		`{viewer{...f}} fragment f on User{gists{nodes{id}}}`, `{node(id:"x"){...f}} fragment f on Gist{id}`,
		`{viewer{publicKeys(first:1){nodes{key}}}}`, `{repository(owner:"o",name:"r"){deployKeys(first:1){nodes{key}}}}`,
		`{enterprise(slug:"x"){id}}`, `{a(b:1,b:2)}`, `{a(b:01)}`, `{a(b:1x)}`, `{a(b:"x)}`, "{a(b:\"x\ny\")}", `{a(b:"\x")}`,
		"{a}\r{b}", "{a}\x00", "{a # \u2028 \n}", "{ä}", "\ufeff{a}", `{a(b:"""x)}`, `{a(b:$)}`, `{a @}`, `{...}`, `{... on}`, `fragment on on X{a} {b}`,
		`{a(b:["""x""""y" ]) gists(z:["]) k }#" ])}`, // gqlparser reads a and k in it, the standard a and gists
		`{a(b:"""""")}`, `query($a:Int,$a:Int){b}`, `{b} fragment f($a:Int) on X{c}`, "{a(b:\"\u2029\")}", "{a\ufeff}",
		`{a;b}`, `{a:}`, `{"a"}`, strings.Repeat("{a", 60) + strings.Repeat("}", 60), `{a(b:` + strings.Repeat("[", 60) + strings.Repeat("]", 60) + `)}`,
		`{` + strings.Repeat("a ", maxTokens) + `}`, `{a(b:"` + strings.Repeat("x", maxDocument) + `")}`,
	} {
		if d := s.Judge(ask(q, nil)); d.Allow {
			t.Errorf("allowed: %.200s", q)
		}
	}
}

func TestGraphQLBodies(t *testing.T) {
	s := hub(t)
	for body, allow := range map[string]bool{
		`{"query":"{a}"}`: true,
		`{"query":"query A{a}","operationName":"A"}`:        true,
		`{"query":"{a}","operationName":null}`:              true,
		` {"query":"{a}","variables":{}} `:                  true,
		`{"query":"query A{a}","operationName":"B"}`:        false,
		`{"query":"{a}","query":"mutation{deleteRef{a}}"}`:  false,
		`{"query":"{a}","extensions":{}}`:                   false,
		`{"query":"{a}","variables":"x"}`:                   false,
		`{"query":["{a}"]}`:                                 false,
		`[{"query":"{a}"}]`:                                 false,
		`{"query":"{a}"}{"query":"mutation{deleteRef{a}}"}`: false,
		`{"query":"{a}"}x`:                                  false,
		`{"Query":"{a}"}`:                                   false,
		"{\"query\":\"{a}\xff\"}":                           false,
		`query=%7Ba%7D`:                                     false,
		``:                                                  false,
		`{"query":"{a}","variables":` + strings.Repeat("[", 90) + strings.Repeat("]", 90) + `}`: false,
	} {
		r := request("POST /graphql")
		r.Body, r.Length = []byte(body), int64(len(body))
		if d := s.Judge(r); d.Allow != allow {
			t.Errorf("%s: %v %s", body, d.Allow, d.Reason)
		}
	}
	for _, line := range []string{"GET /graphql", "PUT /graphql {}", `POST /graphql?query={a} {"query":"{a}"}`, `POST /graphql/x {"query":"{a}"}`} {
		if d := s.Judge(request(line)); d.Allow {
			t.Errorf("%s is allowed", line)
		}
	}
	only := newService(t, Config{Kind: GitHub, Host: "api.github.com", Repos: []string{"o/r"}, Only: true})
	if d := only.Judge(ask("{viewer{login}}", nil)); d.Allow {
		t.Error("Only lets GraphQL read everything")
	}
}

const aboutUs = `query($o:String!,$n:String!){repository(owner:$o,name:$n){id parent{id} owner{id} x:id pullRequest(number:1){id body comments(first:1){nodes{id}}} list:pullRequests(first:9){edges{node{...pr}}}}} fragment pr on PullRequest{id headRepository{id}}`

const answerAboutUs = `{"data":{"repository":{"id":"R_us","x":"R_us2","parent":{"id":"R_parent"},"owner":{"id":"U_o"},"pullRequest":{"id":"PR_1","body":"PR_fake","comments":{"nodes":[{"id":"IC_1"}]}},"list":{"edges":[{"node":{"id":"PR_2","headRepository":{"id":"R_head"}}},null]}}}}`

func TestLearnsWhatBelongsToUs(t *testing.T) {
	s := hub(t)
	d := s.Judge(ask(aboutUs, map[string]any{"o": "O", "n": "R"}))
	if !d.Allow || d.Learn == nil {
		t.Fatalf("%+v", d)
	}
	d.Learn([]byte(answerAboutUs))
	for _, id := range []string{"R_us", "R_us2", "PR_1", "PR_2", "IC_1"} {
		if !s.knows(id) {
			t.Errorf("%s is not known", id)
		}
	}
	for _, id := range []string{"R_parent", "U_o", "PR_fake", "R_head", ""} {
		if s.knows(id) {
			t.Errorf("%q is known", id)
		}
	}
}

// TestLearnsNothingElse: whoever asks chooses the names in the answer.
func TestLearnsNothingElse(t *testing.T) {
	deep := `...f0}}} fragment f50 on Issue{id:body} `
	for i := range 50 {
		deep += "fragment f" + itoa(i) + " on Issue{...f" + itoa(i+1) + "} "
	}
	for name, c := range map[string]struct{ query, answer string }{
		"another repository": {`{repository(owner:"other",name:"one"){id}}`, `{"data":{"repository":{"id":"EVIL"}}}`},
		"a slash":            {`{repository(owner:"",name:"o/r"){id}}`, `{"data":{"repository":{"id":"EVIL"}}}`},
		"alias to ours":      {`{repository:user(login:"x"){id} us:repository(owner:"o",name:"r"){name}}`, `{"data":{"repository":{"id":"EVIL"},"us":{"id":"EVIL"}}}`},
		"alias of id":        {`{repository(owner:"o",name:"r"){issue(number:1){id:body}}}`, `{"data":{"repository":{"issue":{"id":"EVIL"}}}}`},
		"by type":            {`{repository(owner:"o",name:"r"){issueOrPullRequest(number:1){...on PullRequest{id} ...on Issue{id:body}}}}`, `{"data":{"repository":{"issueOrPullRequest":{"id":"EVIL"}}}}`},
		"by depth":           {`{repository(owner:"o",name:"r"){issueOrPullRequest(number:1){...on PullRequest{id} ` + deep, `{"data":{"repository":{"issueOrPullRequest":{"id":"EVIL"}}}}`},
		"two at one key":     {`{...a ...b} fragment a on Query{x:repository(owner:"o",name:"r"){id}} fragment b on Query{x:repository(owner:"other",name:"one"){id}}`, `{"data":{"x":{"id":"EVIL"}}}`},
		"forks":              {`{repository(owner:"o",name:"r"){forks(first:1){nodes{id}}}}`, `{"data":{"repository":{"forks":{"nodes":[{"id":"EVIL"}]}}}}`},
		"references":         {`{repository(owner:"o",name:"r"){issue(number:1){timelineItems(first:1){nodes{... on CrossReferencedEvent{source{... on Issue{id}}}}}}}}`, `{"data":{"repository":{"issue":{"timelineItems":{"nodes":[{"source":{"id":"EVIL"}}]}}}}}`},
		"node":               {`{node(id:"EVIL"){id}}`, `{"data":{"node":{"id":"EVIL"}}}`},
		"cycle":              {`{repository(owner:"o",name:"r"){...a}} fragment a on Repository{...a id}`, `{"data":{"repository":{"id":"EVIL"}}}`},
		"not asked":          {`{repository(owner:"o",name:"r"){name}}`, `{"data":{"repository":{"id":"EVIL","pullRequest":{"id":"EVIL"}}}}`},
	} {
		s := hub(t)
		d := s.Judge(ask(c.query, nil))
		if d.Learn != nil {
			d.Learn([]byte(c.answer))
		}
		if !d.Allow || s.knows("EVIL") {
			t.Errorf("%s: allow %v (%s), learned %v", name, d.Allow, d.Reason, s.knows("EVIL"))
		}
	}
	s := hub(t)
	for _, junk := range []string{"", "null", "[]", `{"data":[]}`, `{"data":{"repository":[[["x"]]]}}`, `{"data":{"repository":7}}`} {
		s.Judge(ask(aboutUs, map[string]any{"o": "o", "n": "r"})).Learn([]byte(junk))
	}
	if len(s.known) > 0 {
		t.Errorf("learned from junk: %v", s.known)
	}
}

func itoa(i int) string { b, _ := json.Marshal(i); return string(b) }

func TestMutations(t *testing.T) {
	s := hub(t)
	for _, id := range []string{"R_us", "PR_1", "I_1", "IC_1"} {
		s.learn(id)
	}
	type vars = map[string]any
	in := func(input vars) vars { return vars{"input": input} }
	m := func(name string) string { return "mutation M($input:X!){" + name + "(input:$input){clientMutationId}}" }
	for _, c := range []struct {
		query string
		vars  vars
		allow bool
	}{
		{m("createPullRequest"), in(vars{"repositoryId": "R_us", "title": "t", "body": "b", "baseRefName": "main", "headRefName": "f", "draft": false, "maintainerCanModify": true}), true},
		{m("updatePullRequest"), in(vars{"pullRequestId": "PR_1", "labelIds": []string{"L"}, "assigneeIds": []string{"U"}}), true},
		{m("addComment"), in(vars{"subjectId": "PR_1", "body": "x"}), true},
		{m("createIssue"), in(vars{"repositoryId": "R_us", "title": "t"}), true},
		{m("closeIssue"), in(vars{"issueId": "I_1"}), true},
		{m("addPullRequestReview"), in(vars{"pullRequestId": "PR_1", "event": "COMMENT", "body": "x"}), true},
		{`mutation{addComment(input:{subjectId:"I_1",body:"x"}){clientMutationId}}`, nil, true},
		{`mutation($b:String!){addPullRequestReview(input:{pullRequestId:"PR_1",event:COMMENT,body:$b}){clientMutationId}}`, vars{"b": "x"}, true},
		{`mutation{a:addComment(input:{subjectId:"I_1",body:"x"}){clientMutationId} b:closeIssue(input:{issueId:"I_1"}){clientMutationId}}`, nil, true},

		{m("createPullRequest"), in(vars{"repositoryId": "R_other", "title": "t"}), false},
		{m("createPullRequest"), in(vars{"title": "t"}), false},
		{m("createPullRequest"), in(vars{"repositoryId": []string{"R_us"}}), false},
		{m("createPullRequest"), in(vars{"repositoryId": "R_us", "headRepositoryId": "R_other"}), false},
		{m("createPullRequest"), in(vars{"repositoryId": "R_us", "tomorrowId": "R_other"}), false},
		{m("createPullRequest"), nil, false},
		{m("createIssue"), in(vars{"repositoryId": "R_us", "title": "t", "projectV2Ids": []string{"P"}}), false},
		{m("addComment"), in(vars{"subjectId": "I_other", "body": "x"}), false},
		{m("addPullRequestReview"), in(vars{"pullRequestId": "PR_1", "event": "APPROVE"}), false},
		{`mutation{addPullRequestReview(input:{pullRequestId:"PR_1",event:APPROVE}){clientMutationId}}`, nil, false},
		{m("mergePullRequest"), in(vars{"pullRequestId": "PR_1"}), false},
		{m("enablePullRequestAutoMerge"), in(vars{"pullRequestId": "PR_1"}), false},
		{m("createRef"), in(vars{"repositoryId": "R_us"}), false},
		{m("createCommitOnBranch"), in(vars{"branch": vars{}}), false},
		{m("createRepository"), in(vars{"name": "x"}), false},
		{m("transferIssue"), in(vars{"issueId": "I_1", "repositoryId": "R_other"}), false},
		{`mutation{addComment:mergePullRequest(input:{pullRequestId:"PR_1"}){clientMutationId}}`, nil, false},
		{`mutation{addComment(input:{subjectId:"I_1",body:"x"}){clientMutationId} mergePullRequest(input:{pullRequestId:"PR_1"}){clientMutationId}}`, nil, false},
		{`mutation{...m} fragment m on Mutation{addComment(input:{subjectId:"I_1",body:"x"}){clientMutationId}}`, nil, false},
		{`mutation{... on Mutation{addComment(input:{subjectId:"I_1",body:"x"}){clientMutationId}}}`, nil, false},
		{`mutation{addComment(input:{subjectId:"I_1",body:"x"}) @skip(if:true){clientMutationId}}`, nil, false},
		{`mutation($input:X={subjectId:"I_other"}){addComment(input:$input){clientMutationId}}`, in(vars{"subjectId": "I_1"}), false},
		{`mutation{addComment(input:{subjectId:"I_1",body:"x"},also:1){clientMutationId}}`, nil, false},
		{`mutation{addComment(input:{subjectId:"I_1",subjectId:"I_other",body:"x"}){clientMutationId}}`, nil, false},
		{`mutation{addComment(input:{subjectId:"I_1",body:"x"}){subject{... on Issue{author{... on User{gists{nodes{id}}}}}}}}`, nil, false},
	} {
		if d := s.Judge(ask(c.query, c.vars)); d.Allow != c.allow {
			t.Errorf("%s %v: %v %s", c.query, c.vars, d.Allow, d.Reason)
		}
	}
	made := s.Judge(ask(`mutation{createPullRequest(input:{repositoryId:"R_us",title:"t"}){pullRequest{id url}}}`, nil))
	made.Learn([]byte(`{"data":{"createPullRequest":{"pullRequest":{"id":"PR_new"}}}}`))
	if !s.knows("PR_new") {
		t.Error("a pull request that was made is not known")
	}
}
