package serviceapi

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// closedFields and closedTypes are not read by GraphQL either.
var (
	closedFields = []string{
		"gist", "gists", "gistComments", "publicKeys", "deployKeys", "savedReplies", "environments", "environment",
		"enterprise", "auditLog", "ipAllowListEntries", "samlIdentityProvider", "collaborators", "vulnerabilityAlerts",
		"vulnerabilityAlert", "tempCloneToken", "enterpriseAdministratorInvitation", "enterpriseMemberInvitation",
	}
	closedTypes = []string{"Gist", "GistComment", "DeployKey", "PublicKey", "Environment", "Enterprise", "SavedReply", "RepositoryVulnerabilityAlert"}
)

// mutation says how a mutation is held to the session's repositories.
type mutation struct {
	target []string // ids, all of which must be known
	plain  []string // what else the input may hold
}

// mutations are what gh needs for issues, pull requests and comments. What an
// input may hold is listed, for a field of tomorrow may name another repository.
var mutations = map[string]mutation{
	"createPullRequest":             {[]string{"repositoryId"}, []string{"baseRefName", "headRefName", "headRepositoryId", "title", "body", "draft", "maintainerCanModify"}},
	"updatePullRequest":             {[]string{"pullRequestId"}, []string{"title", "body", "state", "baseRefName", "labelIds", "assigneeIds", "milestoneId", "maintainerCanModify"}},
	"closePullRequest":              {[]string{"pullRequestId"}, nil},
	"reopenPullRequest":             {[]string{"pullRequestId"}, nil},
	"markPullRequestReadyForReview": {[]string{"pullRequestId"}, nil},
	"convertPullRequestToDraft":     {[]string{"pullRequestId"}, nil},
	"addPullRequestReview":          {[]string{"pullRequestId"}, []string{"event", "body", "commitOID", "comments", "threads"}},
	"requestReviews":                {[]string{"pullRequestId"}, []string{"userIds", "teamIds", "union"}},
	"createIssue":                   {[]string{"repositoryId"}, []string{"title", "body", "labelIds", "assigneeIds", "milestoneId", "issueTemplate"}},
	"updateIssue":                   {[]string{"id"}, []string{"title", "body", "state", "labelIds", "assigneeIds", "milestoneId"}},
	"closeIssue":                    {[]string{"issueId"}, []string{"stateReason"}},
	"reopenIssue":                   {[]string{"issueId"}, nil},
	"addComment":                    {[]string{"subjectId"}, []string{"body"}},
	"updateIssueComment":            {[]string{"id"}, []string{"body"}},
	"addLabelsToLabelable":          {[]string{"labelableId"}, []string{"labelIds"}},
	"removeLabelsFromLabelable":     {[]string{"labelableId"}, []string{"labelIds"}},
	"addAssigneesToAssignable":      {[]string{"assignableId"}, []string{"assigneeIds"}},
	"removeAssigneesFromAssignable": {[]string{"assignableId"}, []string{"assigneeIds"}},
}

// judgeGraphQL decides a request to the one path that is all of GraphQL.
func (s *Service) judgeGraphQL(method string, r Request) Decision {
	no := func(format string, args ...any) Decision {
		return Decision{Rule: "graphql", Reason: "GraphQL: " + fmt.Sprintf(format, args...),
			Hint: "gh api repos/OWNER/NAME/... speaks REST, which has rules by path"}
	}
	switch {
	case method != "POST" || r.Query != "":
		return no("only a POST without a query is taken")
	case s.config.Only:
		return no("it cannot be held to one repository, and nothing else may be read")
	}
	body, err := bodyOf(r)
	if err != nil {
		return no("%v", err)
	}
	doc, vars, err := operation(body)
	if err != nil {
		return no("%v", err)
	}
	if closed := doc.closed(); closed != "" {
		return no("%s is closed", closed)
	}
	d := Decision{Allow: true, Rule: "graphql query", Reason: "reading is allowed", Body: anew(body)}
	if doc.kind == "mutation" {
		if reason := s.mutates(doc, vars); reason != "" {
			return no("%s", reason)
		}
		d.Rule, d.Reason = "graphql mutation", "it is on the list, and its target is in "+strings.Join(s.config.Repos, ", ")
	}
	d.Learn = s.learner(doc, vars)
	return d
}

func operation(body object) (*document, object, error) {
	for key := range body {
		if !slices.Contains([]string{"query", "variables", "operationName"}, key) {
			return nil, nil, fmt.Errorf("%.40q is not known", key)
		}
	}
	query, ok := body["query"].(string)
	if !ok {
		return nil, nil, fmt.Errorf("the query is missing")
	}
	vars, ok := body["variables"].(object)
	if !ok && body["variables"] != nil {
		return nil, nil, fmt.Errorf("the variables are not an object")
	}
	doc, err := parseDocument(query)
	if err != nil {
		return nil, nil, err
	}
	if named := body["operationName"]; named != nil && named != "" && named != doc.name {
		return nil, nil, fmt.Errorf("the operation that is asked for is not there")
	}
	return doc, vars, nil
}

// closed names the first thing in the document that is not read, or "".
func (d *document) closed() string {
	var walk func([]selection) string
	walk = func(sels []selection) string {
		for _, sel := range sels {
			if slices.Contains(closedFields, sel.field) {
				return sel.field
			}
			if slices.Contains(closedTypes, sel.on) {
				return sel.on
			}
			if found := walk(sel.sels); found != "" {
				return found
			}
		}
		return ""
	}
	for _, f := range d.fragments {
		if slices.Contains(closedTypes, f.on) {
			return f.on
		}
		if found := walk(f.sels); found != "" {
			return found
		}
	}
	return walk(d.sels)
}

// mutates returns why a mutation is denied, or "".
func (s *Service) mutates(doc *document, vars object) string {
	if len(doc.defaults) > 0 {
		return "variables of a mutation have no defaults here"
	}
	if reason := s.judgeTexts(vars); reason != "" {
		return reason
	}
	for _, sel := range doc.sels {
		m, listed := mutations[sel.field]
		switch {
		case sel.field == "" || sel.directives:
			return "a mutation is written out, without fragments and directives"
		case !listed:
			return fmt.Sprintf("mutation %s is not on the list", sel.field)
		case len(sel.args) != 1:
			return fmt.Sprintf("mutation %s takes one input", sel.field)
		}
		input, ok := resolve(sel.args["input"], vars).(object)
		if !ok {
			return fmt.Sprintf("mutation %s takes one input", sel.field)
		}
		if reason := s.holds(sel.field, m, input, vars); reason != "" {
			return reason
		}
	}
	return ""
}

// holds checks an input: what it may hold, and that its targets are known.
func (s *Service) holds(name string, m mutation, input, vars object) string {
	for _, target := range m.target {
		id, ok := resolve(input[target], vars).(string)
		if !ok || !s.knows(id) {
			return fmt.Sprintf("the %s of %s was not seen in a query about %s: ask for its id first",
				target, name, cmp.Or(strings.Join(s.config.Repos, ", "), "a repository of the session"))
		}
	}
	for key, raw := range input {
		value := resolve(raw, vars)
		if reason := s.judgeTexts(value); reason != "" {
			return reason
		}
		switch {
		case slices.Contains(m.target, key) || key == "clientMutationId":
		case !slices.Contains(m.plain, key):
			return fmt.Sprintf("%.40q is not taken in %s", key, name)
		case key == "headRepositoryId" && value != nil && value != word("null"):
			if id, ok := value.(string); !ok || !s.knows(id) {
				return "the head of a pull request is in the same repository"
			}
		case key == "assigneeIds" && robotID(value, vars):
			return noRobot
		case key == "event" && !harmlessReview(fmt.Sprint(value)):
			return "a review may comment or ask for changes, not approve"
		}
	}
	return ""
}

// resolve puts a variable's value in its place.
func resolve(v any, vars object) any {
	if name, ok := v.(variable); ok {
		return vars[string(name)]
	}
	return v
}

func (s *Service) knows(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return id != "" && s.known[id]
}
