package phantom

import (
	"strings"
	"testing"
)

func TestBuiltin(t *testing.T) {
	r := Builtin()
	for _, rel := range []string{
		".env", ".ENV", ".env.local", ".env.production.local", ".env.test", ".env-prod", ".env_2", ".env2", ".env~", ".env.bak", "..env.swp", ".env.swp",
		"a/b/.env", "prod.env", "docker/Prod.Env", ".dev.vars", ".dev.vars.staging", ".secrets",
		"x.pem", "x.PEM", "x.key", "config/master.key", "AuthKey.p8", "id_rsa", "id_ed25519", "deploy_rsa", "id_rsa.bak", ".id_rsa.swp", "a.p12", "a.pfx", "a.jks", "release.keystore",
		"credentials.json", "my-credentials-2.json", "client_secret_1.apps.json", "service-account.json", "service_account_prod.json", "secrets.json", "local.settings.json",
		"terraform.tfstate", "terraform.tfstate.backup", "terraform.tfstate.1700000000.backup", "prod.tfvars", "x.auto.tfvars.json",
		".netrc", ".pgpass", ".npmrc", ".pypirc", ".htpasswd", ".git-credentials", ".my.cnf", "kubeconfig", "dev.kubeconfig", "a.kdbx", "a.ppk", "a.ovpn",
		"db.dump", "prod.sql.gz", "dump.sql", "dump-2024.sql", "mysqldump.sql", "backup_1.sql", "dump.rdb", "secrets.yml", "secrets.prod.yaml", "group_vars/all/vault.yml", "secrets.toml",
		".aws/credentials", "home/.docker/config.json", ".kube/config", ".cargo/credentials.toml", "node_modules/x/.env",
	} {
		if !r.Match(rel) {
			t.Errorf("%s is not masked", rel)
		}
	}
	for _, rel := range []string{
		"", "/", ".envrc", ".envrc.local", ".environment", ".envoy.yaml", ".env.example", ".env.sample", ".env.prod.template", ".env.dist", "example.env", ".env-example", ".ENV.EXAMPLE",
		"id_rsa.pub", "x.pub", "main.go", "keys.go", "monkey", "schema.sql", "migrations/001_init.sql", "a.bak", "credentials.go", "credentials.example.json", "service.json",
		"terraform.tfvars.example", "tokens.json", "auth.json", "appsettings.json", "config.json", "config", "docker/config.json", "kube/config", "credentials", "vaults.md",
		"secrets.go", "debug.keystore", ".git/refs/heads/x.key", ".git/logs/.env", "sub/.git/config.pem", "x.GIT/a.go", "package.json", "env", "secret.yaml",
	} {
		if r.Match(rel) {
			t.Errorf("%s is masked", rel)
		}
	}
}

func TestOwnAndRevealed(t *testing.T) {
	own, err := Builtin().With([]string{"config/prod.yml", "*.secret", "conf/**/token", "/top", "private/", "a/[bc]?.txt", "x\\*y", "./here/it"})
	if err != nil {
		t.Fatal(err)
	}
	r := own.Without([]string{".env", "./b/.env", "keys/*.pem", "open/**", "odd[.key", "conf/a/token"})
	for rel, want := range map[string]bool{
		"config/prod.yml": true, "Config/PROD.yml": true, "x/config/prod.yml": false, "a.secret": true, "d/e/a.SECRET": true, "conf/token": true, "conf/a/token": false, "conf/A/token": true,
		"conf/a/b/token": true, "conf/tokens": false, "conf/token/below": true, "top": true, "x/top": false, "private/a/b": true, "x/private/a": true, "privates/a": false,
		"a/b1.txt": true, "a/C1.txt": true, "a/d1.txt": false, "a/b.txt": false, "x*y": true, "xzy": false, "here/it": true,
		".env": false, "a/.env": true, "b/.env": false, ".Env": true, "keys/a.pem": false, "keys/b/a.pem": true, "open/a/b.key": false, "open.key": true, "odd[.key": false, "odd.key": true,
	} {
		if got := r.Match(rel); got != want {
			t.Errorf("%s: %t, want %t", rel, got, want)
		}
	}
	if !own.Match(".env") || Builtin().Match("a.secret") {
		t.Error("rules changed the ones that they were made of")
	}
	for _, bad := range []string{"", "/", "..", "a/../b", "a//b", "a/./b", "[a", "a\\", "a**", "a\x00", strings.Repeat("a", 2000)} {
		if _, err := Builtin().With([]string{bad}); err == nil {
			t.Errorf("%q is taken", bad)
		}
		if r := Builtin().Without([]string{bad}); !r.Match("a.key") {
			t.Errorf("%q reveals", bad)
		}
	}
}

func TestMatchMakesNothing(t *testing.T) {
	r, err := Builtin().With([]string{"conf/**/token", "*.secret", "A[b-d]*z"})
	if err != nil {
		t.Fatal(err)
	}
	r = r.Without([]string{"x/**/y.pem"})
	for _, rel := range []string{"Some/Deep/Directory/WithALongName.That.Is.Not.Secret.go", "a/b/My-Long-Named-File-Of-CREDENTIALS-Of-The-Shop.JSON", "x/q/y.pem", "conf/a/b/c/tokem"} {
		if n := testing.AllocsPerRun(100, func() { r.Match(rel) }); n != 0 {
			t.Errorf("%s: %v allocations", rel, n)
		}
	}
}

func BenchmarkMatch(b *testing.B) {
	r, err := Builtin().With([]string{"conf/**/token", "*.secret"})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		r.Match("internal/credentials/serviceapi/client_test.go")
	}
}
