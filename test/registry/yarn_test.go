package registry

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/stage"
)

// yarn's own settings of the user count for yarn: its registry, those of scopes, each with
// its login, which stays outside. npm next to it asks its own.
func TestYarnSettings(t *testing.T) {
	const token, ident = "CANARYyarnToken000000000001", "robot:CANARYyarnWord1"
	dir, all := packagers(t)
	for _, p := range all {
		if !strings.HasPrefix(p.Name, "yarn") || p.Name == "yarn-1" && os.Getuid() == 0 { // whose home is another one for it
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			s := begin(t)
			public, corp, own := s.npmRegistry("127.0.0.1"), s.npmRegistry("127.0.0.2"), s.npmRegistry("127.0.0.3")
			corp.token = token
			public.add("lib", "9.9.9", aged)
			corp.add("lib", "1.0.0", aged)
			own.add("@corp/lib", "2.0.0", aged)
			s.env = append(s.env, "CORP_TOKEN="+token)
			files := map[string]string{".npmrc": "registry=" + public.URL + "\n", ".yarnrc.yml": "npmRegistryServer: \"" + corp.URL + "\"\nnpmAuthToken: ${CORP_TOKEN}\nnpmScopes:\n  corp:\n    npmRegistryServer: " + own.URL + "\n    npmAuthIdent: " + ident + "\n"}
			if p.Name == "yarn-1" {
				rest := func(v *npmRegistry) string { return strings.TrimPrefix(v.URL, "http:") }
				files = map[string]string{".yarnrc": "registry \"" + corp.URL + "\"\n\"@corp:registry\" \"" + own.URL + "\"\n",
					".npmrc": rest(corp) + "/:_authToken=${CORP_TOKEN}\n" + rest(own) + "/:_auth=cm9ib3Q6Q0FOQVJZeWFybldvcmQx\n"}
			}
			for name, text := range files {
				path := filepath.Join(stage.Home, name)
				s.write(path, text)
				t.Cleanup(func() { os.Remove(path) })
			}
			out := s.must(s.node(), quiet+p.Command+" add lib && "+p.Command+" add @corp/lib && node -p 'require(\"lib\").version + require(\"@corp/lib\").version' ; test -z \"$npm_config_registry\" || npm view lib version; env; cat ~/.yarnrc* ~/.npmrc", "--ro", dir)
			if !strings.Contains(out, "1.0.02.0.0\n") || p.Name != "yarn-1" && !strings.Contains(out, "9.9.9\n") || strings.Contains(out, "CANARY") {
				t.Errorf("installed: %s", out)
			}
			for _, a := range public.all() {
				if a.authorization != "" {
					t.Errorf("public got %+v", a)
				}
			}
			// The first yarn asks npm's registry before its own, so there npm has none.
			for v, want := range map[*npmRegistry]string{corp: "Bearer " + token, own: "Basic cm9ib3Q6Q0FOQVJZeWFybldvcmQx"} {
				got := v.all()
				if len(got) == 0 {
					t.Error("control: a registry was not asked")
				}
				for _, a := range got {
					if a.authorization != want {
						t.Errorf("%+v, want %s", a, want)
					}
				}
			}
		})
	}
}

// A proxy that is a directory of the host is served by the door; one that the agent can
// write is not read.
func TestGoDirectory(t *testing.T) {
	s := begin(t)
	m := s.modules()
	m.add("corp.test/lib", "v1.0.0", "", aged)
	rel := m.have["corp.test/lib@v1.0.0"]
	info, err := json.Marshal(map[string]any{"Version": "v1.0.0", "Time": rel.out})
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"list": "v1.0.0\n", "v1.0.0.info": string(info), "v1.0.0.mod": rel.mod, "v1.0.0.zip": string(m.zip("corp.test/lib@v1.0.0"))}
	const mod = "module app\n\ngo 1.21\n"
	own, dir, planted := filepath.Join(stage.Home, "proxy"), s.project("go.mod", mod), s.project("go.mod", mod)
	t.Cleanup(func() { os.RemoveAll(own) })
	for name, text := range files {
		s.write(filepath.Join(own, "corp.test/lib/@v", name), text)
		s.write(filepath.Join(planted, "proxy/corp.test/lib/@v", name), text)
	}
	s.write(filepath.Join(stage.Home, "secret"), "CANARY")
	if err := os.Symlink("../../../../secret", filepath.Join(own, "corp.test/lib/@v/v1.1.0.mod")); err != nil {
		t.Fatal(err)
	}
	const get = "export GOFLAGS=-modcacherw GOTOOLCHAIN=local; go mod download -json corp.test/lib@v1.0.0; go env GOPROXY; curl -sS $(go env GOPROXY)/corp.test/lib/@v/v1.1.0.mod"
	s.env = append(s.env, "GOPROXY=file://"+own, "GOSUMDB=off")
	if out, _ := s.run(dir, get, "--min-release-age", "0"); !strings.Contains(out, `"Sum": "h1:`) || strings.Contains(out, stage.Home+"/proxy\n") || strings.Contains(out, "CANARY") {
		t.Errorf("not fetched: %s", out)
	}
	if out, _ := s.run(dir, get, "--net", "none"); !strings.Contains(out, `"Sum": "h1:`) {
		t.Errorf("without a network: %s", out)
	}
	s.env[len(s.env)-2] = "GOPROXY=file://" + planted + "/proxy"
	if out, _ := s.run(planted, get, "--verbose"); strings.Contains(out, `"Sum": "h1:`) || !strings.Contains(out, "an agent can write it") {
		t.Errorf("what the agent can write is read: %s", out)
	}
}
