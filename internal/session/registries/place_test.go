package registries

import (
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"ringfence.dev/ringfence/internal/policy"
)

// A login of netrc goes to what the user or a tool names, and to nothing that only a
// project does: that could be any path and any port of the host.
func TestNetrcIsNotTheProjects(t *testing.T) {
	ds := &doors{}
	ds.Policy = &policy.Policy{}
	ds.User.Home = t.TempDir()
	if err := os.WriteFile(filepath.Join(ds.User.Home, ".netrc"), []byte("machine corp.test login me password pw\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ps := &pythons{doors: ds}
	at := func(text string) *url.URL {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	if i := ps.add(at("https://corp.test/mine"), tools); i.login == nil {
		t.Error("control: a tool's has none")
	}
	for _, text := range []string{"https://corp.test/evil", "https://corp.test:8443/mine"} {
		if i := ps.add(at(text), project); i.login != nil {
			t.Errorf("%s gets a login", text)
		}
	}
	if i := ps.add(at("https://corp.test:443/mine"), project); i.login == nil || i.by != tools {
		t.Errorf("what is named already lost its login: %+v", i.place)
	}
}
