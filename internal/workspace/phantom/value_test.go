package phantom

import (
	"regexp"
	"strings"
	"testing"
)

// TestValue: the shape that programs look at stays, and what is in it does not.
func TestValue(t *testing.T) {
	for _, c := range []struct{ name, v, want string }{ // want is a regular expression
		{"TOKEN", "ghp_0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX", `ghp_[A-Za-z0-9]{36}`}, {"ID", "AKIAQHTKWZBN7RXDPLEW", `AKIA[A-Z0-9]{16}`},
		{"A", "xoxb-12345-67890-abcDEF", `xoxb-[A-Za-z0-9]{18}`}, {"A", "glpat-xYz123AbC456dEf789Gh", `glpat-[A-Za-z0-9]{20}`},
		{"H", "3f2a9c4b5d6e7f8091a2b3c4d5e6f70819203a4b", `[0-9a-f]{40}`}, {"H", "3F2A9C4B5D6E7F80", `[0-9A-F]{16}`}, {"U", "8d1f3b52-9c04-4e1a-b7a4-0f6d2c9e7a55", `[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`},
		{"B", "c2VjcmV0LXZhbHVlIQ==", `[A-Za-z0-9+/]{18}==`}, {"PASSWORD", "abc", `[a-z]{16}`}, {"PASSWORD", "a c!", `[A-Za-z0-9]{16}`}, {"N", "1234567890123456", `\d{16}`}, {"PIN", "0042", `\d{4}`},
		{"PRICE", "-12.50", `-12\.50`}, {"SECRET", "-12.50", `-\d\d\.\d\d`}, {"SECRET", "false", `false`}, {"A", "", ``}, {"PASSWORD", "${ROOT_PASSWORD}", `\$\{ROOT_PASSWORD\}`},
		{"URL", "postgres://u:p@h.test/d", `postgres://u:[a-z]{16}@h\.test/d`}, {"URL", "postgres://u:a/b@c@h.test:1/d", `postgres://u:[A-Za-z0-9]{16}@h\.test:1/d`}, {"URL", "https://medium.test/@jane", `https://medium\.test/[A-Za-z0-9]{16}`},
		{"URL", "https://h.test/?token=abcdef&page=2&x=true#frag", `https://h\.test/\?token=[a-z]{16}&page=2&x=true#[a-z]{16}`}, {"URL", "mongodb+srv://me:${PW}@a.test,b.test:27017/x?w=majority", `mongodb\+srv://me:\$\{PW\}@a\.test,b\.test:27017/x\?w=majority`},
		{"URL", "http://x1y2z3a4b5.api.test/", `http://[a-z]{10}\.api\.test/`}, {"URL", "jdbc:postgresql://db.test:5432/shop?user=me&password=x", `jdbc:postgresql://db\.test:5432/shop\?user=me&password=[a-z]{16}`},
		{"URL", "http://[::1]:80/", `http://\[::1\]:80/`}, {"URL", "http://h.test:pass/", `http://h\.test:1/`}, {"DSN", "host=db.test user=me password=x1y2z3 dbname=shop", `host=db\.test user=me password=[a-z0-9]{16} dbname=shop`},
		{"BROKERS", "kafka:9092,b.test:9092", `kafka:9092,b\.test:9092`}, {"LOGIN", "admin:12345", `[A-Za-z0-9]{16}`}, {"A", "jane@mail.test", `[a-z]{10}@mail\.test`}, {"A", "10.0.0.1:53", `10\.0\.0\.1:53`},
		{"A", "./data/app.sqlite3", `\./data/app\.sqlite3`}, {"A", "/var/lib/x9y8z7w6v5u4/a", `[A-Za-z0-9]{23}`}, {"TZ", "Europe/Berlin", `Europe/Berlin`}, {"A", "us-east-1", `us-east-1`}, {"A", "v1.2.3", `v1\.2\.3`},
		{"A", "correct-horse-battery-staple", `[A-Za-z0-9]{28}`}, {"A", "4111-1111-1111-1111", `[A-Za-z0-9]{19}`}, {"PRIVATE_KEY", "./certs/server.key", `\./certs/server\.key`}, {"AUTH_METHOD", "oauth", `oauth`},
		{"A", `{"password":"x","port":1}`, `\{"password":"[a-z]{16}","port":1\}`}, {"A", "{not json}", `[A-Za-z0-9]{16}`}, {"_auth", "bWU6c2VjcmV0MTIz", `[A-Za-z0-9+/]+={0,2}`},
		{"A", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdefghijklmno", `eyJ[A-Za-z0-9_-]+\.eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]{43}`}, {"HASH", "$2y$10$abcdefghijklmnopqrstuv0123456789ABCDEFGHIJKLMNOPQRSTU", `\$2y\$10\$[A-Za-z0-9]{53}`},
	} {
		m := &masker{maker: maker{seed: seed}}
		m.reset()
		got := m.value(key{}.child(c.name), c.v)
		if !regexp.MustCompile(`^(?:` + c.want + `)$`).MatchString(got) {
			t.Errorf("%s=%s became %s, want %s", c.name, c.v, got, c.want)
		}
	}
}

func TestKeyNames(t *testing.T) {
	for name, want := range map[string]bool{
		"DB_PASSWORD": true, "dbPassword": true, "apiKey": true, "API_KEY_PROD": true, "SECRET_KEY_BASE": true, "clientSecret": true, "GITHUB_PAT": true, "MYSQL_PWD": true, "awsSecretAccessKey": true,
		"TOKEN_TTL": false, "PASSWORD_MIN_LENGTH": false, "AUTH_METHOD": false, "SECRET_NAME": false, "KEYBOARD": false, "MONKEY": false, "PASSAGE": false, "PORT": false, "": false, "HOST": false, "token": true, "name": false,
	} {
		if got := (key{}).child(name).secret; got != want {
			t.Errorf("%s: %t, want %t", name, got, want)
		}
	}
	for name, want := range map[string]bool{
		"a": true, "oauth2ClientSecretV2Base64Url": true, "//npm.shop.test/:_authToken": true, "a b": true, "ghp_0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX": false,
		"x8Kq2Lw9Zr4Tb7Nd1": false, "3f2a9c4b5d6e7f80": false, "": false, "a%b": false, strings.Repeat("a_", 150): false, "SHOP_VERY_LONG_NAME_OF_A_VARIABLE_2": true,
	} {
		if proper(name) != want {
			t.Errorf("proper(%q) is %t", name, !want)
		}
	}
}

// TestYAMLLookalikes: what YAML would take for a tag or an anchor may be a password.
func TestYAMLLookalikes(t *testing.T) {
	for _, text := range []string{"password: !SuperSecret\n", "password: &SuperSecret\n", "password: *SuperSecret\n", "password: %SuperSecret\n", "- !SuperSecret x\n", "password: @SuperSecret\n", "password: `SuperSecret`\n",
		"password: \"SuperSecret\" SuperSecret\n", "password: 'SuperSecret\n", "password: [SuperSecret\n", "? SuperSecret x\n: SuperSecret\n", "\tpassword: SuperSecret\n", "%TAG SuperSecret\n", "password: |x SuperSecret\n", "SuperSecret loose\n"} {
		if out, kind := mustPhantom(t, "secrets.yml", text); strings.Contains(out, "Secret") {
			t.Errorf("%q is %s: %q", text, kind, out)
		}
	}
}
