package scan

import (
	"strings"
	"testing"
)

func TestWorkflows(t *testing.T) {
	const target, push = "on: pull_request_target\n", "on:\n  push:\n"
	checkout := "jobs:\n  a:\n    steps:\n      - uses: actions/checkout@v4\n        with:\n          ref: ${{ github.event.pull_request.head.sha }}\n"
	inline := "jobs:\n  a:\n    steps:\n      - uses: actions/checkout@v4\n        with: {ref: \"refs/pull/${{ github.event.number }}/merge\"}\n"
	script := "jobs:\n  a:\n    steps:\n      - name: x\n        run: |\n          echo hello\n\n          echo \"${{ github.event.pull_request.title }}\"\n      - run: true\n"
	short := "jobs: {}\nsteps:\n  - run: echo ${{github.head_ref}}\n"
	safe := "jobs:\n  a:\n    steps:\n      - env:\n          TITLE: ${{ github.event.pull_request.title }}\n        run: echo \"$TITLE\"\n"
	for text, want := range map[string]string{
		target + checkout: "SC-055", "\"on\": [push, pull_request_target]\n" + checkout: "SC-055", "on:\n  workflow_run:\n    workflows: [x]\n" + checkout: "SC-055",
		target + inline: "SC-055", "on:\n  - pull_request_target\n" + inline: "SC-055",
		target + "jobs:\n  a:\n    steps:\n      - run: gh pr checkout $N\n": "SC-055",
		script + target: "SC-056", target + script: "SC-056", "on: issue_comment\n" + strings.ReplaceAll(script, "pull_request.title", "comment.body"): "SC-056", target + short: "SC-056",
		"on:\n  pull_request_target:\n    types: [opened] # all\n" + short: "SC-056",
		push + checkout: "", push + script: "", target + safe: "", "on: pull_request\n" + checkout: "", "# on: pull_request_target\n" + push + checkout: "",
		push + "# pull_request_target\n" + checkout: "", target + "jobs:\n  a:\n    steps:\n      - uses: actions/checkout@v4\n": "",
		"name: on pull_request_target\n" + push + script: "", target + "jobs:\n # run: ${{ github.head_ref }}\n": "",
	} {
		r, err := Scan(plant(t, map[string]string{".github/workflows/x.yml": text}), First(""))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, f := range r.Findings {
			if got = f.ID; f.Level != Note || f.Line == 0 {
				t.Errorf("%+v", f)
			}
		}
		if got != want {
			t.Errorf("%q in\n%s", got, text)
		}
	}
}
