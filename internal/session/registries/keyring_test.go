package registries

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/session/launch"
)

// A login that a program of the host would be asked for is named once, with the command
// that lends it, unless it is lent already or the settings have it themselves.
func TestKeyrings(t *testing.T) {
	const npmHost = "crates.corp.test"
	for _, tt := range []struct {
		name, file, text string
		env              []string
		want             string
	}{
		{"cargo", ".cargo/config.toml", "[registries.corp]\nindex = \"sparse+https://" + npmHost + "/i/\"\ncredential-provider = [\"cargo-credential-corp\", \"x\"]\n", nil, "--use cargo --host " + npmHost},
		{"cargo for all", ".cargo/config.toml", "[registry]\nglobal-credential-providers = [\"cargo:token\", \"cargo:libsecret\"]\n[registries.corp]\nindex = \"sparse+https://" + npmHost + "/i/\"\n", nil, "--use cargo --host " + npmHost},
		{"cargo's own", ".cargo/config.toml", "[registry]\nglobal-credential-providers = [\"cargo:token\"]\n[registries.corp]\nindex = \"sparse+https://" + npmHost + "/i/\"\ncredential-provider = \"cargo:token\"\n", nil, ""},
		{"pip", ".config/pip/pip.conf", "[global]\nindex-url = https://py.corp.test/simple\nkeyring-provider = subprocess\n", nil, "--use pypi --host py.corp.test"},
		{"pip with a login", ".config/pip/pip.conf", "[global]\nindex-url = https://me:x@py.corp.test/simple\nkeyring-provider = subprocess\n", nil, ""},
		{"pip without", ".config/pip/pip.conf", "[global]\nindex-url = https://py.corp.test/simple\n", nil, ""},
		{"pip's variable", ".config/pip/pip.conf", "[global]\nindex-url = https://py.corp.test/simple\n", []string{"PIP_KEYRING_PROVIDER=import"}, "--use pypi --host py.corp.test"},
		{"uv", ".config/uv/uv.toml", "keyring-provider = \"subprocess\"\n[[index]]\nurl = \"https://py.corp.test/simple\"\n", nil, "--use pypi --host py.corp.test"},
		{"uv, lent", ".config/uv/uv.toml", "keyring-provider = \"subprocess\"\n[[index]]\nurl = \"https://lent.corp.test/simple\"\n", nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			home := t.TempDir()
			path := filepath.Join(home, tt.file)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			b := launch.Base{Person: launch.Person{User: plan.User{Home: home}}, Law: launch.Law{Policy: &policy.Policy{}}}
			b.Asked.Environ = tt.env
			b.Policy.Secret = []policy.Secret{{Hosts: policy.List{{Value: "lent.corp.test/simple"}}}}
			ds := &doors{Base: b}
			ds.crates()
			ds.projects()
			ds.projects()
			if got := strings.Join(ds.Notices, "\n"); strings.Count(got, "ringfence secret set") != min(1, len(tt.want)) || !strings.Contains(got, tt.want) {
				t.Errorf("%q", got)
			}
		})
	}
}
