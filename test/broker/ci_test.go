package broker

import (
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/workspace/hostexec"
	"ringfence.dev/ringfence/test/stage"
)

// ciFiles went through once, because the broker had a list of its own.
var ciFiles = []string{".woodpecker.yaml", ".woodpecker.yml", ".woodpecker/a.yaml", ".build.yml", ".builds/a.yml", ".cirrus.yml", ".cirrus.star", ".buildkite/pipeline.yml",
	".semaphore/semaphore.yml", ".drone.star", ".drone.yml", ".drone.jsonnet", "appveyor.yml", ".appveyor.yml", "azure-pipelines.yaml", "azure-pipelines-nightly.yml",
	".azure-pipelines/a.yml", ".gitlab/ci/a.yml", "a.gitlab-ci.yml", ".tekton/a.yaml", "codefresh.yml", ".teamcity/settings.kts", "wercker.yml", "screwdriver.yaml",
	"Jenkinsfile.release", ".forgejo/workflows/a.yml", ".gitea/workflows/a.yml", ".github/workflows/a.yml", ".github/actions/a/action.yml", "cloudbuild.yaml", "buildspec.yml",
	"bitrise.yml", "codemagic.yaml", ".circleci/config.yml", ".travis.yml", "bitbucket-pipelines.yml", ".gitlab-ci.yml", "Jenkinsfile", ".GitLab-CI.yml"}

// A push of what a forge or its CI runs is refused, by every name that a review knows,
// with the reason; the same commit without it goes through. The two users share the
// names: the judge of a name is the broker's, outside of the sandbox.
func TestPushOfCI(t *testing.T) {
	s := begin(t)
	f := s.forge()
	s.checkout(f)
	s.keepToken()
	known, err := hostexec.OnPush()
	if err != nil {
		t.Fatal(err)
	}
	names := slices.Clone(ciFiles)
	rules, err := hostexec.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rules.Table() {
		p := strings.ReplaceAll(strings.Trim(row.Pattern, "/"), "*", "x")
		first, second, _ := strings.Cut(p, "/")
		if len(known.Runs(first, second, false)) == 0 {
			continue
		}
		if !slices.ContainsFunc(names, func(n string) bool { return n == p || strings.HasPrefix(n, p+"/") }) {
			names = append(names, p)
		}
	}
	before := f.refs(ownRepo)
	h := s.hold("run", "--", "sh")
	h.say("git clone -q https://" + forgeName + "/" + ownRepo + " $HOME/c && cd $HOME/c && git checkout -q -b topic")
	for i, n := range names {
		if !stage.Mine(i) {
			continue
		}
		out, ok := h.try(`mkdir -p "$(dirname ` + n + `)" && echo run > ` + n + ` && git add -A -f && ` + as + `commit -q -m x && git push origin HEAD:topic 2>&1; s=$?; git reset -q --hard origin/main; (exit $s)`)
		if ok || !strings.Contains(out, "ringfence: changes of ") || !strings.Contains(out, `git = ["workflows"]`) {
			t.Errorf("%s: %v\n%s", n, ok, out)
		}
	}
	if now := f.refs(ownRepo); now != before {
		t.Errorf("the forge has %s", now)
	}
	if out, ok := h.try("echo text > notes.yml && git add notes.yml && " + as + "commit -q -m x && git push -q origin HEAD:topic"); !ok || f.refs(ownRepo) == before {
		t.Errorf("control: %s", out)
	}
}
