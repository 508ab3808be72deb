package serviceapi

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// gitlabProjectRead is what may be read of a project. Left out, among others:
// snippets, variables, triggers, schedules, runners, hooks, keys, tokens,
// mirrors, integrations, secure files, Terraform states and exports.
var gitlabProjectRead = []string{
	"GET,HEAD %s", "GET,HEAD %s/issues/**", "GET,HEAD %s/merge_requests/**", "GET,HEAD %s/labels/**",
	"GET,HEAD %s/labels/{}", "GET,HEAD %s/milestones/**", "GET,HEAD %s/releases/**", "GET,HEAD %s/releases/{}",
	"GET,HEAD %s/repository/**", "GET,HEAD %s/repository/files/{}", "GET,HEAD %s/repository/files/{}/raw",
	"GET,HEAD %s/repository/files/{}/blame", "GET,HEAD %s/repository/branches/{}", "GET,HEAD %s/repository/tags/{}",
	"GET,HEAD %s/repository/commits/{}/**", "GET,HEAD %s/pipelines", "GET,HEAD %s/pipelines/latest",
	"GET,HEAD %s/pipelines/{n}", "GET,HEAD %s/pipelines/{n}/jobs", "GET,HEAD %s/pipelines/{n}/bridges",
	"GET,HEAD %s/pipelines/{n}/test_report", "GET,HEAD %s/jobs/**", "GET,HEAD %s/languages", "GET,HEAD %s/search",
	"GET,HEAD %s/users", "GET,HEAD %s/members/**", "GET,HEAD %s/forks", "GET,HEAD %s/starrers",
	"GET,HEAD %s/templates/**", "GET,HEAD %s/protected_branches", "GET,HEAD %s/packages/**", "GET,HEAD %s/packages/npm/{pkg}", "GET,HEAD %s/events",
	"GET,HEAD %s/boards/**", "GET,HEAD %s/wikis/**",
}

// gitlabRead is what may be read besides projects.
var gitlabRead = []string{
	"GET,HEAD /projects", "GET,HEAD /search", "GET,HEAD /issues", "GET,HEAD /merge_requests", "GET,HEAD /users",
	"GET,HEAD /users/{n}", "GET,HEAD /users/*/projects", "GET,HEAD /groups", "GET,HEAD /groups/{}",
	"GET,HEAD /groups/{}/projects", "GET,HEAD /groups/{}/subgroups", "GET,HEAD /groups/{}/issues",
	"GET,HEAD /groups/{}/merge_requests", "GET,HEAD /groups/{}/milestones", "GET,HEAD /groups/{}/labels",
	"GET,HEAD /groups/{}/members", "GET,HEAD /namespaces", "GET,HEAD /namespaces/{}",
}

var gitlabAlways = []string{"GET,HEAD /version", "GET,HEAD /metadata", "GET,HEAD /user", "GET,HEAD /templates/**"}

// gitlabWrite is what may be written in a project of the session.
var gitlabWrite = []string{
	"POST %s/issues", "PUT %s/issues/{n}", "POST %s/issues/{n}/notes", "PUT %s/issues/{n}/notes/{n}",
	"POST %s/issues/{n}/discussions", "POST %s/issues/{n}/discussions/*/notes",
	"POST %s/merge_requests", "PUT %s/merge_requests/{n}", "POST %s/merge_requests/{n}/notes",
	"PUT %s/merge_requests/{n}/notes/{n}", "POST %s/merge_requests/{n}/discussions",
	"POST,PUT %s/merge_requests/{n}/discussions/*/notes/**", "PUT %s/merge_requests/{n}/discussions/*",
	"POST %s/labels", "POST %s/repository/commits/*/comments",
}

const noSnippets = "snippets are closed: they hold what belongs to no repository"

// gitlabClosed are resources of projects and groups that are closed whole.
var gitlabClosed = []refused{
	{"snippets", noSnippets},
	{"access_tokens", noKeys},
	{"deploy_tokens", noKeys},
	{"deploy_keys", noKeys},
	{"variables", noSecrets},
	{"pipelines/{n}/variables", noSecrets},
	{"pipeline_schedules", noSecrets},
	{"secure_files", noSecrets},
	{"terraform", noSecrets},
	{"environments", noSecrets},
	{"triggers", noKeys},
	{"trigger", noKeys},
	{"runners", noKeys},
	{"hooks", noKeys},
	{"remote_mirrors", noKeys},
	{"integrations", noKeys},
	{"services", noKeys},
	{"export", noSetting},
}

var gitlabDeny = []refused{
	{"* /snippets/**", noSnippets},
	{"* /personal_access_tokens/**", noKeys},
	{"* /user/personal_access_tokens/**", noKeys},
	{"* /user/keys/**", noKeys},
	{"* /user/gpg_keys/**", noKeys},
	{"* /user/runners/**", noKeys},
	{"* /user/emails/**", "the addresses of the user are closed"},
	{"* /keys/**", noKeys},
	{"* /runners/**", noKeys},
	{"* /hooks/**", noKeys},
	{"* /admin/**", noSetting},
	{"* /application/**", noSetting},
	{"PUT,POST /projects/{}/merge_requests/{n}/merge", noMerge},
	{"* /projects/{}/merge_requests/{n}/approve", "approving is for a person"},
	{"PUT,POST /projects/{}/merge_requests/{n}/rebase", noPush},
	{"PUT,POST,DELETE /projects/{}/repository/files/**", noPush},
	{"PUT,POST,DELETE /projects/{}/repository/branches/**", noPush},
	{"PUT,POST,DELETE /projects/{}/repository/tags/**", noPush},
	{"POST /projects/{}/repository/commits", noPush},
	{"POST,DELETE /projects/{}/pipelines/**", noRun},
	{"POST /projects/{}/pipeline", noRun},
	{"PUT,POST,DELETE /projects/{}/jobs/**", noRun},
	{"PUT,POST,DELETE /projects/{}", noSetting},
}

func (s *Service) gitlab(api string) {
	s.refuse(api, gitlabDeny...)
	for _, root := range []string{"/projects/{}/", "/groups/{}/"} {
		for _, d := range gitlabClosed {
			s.refuse(api, refused{"* " + root + d.text + "/**", d.reason})
		}
	}
	s.add(&s.allow, api, gitlabAlways...)
	var mine []string
	for _, repo := range s.config.Repos {
		mine = append(mine, "/projects/"+ownPath(repo))
	}
	for _, root := range mine {
		r := must(api, "GET "+root)
		r.learn = s.learnProject
		s.allow = append(s.allow, r)
	}
	s.add(&s.allow, api, under(mine, gitlabProjectRead)...)
	for _, text := range under(mine, gitlabWrite) {
		r := must(api, text)
		r.body = s.plainText
		s.allow = append(s.allow, r)
	}
	if !s.config.Only {
		s.add(&s.allow, api, gitlabRead...)
		s.add(&s.allow, api, under([]string{"/projects/{project}"}, gitlabProjectRead)...)
	}
}

// gitlabFields are what a write may hold: a field of tomorrow may merge, approve or
// lead to another project.
var gitlabFields = []string{
	"title", "description", "body", "note", "labels", "add_labels", "remove_labels", "assignee_id", "assignee_ids", "reviewer_ids",
	"milestone_id", "state_event", "discussion_locked", "confidential", "internal", "due_date", "start_date", "weight", "issue_type",
	"source_branch", "target_branch", "source_project_id", "target_project_id", "project_id", "squash", "remove_source_branch",
	"allow_collaboration", "allow_maintainer_to_push", "draft", "position", "resolved", "commit_id", "note_id", "discussion_id",
	"merge_request_to_resolve_discussions_of", "discussion_to_resolve", "name", "color", "priority", "path", "line", "line_type",
	"id", "iid", "issue_iid", "merge_request_iid", "noteable_id",
}

// plainText keeps a write in this project: no field that is not known, and none that
// names another project. (What the texts say is judged for every forge.)
func (s *Service) plainText(body object) string {
	for key, value := range body {
		name := parameter(key)
		if !slices.Contains(gitlabFields, name) {
			return fmt.Sprintf("%.40q is not taken here", name)
		}
		if id := fmt.Sprint(value); strings.HasSuffix(name, "project_id") && !slices.Contains(s.config.Repos, id) && !s.knows(projectID+id) {
			return fmt.Sprintf("%q names another project", name)
		}
	}
	return ""
}

// projectID stands before the number of a project among what is known.
const projectID = "project "

// learnProject remembers the number of a project of the session: glab asks for it by name
// and gives the number where the merge request is to go.
func (s *Service) learnProject(answer []byte) {
	var project struct {
		ID json.Number `json:"id"`
	}
	if json.Unmarshal(answer, &project) == nil && digits(project.ID.String()) {
		s.learn(projectID + project.ID.String())
	}
}
