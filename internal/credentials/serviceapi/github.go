package serviceapi

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// githubRoots are read by name; paging answers with the same by number.
var githubRoots = []string{"/repos/*/*", "/repositories/{n}"}

// githubRepoRead is what may be read of a repository. Left out, among others:
// secrets, variables, environments, runners, hooks, keys, collaborators,
// invitations, alerts (they quote the secrets they found) and traffic.
var githubRepoRead = []string{
	"GET,HEAD %s", "GET,HEAD %s/issues/**", "GET,HEAD %s/issues/{n}/labels/{}", "GET,HEAD %s/pulls/**",
	"GET,HEAD %s/comments/**", "GET,HEAD %s/commits/**", "GET,HEAD %s/commits/{}/**", "GET,HEAD %s/contents/**",
	"GET,HEAD %s/contents/{}", "GET,HEAD %s/git/**", "GET,HEAD %s/git/ref/{}", "GET,HEAD %s/git/ref/heads/{}",
	"GET,HEAD %s/git/matching-refs/heads/{}", "GET,HEAD %s/git/trees/{}", "GET,HEAD %s/branches/**",
	"GET,HEAD %s/branches/{}", "GET,HEAD %s/tags", "GET,HEAD %s/releases/**", "GET,HEAD %s/releases/tags/{}",
	"GET,HEAD %s/labels/**", "GET,HEAD %s/labels/{}", "GET,HEAD %s/milestones/**", "GET,HEAD %s/assignees/**",
	"GET,HEAD %s/compare/**", "GET,HEAD %s/compare/{}", "GET,HEAD %s/statuses/**", "GET,HEAD %s/check-runs/**",
	"GET,HEAD %s/check-suites/**", "GET,HEAD %s/actions/runs/**", "GET,HEAD %s/actions/jobs/**",
	"GET,HEAD %s/actions/artifacts/**", "GET,HEAD %s/actions/workflows/**", "GET,HEAD %s/actions/caches",
	"GET,HEAD %s/languages", "GET,HEAD %s/contributors", "GET,HEAD %s/stargazers", "GET,HEAD %s/subscribers",
	"GET,HEAD %s/forks", "GET,HEAD %s/readme/**", "GET,HEAD %s/license", "GET,HEAD %s/zipball/**",
	"GET,HEAD %s/tarball/**", "GET,HEAD %s/events", "GET,HEAD %s/activity", "GET,HEAD %s/topics",
	"GET,HEAD %s/community/**", "GET,HEAD %s/stats/**", "GET,HEAD %s/rules/branches/**", "GET,HEAD %s/rulesets/**",
	"GET,HEAD %s/deployments/**", "GET,HEAD %s/pages/**", "GET,HEAD %s/codeowners/errors", "GET,HEAD %s/projects",
}

// githubRead is what may be read besides repositories.
var githubRead = []string{
	"GET,HEAD /search/**", "GET,HEAD /issues", "GET,HEAD /events", "GET,HEAD /networks/**",
	"GET,HEAD /advisories/**", "GET,HEAD /users/*", "GET,HEAD /users/*/repos", "GET,HEAD /users/*/orgs",
	"GET,HEAD /users/*/events/**", "GET,HEAD /users/*/starred", "GET,HEAD /users/*/followers",
	"GET,HEAD /users/*/following/**", "GET,HEAD /users/*/keys", "GET,HEAD /users/*/gpg_keys",
	"GET,HEAD /user/repos", "GET,HEAD /user/orgs", "GET,HEAD /user/teams", "GET,HEAD /user/starred/**",
	"GET,HEAD /user/issues", "GET,HEAD /user/subscriptions", "GET,HEAD /user/{n}/repos", "GET,HEAD /user/{n}/starred",
	"GET,HEAD /orgs/*", "GET,HEAD /orgs/*/repos", "GET,HEAD /orgs/*/members/**", "GET,HEAD /orgs/*/public_members/**",
	"GET,HEAD /orgs/*/teams/**", "GET,HEAD /orgs/*/issues", "GET,HEAD /orgs/*/events", "GET,HEAD /orgs/*/issue-types",
	"GET,HEAD /organizations/{n}/repos", "GET,HEAD /organizations/{n}/members", "GET,HEAD /organizations/{n}/teams",
}

// githubAlways says nothing of a repository.
var githubAlways = []string{
	"GET,HEAD /", "GET,HEAD /meta", "GET,HEAD /rate_limit", "GET,HEAD /zen", "GET,HEAD /emojis", "GET,HEAD /versions",
	"GET,HEAD /licenses/**", "GET,HEAD /gitignore/**", "GET,HEAD /codes_of_conduct/**", "GET,HEAD /user",
}

// githubWrite is what may be written in a repository of the session.
var githubWrite = []string{
	"POST %s/issues", "PATCH %s/issues/{n}", "POST %s/issues/{n}/comments", "PATCH %s/issues/comments/{n}",
	"POST,PUT %s/issues/{n}/labels", "DELETE %s/issues/{n}/labels/*", "POST,DELETE %s/issues/{n}/assignees",
	"POST %s/issues/{n}/reactions", "POST %s/issues/comments/{n}/reactions", "POST %s/pulls/comments/{n}/reactions",
	"POST %s/pulls", "PATCH %s/pulls/{n}", "POST %s/pulls/{n}/comments", "POST %s/pulls/{n}/comments/{n}/replies",
	"PATCH %s/pulls/comments/{n}", "POST,DELETE %s/pulls/{n}/requested_reviewers", "PUT %s/pulls/{n}/reviews/{n}",
	"POST %s/labels", "POST %s/commits/*/comments",
}

// githubReview is written too, if it does not approve.
var githubReview = []string{"POST %s/pulls/{n}/reviews", "POST %s/pulls/{n}/reviews/{n}/events"}

const (
	noGists   = "gists are closed: they hold what belongs to no repository"
	noSecrets = "secrets, variables and environments are closed"
	noKeys    = "keys, tokens and hooks are closed"
	noPush    = "this is a push by another name: use git push"
	noMerge   = "merging is for a person"
	noRun     = "starting and changing workflows is denied"
	noSetting = "settings of a repository are closed"
)

// githubClosed are resources of repositories and organisations that are closed
// whole.
var githubClosed = []refused{
	{"actions/secrets", noSecrets},
	{"actions/variables", noSecrets},
	{"actions/organization-secrets", noSecrets},
	{"actions/organization-variables", noSecrets},
	{"actions/runners", noKeys},
	{"actions/oidc", noKeys},
	{"codespaces", noSecrets},
	{"dependabot/secrets", noSecrets},
	{"environments", noSecrets},
	{"secret-scanning", "it answers with secrets"},
	{"hooks", noKeys},
	{"keys", noKeys},
	{"collaborators", "collaborators are closed"},
}

// githubDeny closes nothing that the lists above open, but for a few reads. It
// gives reasons.
var githubDeny = []refused{
	{"* /gists/**", noGists},
	{"* /users/*/gists/**", noGists},
	{"* /user/keys/**", noKeys},
	{"* /user/gpg_keys/**", noKeys},
	{"* /user/ssh_signing_keys/**", noKeys},
	{"* /user/emails/**", "the addresses of the user are closed"},
	{"* /authorizations/**", noKeys},
	{"* /applications/**", noKeys},
	{"* /app/**", noKeys},
	{"* /installation/**", noKeys},
	{"* /feeds", "it answers with tokens"},
	{"POST /user/repos", "creating repositories is denied"},
	{"POST /orgs/*/repos", "creating repositories is denied"},
	{"* /user/codespaces/**", noSecrets},
	{"PUT,POST,PATCH,DELETE /repos/*/*/pulls/{n}/merge", noMerge},
	{"POST /repos/*/*/merges", noMerge},
	{"POST /repos/*/*/merge-upstream", noPush},
	{"PUT /repos/*/*/pulls/{n}/update-branch", noPush},
	{"PUT,POST,PATCH,DELETE /repos/*/*/git/**", noPush},
	{"PUT,POST,PATCH,DELETE /repos/*/*/contents/**", noPush},
	{"POST /repos/*/*/dispatches", noRun},
	{"PUT,POST,PATCH,DELETE /repos/*/*/actions/**", noRun},
	{"PUT,POST,PATCH,DELETE /repos/*/*/branches/**", noSetting},
	{"PUT,POST,PATCH,DELETE /repos/*/*/rulesets/**", noSetting},
	{"PUT,POST,PATCH,DELETE /repos/*/*/pages/**", noSetting},
	{"PUT,POST,PATCH,DELETE /repos/*/*/topics", noSetting},
	{"PATCH,DELETE /repos/*/*", noSetting},
	{"POST /repos/*/*/transfer", noSetting},
	{"POST /repos/*/*/forks", "forking is denied"},
	{"PUT,POST,PATCH,DELETE /repos/*/*/releases/**", "releases are for a person"},
	{"PUT,POST,PATCH,DELETE /repos/*/*/deployments/**", "deployments are for a person"},
	{"PUT,POST,PATCH,DELETE /repos/*/*/statuses/**", "a status can open a protected branch"},
	{"PUT,POST,PATCH,DELETE /repos/*/*/check-runs/**", "a check can open a protected branch"},
	{"PUT,POST,PATCH,DELETE /repos/*/*/check-suites/**", "a check can open a protected branch"},
	{"DELETE /repos/*/*/issues/comments/**", "removing comments is denied"},
}

// github adds its rules. The public API stands at the root of a host of its own,
// that of a company's server beside its pages.
func (s *Service) github(base string) {
	api, graphql := base, base+"/graphql"
	if !strings.HasPrefix(strings.ToLower(s.config.Host), "api.") {
		api, graphql = base+"/api/v3", base+"/api/graphql"
	}
	s.graphql = strings.Split(graphql[1:], "/")
	s.add(&s.files, api+"/repos/*/*", "GET /contents/**", "GET /contents/{}", "GET /readme/**", "GET /git/blobs/*", "GET /pulls/*", "GET /commits/*", "GET /compare/*", "GET /zipball/**", "GET /tarball/**")
	s.refuse(api, githubDeny...)
	for _, root := range []string{"/repos/*/*/", "/repositories/{n}/", "/orgs/*/", "/organizations/{n}/"} {
		for _, d := range githubClosed {
			s.refuse(api, refused{"* " + root + d.text + "/**", d.reason})
		}
	}
	s.add(&s.allow, api, githubAlways...)
	var mine []string
	for _, repo := range s.config.Repos {
		owner, name, _ := strings.Cut(repo, "/")
		mine = append(mine, "/repos/"+own+owner+"/"+own+name)
	}
	s.add(&s.allow, api, under(mine, githubRepoRead)...)
	for _, text := range under(mine, slices.Concat(githubWrite, githubReview)) {
		r := must(api, text)
		r.body = plainWrite
		s.allow = append(s.allow, r)
	}
	if !s.config.Only {
		s.add(&s.allow, api, githubRead...)
		s.add(&s.allow, api, under(githubRoots, githubRepoRead)...)
	}
}

// githubFields are what a write may hold: a field of tomorrow may lead to another
// repository, as agent_assignment does, which sets a robot to work there.
var githubFields = []string{
	"title", "body", "state", "state_reason", "assignee", "assignees", "labels", "milestone", "type", "name", "color", "description", "content",
	"head", "head_repo", "base", "draft", "issue", "maintainer_can_modify", "reviewers", "team_reviewers", "event", "comments",
	"commit_id", "path", "position", "line", "side", "start_line", "start_side", "subject_type", "in_reply_to",
}

// plainWrite holds a write to fields that are known, and to people.
func plainWrite(body object) string {
	for name, value := range body {
		if !slices.Contains(githubFields, name) {
			return fmt.Sprintf("%.40q is not taken here", name)
		}
		if name == "assignee" || name == "assignees" {
			robot := false
			eachText(value, func(login string) { robot = robot || assigned().MatchString(login) })
			if robot {
				return noRobot
			}
		}
	}
	return noApproval(body)
}

const noRobot = "what is assigned to a robot has it push and open pull requests: assign it to a person"

// assigned are logins that are no person's: whoever gets an issue begins to work on it.
var assigned = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)^@?copilot\b|\[bot\]|(?:swe|code)-agent`) })

// robotID holds for ids of robots in GraphQL, in the form of today and in the one before.
func robotID(v any, vars object) bool {
	switch v := resolve(v, vars).(type) {
	case string:
		return strings.HasPrefix(v, "BOT_") || strings.HasPrefix(v, "MDM6Qm90")
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return robotID(e, vars) })
	}
	return false
}

// noApproval holds a review to what cannot open a protected branch.
func noApproval(body object) string {
	for key, event := range body {
		// Gitea reads names of members without regard to their case.
		if !strings.EqualFold(key, "event") || event == nil {
			continue
		}
		if name, ok := event.(string); !ok || key != "event" || !harmlessReview(name) {
			return "a review may comment or ask for changes, not approve"
		}
	}
	return ""
}

func harmlessReview(event string) bool { return event == "COMMENT" || event == "REQUEST_CHANGES" }
