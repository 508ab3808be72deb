package registry
import ("testing"; "os/exec"; "ringfence.dev/ringfence/test/stage")
func TestDbg(t *testing.T) {
	s := begin(t)
	m, n := s.modules(), s.npmRegistry("127.0.0.1")
	m.add("example.test/lib", "v1.2.0", "", aged)
	n.add("lib", "1.0.0", aged)
	s.env = append(s.env, "npm_config_registry="+n.URL)
	s.must(s.locked(n, "lib"), npmAsks)
	s.must(s.summed(m), goAsks)
	o, _ := exec.Command("find", s.state).CombinedOutput(); t.Log(string(o)); c := exec.Command(stage.Ringfence, "run", "--dry-run=text", "--", "true"); c.Dir = s.summed(m); c.Env = s.env; o, _ = c.CombinedOutput(); t.Log(string(o))
	t.Log(s.must(s.summed(m), "id; ls -lanR ~/.npm ~/go/pkg/mod | head -60; mount | grep overlay; cat $(find ~/.npm/_cacache/content-v2 -type f) | wc -c; find ~/go/pkg -type f -exec cat {} + >/dev/null; "+goAsks+"; cat /tmp/said | head -20; find ~/go/pkg"))
}
