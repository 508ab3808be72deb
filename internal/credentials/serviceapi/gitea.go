package serviceapi

import (
	"fmt"
	"slices"
	"strings"
)

// giteaRepoRead is what may be read of a repository: as at GitHub, whose API it
// resembles.
var giteaRepoRead = []string{
	"GET,HEAD %s", "GET,HEAD %s/issues/**", "GET,HEAD %s/pulls/**", "GET,HEAD %s/commits/**", "GET,HEAD %s/contents/**",
	"GET,HEAD %s/contents/{}", "GET,HEAD %s/raw/**", "GET,HEAD %s/raw/{}", "GET,HEAD %s/media/**", "GET,HEAD %s/git/**",
	"GET,HEAD %s/branches/**", "GET,HEAD %s/branches/{}", "GET,HEAD %s/tags/**", "GET,HEAD %s/tags/{}",
	"GET,HEAD %s/releases/**", "GET,HEAD %s/labels/**", "GET,HEAD %s/milestones/**", "GET,HEAD %s/assignees",
	"GET,HEAD %s/reviewers", "GET,HEAD %s/compare/**", "GET,HEAD %s/compare/{}", "GET,HEAD %s/statuses/**",
	"GET,HEAD %s/languages", "GET,HEAD %s/stargazers", "GET,HEAD %s/subscribers", "GET,HEAD %s/forks",
	"GET,HEAD %s/topics", "GET,HEAD %s/archive/**", "GET,HEAD %s/archive/{}", "GET,HEAD %s/wiki/**",
	"GET,HEAD %s/actions/tasks", "GET,HEAD %s/issue_templates", "GET,HEAD %s/issue_config",
}

var giteaRead = []string{
	"GET,HEAD /repos/search", "GET,HEAD /repos/issues/search", "GET,HEAD /users/search", "GET,HEAD /users/*",
	"GET,HEAD /users/*/repos", "GET,HEAD /users/*/orgs", "GET,HEAD /orgs", "GET,HEAD /orgs/*", "GET,HEAD /orgs/*/repos",
	"GET,HEAD /orgs/*/members", "GET,HEAD /orgs/*/teams", "GET,HEAD /user/repos", "GET,HEAD /user/orgs",
	"GET,HEAD /user/teams", "GET,HEAD /user/starred", "GET,HEAD /user/subscriptions",
}

var giteaAlways = []string{
	"GET,HEAD /version", "GET,HEAD /user", "GET,HEAD /settings/api", "GET,HEAD /settings/repository",
	"GET,HEAD /settings/ui", "GET,HEAD /settings/attachment", "GET,HEAD /licenses/**", "GET,HEAD /gitignore/**",
}

var giteaWrite = []string{
	"POST %s/issues", "PATCH %s/issues/{n}", "POST %s/issues/{n}/comments", "PATCH %s/issues/comments/{n}",
	"POST,PUT %s/issues/{n}/labels", "DELETE %s/issues/{n}/labels/{n}", "POST %s/issues/{n}/reactions",
	"POST %s/issues/comments/{n}/reactions", "POST %s/pulls", "PATCH %s/pulls/{n}",
	"POST,DELETE %s/pulls/{n}/requested_reviewers", "POST %s/labels",
}

var giteaReview = []string{"POST %s/pulls/{n}/reviews", "POST %s/pulls/{n}/reviews/{n}"}

var giteaDeny = []refused{
	{"* /users/*/tokens/**", noKeys},
	{"* /user/keys/**", noKeys},
	{"* /user/gpg_keys/**", noKeys},
	{"* /user/emails/**", "the addresses of the user are closed"},
	{"* /user/applications/**", noKeys},
	{"* /admin/**", noSetting},
	{"* /repos/*/*/hooks/**", noKeys},
	{"* /repos/*/*/actions/secrets/**", noSecrets},
	{"* /repos/*/*/actions/variables/**", noSecrets},
	{"* /repos/*/*/actions/runners/**", noKeys},
	{"* /repos/*/*/keys/**", noKeys},
	{"* /repos/*/*/collaborators/**", "collaborators are closed"},
	{"* /repos/*/*/push_mirrors/**", noKeys},
	{"POST /user/repos", "creating repositories is denied"},
	{"POST /orgs/*/repos", "creating repositories is denied"},
	{"POST /repos/migrate", "creating repositories is denied"},
	{"POST /repos/*/*/forks", "forking is denied"},
	{"PUT,POST,PATCH,DELETE /repos/*/*/pulls/{n}/merge", noMerge},
	{"POST /repos/*/*/pulls/{n}/update", noPush},
	{"PUT,POST,PATCH,DELETE /repos/*/*/contents/**", noPush},
	{"POST /repos/*/*/diffpatch", noPush},
	{"PUT,POST,PATCH,DELETE /repos/*/*/branches/**", noPush},
	{"PUT,POST,PATCH,DELETE /repos/*/*/tags/**", noPush},
	{"PUT,POST,PATCH,DELETE /repos/*/*/releases/**", "releases are for a person"},
	{"PUT,POST,PATCH,DELETE /repos/*/*/statuses/**", "a status can open a protected branch"},
	{"PATCH,DELETE /repos/*/*", noSetting},
	{"POST /repos/*/*/transfer/**", noSetting},
}

func (s *Service) gitea(api string) {
	s.refuse(api, giteaDeny...)
	s.add(&s.allow, api, giteaAlways...)
	var mine []string
	for _, repo := range s.config.Repos {
		owner, name, _ := strings.Cut(repo, "/")
		mine = append(mine, "/repos/"+own+owner+"/"+own+name)
	}
	s.add(&s.allow, api, under(mine, giteaRepoRead)...)
	for _, text := range under(mine, slices.Concat(giteaWrite, giteaReview)) {
		r := must(api, text)
		r.body = giteaPlain
		s.allow = append(s.allow, r)
	}
	if !s.config.Only {
		s.add(&s.allow, api, giteaRead...)
		s.add(&s.allow, api, under([]string{"/repos/*/*"}, giteaRepoRead)...)
	}
}

// giteaFields are what a write may hold, as at the other forges. Gitea reads names of
// members without regard to their case; here they have the one that its API writes.
var giteaFields = []string{
	"title", "body", "ref", "state", "closed", "assignee", "assignees", "labels", "milestone", "due_date", "unset_due_date", "content_version",
	"head", "base", "reviewers", "team_reviewers", "allow_maintainer_edit", "name", "color", "description", "exclusive", "is_archived",
	"content", "event", "commit_id", "comments",
}

// giteaComment are the fields of a remark of a review.
var giteaComment = []string{"path", "body", "old_position", "new_position"}

func giteaPlain(body object) string {
	for name, value := range body {
		if !slices.Contains(giteaFields, name) {
			return fmt.Sprintf("%.40q is not taken here", name)
		}
		if name != "comments" {
			continue
		}
		list, ok := value.([]any)
		if !ok && value != nil {
			return "the comments of a review are a list"
		}
		for _, c := range list {
			if reason := giteaRemark(c); reason != "" {
				return reason
			}
		}
	}
	return noApproval(body)
}

func giteaRemark(v any) string {
	c, ok := v.(object)
	if !ok {
		return "a comment of a review is an object"
	}
	for name := range c {
		if !slices.Contains(giteaComment, name) {
			return fmt.Sprintf("%.40q is not taken in a comment of a review", name)
		}
	}
	return ""
}
