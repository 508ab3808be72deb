package broker

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/broker/client/sweep"
	"ringfence.dev/ringfence/test/stage"
)

// planted is the control: it is put inside, and has to be found.
const planted = "PLANTEDcanaryThatTheSearchHasToFind-Zq8vXc3R"

// marks are what is looked for: every form of every real credential, and the control.
func marks() (out []sweep.Mark) {
	for name, text := range map[string]string{"model": realKey, "forge": forgeToken, "registry": registryToken} {
		for _, form := range forms(text[strings.Index(text, "CANARY"):]) { // what is before it a phantom has too
			out = append(out, sweep.Of(name, form)...)
		}
	}
	return append(out, sweep.Of("planted", planted)...)
}

// keepsAnswer asks the model, and stays alive with what it was told in its memory.
const keepsAnswer = `fetch(process.env.ANTHROPIC_BASE_URL + "/v1/messages", {method: "POST", body: process.argv[1], headers: {"content-type": "application/json", authorization: "Bearer " + process.env.ANTHROPIC_AUTH_TOKEN}})
	.then(r => r.text()).then(t => { globalThis.kept = t; require("fs").writeFileSync("model", t) }).catch(e => { console.log(e); process.exit(1) }); setInterval(() => {}, 1000)`

// useEverything has a session use each kind of credential once.
func useEverything(t *testing.T, s *scene) *held {
	f := s.forge()
	f.api = forgeAPI
	s.checkout(f)
	s.keepToken()
	registry := s.registry("publish = true\n")
	model := s.vendor(vendorName, vendorAddr, echo)
	s.env = append(s.env, "ANTHROPIC_API_KEY="+realKey)
	s.Put("package.json", []byte(`{"name":"mine","version":"1.0.0","files":[]}`), 0o644)
	h := s.hold("claude", "--", "bash")
	for _, line := range []string{
		"node -e '" + keepsAnswer + "' '" + hello + "' & while [ ! -s model ] && kill -0 $!; do sleep 0.05; done; [ -s model ]",
		"git checkout -q -b topic && " + as + "commit -q --allow-empty -m x && git push -q origin topic",
		"gh api repos/" + ownRepo + " > gh.json",
		"npm install --no-save @corp/lib && npm publish --ignore-scripts",
	} {
		if out, ok := h.try(line); !ok {
			t.Fatalf("%s: %s", line, out)
		}
	}
	if !model.holds(realKey) || !strings.Contains(strings.Join(tokens(f), " "), forgeToken) || !f.holds(" "+forgeToken) || !published(registry) {
		t.Fatal("the credentials were not used: there is nothing to be shown")
	}
	return h
}

// After a session that used everything, nothing inside holds a real credential: no
// variable, no file, no memory. What is put there is found by the same search.
func TestNothingInside(t *testing.T) {
	need(t, "git", "gh", "npm", "node")
	s := begin(t)
	h := useEverything(t, s)
	data, err := json.Marshal(marks())
	if err != nil {
		t.Fatal(err)
	}
	s.Put("marks.json", data, 0o644)
	// The control goes in by its two halves, and lies whole in each kind of place.
	h.say("P=" + planted[:20] + "; P=${P}" + planted[20:] + `; echo $P > /tmp/x; echo $P > /dev/shm/x; echo $P > ~/x; echo $P > x; PLANTED=$P sleep 1000 & P=`)
	h.say(`bash -c 'sleep 1000; :' ` + planted + ` &`)
	if out, ok := h.try("./client search marks.json found.json"); !ok {
		t.Fatal(out)
	}
	var got sweep.Sweeper
	if err := json.Unmarshal([]byte(s.read("found.json")), &got); err != nil {
		t.Fatal(err)
	}
	t.Logf("searched %d files, the memory of %d processes, %d MB", got.Files, got.Procs, got.Bytes>>20)
	onlyPlanted(t, got, "/tmp/x", "/dev/shm/x", stage.Home+"/x", s.Dir+"/x", "/proc/environ", "/proc/cmdline", "/proc/mem")
	h.end()
	// What the session left on the host: the project's state, the journal, the caches.
	left := sweep.Sweeper{Marks: marks()}
	for _, dir := range []string{s.Dir, filepath.Join(s.State, "ringfence"), filepath.Join(s.State, "config/ringfence")} {
		left.Tree(dir)
	}
	onlyPlanted(t, left, s.Dir+"/x")
}

// onlyPlanted: the search found the control in each of these places, and nothing else.
func onlyPlanted(t *testing.T, got sweep.Sweeper, places ...string) {
	t.Helper()
	found := map[string]bool{}
	for _, f := range got.Found {
		if f.Name != "planted" {
			t.Errorf("%s is in %s", f.Name, f.Place)
		}
		if strings.HasPrefix(f.Place, "/proc/") {
			f.Place = "/proc/" + filepath.Base(f.Place)
		}
		found[f.Place] = true
	}
	for _, want := range places {
		if !found[want] {
			t.Errorf("control: the search does not find what lies in %s", want)
		}
	}
}
