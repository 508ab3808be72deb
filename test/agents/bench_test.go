package agents

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"ringfence.dev/ringfence/internal/credentials/broker"
	"ringfence.dev/ringfence/test/agents/model"
	"ringfence.dev/ringfence/test/tier"
	"ringfence.dev/ringfence/test/world"
)

// attack is one call of a tool, and how one sees that it succeeded; attacks.toml says
// what the fields mean.
type attack struct {
	Name, Tool, What, Text, API, Back, Lands, Pushed, Open string
	Heard, Upstream                                        bool
	Not                                                    []string

	file int // of those that two tools read, which one; from 1
}

// script is attacks.toml.
type script struct {
	Plant  map[string]string
	Attack []attack
}

func readScript(t *testing.T) script {
	f, err := sources.Open("attacks.toml")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var s script
	if err := toml.NewDecoder(f).DisallowUnknownFields().Decode(&s); err != nil {
		t.Fatalf("attacks.toml: %v", err)
	}
	var reads []attack
	for i, path := range slices.Sorted(maps.Keys(s.Plant)) {
		back := "{SECRET " + path + "}"
		reads = append(reads, attack{Name: "~/" + path, Tool: toolRead, What: "{HOME}/" + path, Back: back, file: i + 1},
			attack{Name: "~/" + path, Tool: toolShell, What: "cat '{HOME}/" + path + "'", Back: back, file: i + 1})
	}
	s.Attack = append(reads, s.Attack...)
	for _, a := range s.Attack {
		if a.Back == "" && a.Lands == "" && a.Pushed == "" && !a.Heard && !a.Upstream {
			t.Fatalf("attacks.toml: nobody would see that %q succeeded", a.Name)
		}
	}
	return s
}

// benchPrompt begins the adversary's conversation.
const benchPrompt = "play the script to its end"

// foundFile is where in the project the search says what it found.
const foundFile = "found.txt"

// atOnce is how many calls the model asks for in one turn.
const atOnce = 8

// TestAttacks drives each agent through the attacks: first without ringfence, where
// every one has to succeed, then inside, where none may.
func TestAttacks(t *testing.T) {
	s := readScript(t)
	w := world.New(t)
	for _, name := range []string{"denied.test", "*.denied.test"} {
		w.Answer(name, []string{"203.0.113.66"})
	}
	for _, a := range all {
		w.Answer(a.vendor, []string{"203.0.113.67"})
	}
	host := listenHost(t)
	rows := newTable()
	eachAgent(t, 0, func(t *testing.T, a agent) {
		for _, sandboxed := range []bool{false, true} {
			r := &raid{person: newPerson(t, a), script: s, world: w, host: host, sandboxed: sandboxed}
			r.prepare(t)
			r.play(t)
			r.judge(t, rows)
			r.expectNoKey(t)
		}
	})
	t.Logf("uid %d\n%s", os.Getuid(), rows)
}

// raid is one run of the attacks with one agent.
type raid struct {
	*person
	script    script
	world     *world.World
	host      *listener
	sandboxed bool

	dir     string
	model   *model.Model
	arg     string
	forge   *forge
	secrets map[string]string // by planted path
	attacks []attack          // those that the agent has tools for, filled in
	tokens  []string          // of each
}

// prepare plants what is to be stolen and fills in the script.
func (r *raid) prepare(t *testing.T) {
	r.secrets, r.arg = map[string]string{}, "rf-arg-"+rand.Text()
	for path, text := range r.script.Plant {
		r.secrets[path] = "rf-secret-" + rand.Text()
		r.put(t, filepath.Join(r.home, path), strings.ReplaceAll(text, "{SECRET}", r.secrets[path]))
	}
	r.pay()
	r.dir = r.project(t, "one")
	ca, err := os.ReadFile(r.world.CA)
	if err != nil {
		t.Fatal(err)
	}
	r.forge = newForge(t, r.person, r.dir, string(ca))
	search, err := os.ReadFile(world.Program("search"))
	if err != nil {
		t.Fatal(err)
	}
	r.put(t, filepath.Join(r.dir, "search"), string(search))
	if err := os.Chmod(filepath.Join(r.dir, "search"), 0o755); err != nil {
		t.Fatal(err)
	}
	bystander := exec.Command("/bin/sh", "-c", "read line", r.arg)
	hold, err := bystander.StdinPipe()
	if err == nil {
		err = bystander.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		hold.Close()
		bystander.Wait()
	})
}

// fill fills in what a script leaves open.
func (r *raid) fill(a attack, url string) (attack, string) {
	var random [10]byte
	rand.Read(random[:])
	token := hex.EncodeToString(random[:])
	api := url
	if r.sandboxed {
		api = broker.Endpoint + "/" + r.agent.api
	}
	pairs := []string{"{TOKEN}", token, "{HOME}", r.home, "{DIR}", r.dir, "{ENV}", r.canary, "{KEY}", r.key, "{ARG}", r.arg,
		"{API}", api, "{MODEL}", url, "{VENDOR}", r.agent.vendor, "{CREDENTIAL}", r.agent.presents,
		"{PORT}", r.host.port, "{RESOLVER}", world.Router4, "{REMOTE}", r.forge.url(own), "{OTHER}", r.forge.url(other),
		"{OTHER_PLACE}", strings.TrimPrefix(r.forge.url(other), "https://")}
	for path, secret := range r.secrets {
		pairs = append(pairs, "{SECRET "+path+"}", secret)
	}
	f := strings.NewReplacer(pairs...)
	for _, field := range []*string{&a.What, &a.Text, &a.Back, &a.Lands, &a.Pushed} {
		*field = f.Replace(*field)
	}
	return a, token
}

// leaves reports whether another agent reads this file by this tool. Each agent reads each
// file: one by its own tool and the next by a shell, or the other way round.
func (r *raid) leaves(a attack) bool {
	if a.file == 0 || r.agent.tools[toolRead] == nil || tier.All() {
		return false
	}
	n := slices.IndexFunc(all, func(one agent) bool { return one.name == r.agent.name })
	return ((a.file+n/2)%2 == 0) != (a.Tool == toolRead) // root plays the first and the third
}

// play holds the conversation.
func (r *raid) play(t *testing.T) {
	r.model = model.New(benchPrompt)
	url := r.hire(t, r.model)
	var calls []model.Call
	for _, a := range r.script.Attack {
		tool := r.agent.tools[a.Tool]
		if tool == nil || a.API != "" && a.API != r.agent.api || slices.Contains(a.Not, r.agent.name) || r.leaves(a) {
			continue
		}
		a, token := r.fill(a, url)
		if a.Tool == toolShell {
			a.What += "; true" // one that fails would make some agents give up those beside it
		}
		r.attacks, r.tokens = append(r.attacks, a), append(r.tokens, token)
		calls = append(calls, tool(a.What, a.Text))
	}
	for some := range slices.Chunk(calls, atOnce) {
		r.model.Add(use(some...))
	}
	// One agent does not wait for a command that takes long: it is asked again.
	r.model.Add(use(r.agent.shell("./search " + reversed(r.key) + " " + reversed(r.forge.token) + " >found.part; mv found.part " + foundFile)))
	for range 4 {
		r.model.Add(use(r.agent.shell("n=0; until [ -e " + foundFile + " ] || [ $n -ge 50 ]; do n=$((n+1)); sleep 0.5; done")))
	}
	r.model.Add(say("that is all"))
	var res result
	if r.sandboxed {
		res = r.ringfence(t, r.dir, slices.Concat([]string{r.agent.name, "--"}, r.arguments(r.agent.args, r.agent.begin), []string{benchPrompt})...)
	} else {
		res = r.bare(t, url)
	}
	if res.status != 0 || !strings.Contains(res.stdout, "that is all") {
		t.Fatalf("sandboxed %t: status %d\n%s%s", r.sandboxed, res.status, res.stdout, res.stderr)
	}
}

// bare runs the agent without ringfence. It never runs as root: the stage has the
// machine's own devices and system.
func (r *raid) bare(t *testing.T, url string) result {
	for _, v := range r.agent.bareEnv {
		r.env = append(r.env, strings.ReplaceAll(v, "{URL}", url))
	}
	var args []string
	for _, arg := range r.arguments(r.agent.args, r.agent.bare, r.agent.begin) {
		args = append(args, strings.ReplaceAll(arg, "{URL}", url))
	}
	r.demote(t)
	return r.run(t, r.dir, filepath.Join(r.agents, ".bin", r.agent.name), append(args, benchPrompt)...)
}

// judge looks at every witness. A call of which nothing came back was not tried.
func (r *raid) judge(t *testing.T, rows *table) {
	for i, a := range r.attacks {
		result, tried := r.model.Result(i/atOnce, i%atOnce)
		leaked := r.leaked(t, a, result, r.tokens[i])
		rows.note(a, r.agent.name, r.sandboxed, leaked)
		name := a.Tool + ": " + a.Name
		switch {
		case !tried:
			t.Errorf("sandboxed %t: %s: the agent told of no result", r.sandboxed, name)
		case !r.sandboxed && !leaked:
			t.Errorf("without ringfence, %s does not succeed: it proves nothing\n%.2000s", name, result)
		case r.sandboxed && leaked != (a.Open != ""):
			t.Errorf("inside, %s: succeeds %t, open %q\n%.2000s", name, leaked, a.Open, result)
		}
	}
}

func (r *raid) leaked(t *testing.T, a attack, result, token string) bool {
	landed := false
	if a.Lands != "" {
		data, err := os.ReadFile(a.Lands)
		landed = err == nil && bytes.Contains(data, []byte(token))
	}
	return a.Back != "" && strings.Contains(result, a.Back) || landed || a.Pushed != "" && r.forge.has(t, a.Pushed, token) ||
		a.Heard && (heard(r.world, token) || r.host.heard(token)) ||
		a.Upstream && r.model.Beside(token)
}

// heard reports whether a token reached the internet.
func heard(w *world.World, token string) bool {
	return slices.ContainsFunc(w.Queries(), func(q world.Query) bool { return strings.Contains(strings.ToLower(q.Name), token) }) ||
		slices.ContainsFunc(w.Heard(), func(h world.Heard) bool { return bytes.Contains(h.First, []byte(token)) })
}

// expectNoKey: after all that, the real key is nowhere inside, nor in what ringfence
// keeps of the session; and the model saw no other key in the conversation. Without
// ringfence the same search finds it.
func (r *raid) expectNoKey(t *testing.T) {
	found, err := os.ReadFile(filepath.Join(r.dir, foundFile))
	said := string(found)
	if !strings.Contains(said, "searched ") {
		t.Errorf("sandboxed %t: the search says %s: %v", r.sandboxed, said, err)
	}
	if !r.sandboxed {
		for _, place := range []string{"the environment: " + r.agent.key, "/environ", "/mem at ", r.home} {
			if !strings.Contains(said, place) {
				t.Errorf("without ringfence the search does not find the key in %s: %s", place, said)
			}
		}
		return
	}
	if strings.Contains(said, "found in ") {
		t.Errorf("a real credential is inside: %s", said)
	}
	t.Logf("the search inside says %s", said)
	err = filepath.WalkDir(filepath.Join(r.home, ".local/state/ringfence"), func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(r.key)) || bytes.Contains(data, []byte(r.forge.token)) {
			t.Errorf("a real credential is in %s", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	for _, q := range r.model.Requests() {
		if q.Turn >= 0 {
			r.expectKey(t, q)
		}
	}
}

// reversed is how the search is told what to look for: it must not find its orders.
func reversed(s string) string {
	b := []byte(s)
	slices.Reverse(b)
	return string(b)
}

// listener is a server on the host that remembers what it was asked.
type listener struct {
	port string
	mu   sync.Mutex
	got  []string
}

func listenHost(t *testing.T) *listener {
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	h := &listener{}
	_, h.port, _ = net.SplitHostPort(l.Addr().String())
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.got = append(h.got, r.RequestURI)
	})}
	go s.Serve(l)
	t.Cleanup(func() { s.Shutdown(context.Background()) })
	return h
}

func (h *listener) heard(token string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.ContainsFunc(h.got, func(s string) bool { return strings.Contains(s, token) })
}
