package scan

import (
	"strings"
)

// asWorkflow is a workflow of GitHub, Gitea or Forgejo. It is shown as it is: it runs on a
// machine of theirs, after a push, for whoever opens a pull request.
const asWorkflow = "workflow"

// workflowRule is for all of them.
var workflowRule = rule{who: "CI", when: "when anybody opens a pull request or writes a comment"}

func init() {
	workflowRule.Form, workflowRule.Shown = asWorkflow, true
	for _, dir := range []string{".github", ".gitea", ".forgejo"} {
		workflowRule.Files = append(workflowRule.Files, dir+"/workflows/*.yml", dir+"/workflows/*.yaml")
	}
}

// strangers are the events that anybody causes, and that run with the repository's secrets.
var strangers = pattern(`\b(pull_request_target|issue_comment|issues|discussion|discussion_comment|workflow_run|pull_request_review|pull_request_review_comment)\b`)

// theirCode names the state of a pull request that somebody else made.
var theirCode = pattern(`github\.event\.pull_request\.head\.(sha|ref)|github\.event\.workflow_run\.head_(sha|branch)|github\.head_ref|refs/pull/|\bgh pr checkout\b`)

// theirText names what a stranger writes and GitHub puts into the text of a step.
var theirText = pattern(`\$\{\{[^}]*\bgithub\.(head_ref|event\.(issue|pull_request|comment|review|review_comment|discussion|head_commit|workflow_run|commits[^.]*|pages[^.]*)\.[a-z_.]*(title|body|message|name|email|label|ref|head_branch|default_branch))\b[^}]*\}\}`)

// workflow judges one by its lines. It finds the pattern by which a pull request takes the
// token of the runner; it is no reader of YAML, and what is spelled in an odd way passes.
func workflow(data []byte) judged {
	var out judged
	event := workflowLines{}
	for text := range strings.Lines(string(data)) { // it may stand behind what it causes
		event.next(strings.TrimRight(text, "\r\n"))
	}
	w := workflowLines{event: event.event}
	line := 0
	for text := range strings.Lines(string(data)) {
		line++
		w.next(strings.TrimRight(text, "\r\n"))
		add := func(k kind, what string) {
			out.hits = append(out.hits, hit{kind: k, line: line, what: what + ": " + quote(strings.TrimSpace(text)), seed: strings.TrimSpace(text), full: text})
		}
		switch {
		case w.comment:
		case w.event == "":
		case w.event != "" && w.fetches() && theirCode().MatchString(w.text):
			add(kTheirCode, w.event+" fetches the code of a pull request")
		case w.script && theirText().MatchString(w.text):
			add(kTheirText, "text of whoever causes "+w.event+" is part of a command")
		}
	}
	return out
}

// workflowLines follows the keys of a workflow by how far they are indented.
type workflowLines struct {
	text    string
	comment bool
	on      bool   // within "on:"
	event   string // the first that anybody causes
	block   int    // the indentation of the key whose block of text this is; -1: none
	begun   bool
	script  bool // the line is part of a command
}

func (w *workflowLines) next(line string) {
	w.text = line
	trimmed := strings.TrimLeft(line, " ")
	depth := len(line) - len(trimmed)
	if w.comment = trimmed == "" || trimmed[0] == '#'; w.comment {
		return
	}
	if !w.begun {
		w.block, w.begun = -1, true
	}
	if w.block >= 0 && depth > w.block {
		return // of the same block
	}
	w.block, w.script = -1, false
	item := strings.TrimLeft(trimmed, "- ")
	key, value, _ := strings.Cut(item, ":")
	key = strings.Trim(key, `"' `)
	if depth == 0 {
		w.on = key == "on" || key == "true"
	}
	if w.on && w.event == "" {
		code, _, _ := strings.Cut(line, " #")
		w.event = strangers().FindString(code)
	}
	if key == "run" || key == "script" {
		w.script = true
		if v := strings.TrimSpace(value); v == "" || v[0] == '|' || v[0] == '>' {
			w.block = depth + len(trimmed) - len(item)
		}
	}
}

// fetches holds for a line that says what is checked out.
func (w *workflowLines) fetches() bool {
	item := strings.TrimLeft(w.text, " -")
	return strings.HasPrefix(item, "ref:") || strings.HasPrefix(item, "with:") || strings.HasPrefix(item, "repository:") || w.script && strings.Contains(w.text, "checkout") || w.script && strings.Contains(w.text, "fetch")
}
