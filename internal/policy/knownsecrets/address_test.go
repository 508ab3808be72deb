package knownsecrets

import "testing"

func TestNoPassword(t *testing.T) {
	for value, want := range map[string]bool{
		"postgres://localhost/myapp": true, "postgresql://[::1]:5432/my_app": true, "redis://cache:6379/0": true, "mysql://db.example.org": true,
		"postgres://me@localhost/myapp": false, "postgres://me:word@localhost/myapp": false, "postgres://localhost/myapp?password=x": false,
		"sqlserver://db.corp;database=x;user=sa;password=word": false, "mysql://h/db;password=x": false, "postgres://h/db%3Fpassword=x": false,
		"postgres://h/u:pw@h2/db": false, "https://host/T000/SECRET": false, "postgres://h1,h2/db": false, "postgres://h/db postgres://me:w@h/db": false,
		"postgres://h/db\nx": false, "postgres://h.": false, "": false, "myapp": false,
	} {
		if got := NoPassword("DATABASE_URL", value); got != want {
			t.Errorf("%q: %v", value, got)
		}
	}
	if NoPassword("NPM_TOKEN", "postgres://localhost/x") || NoPassword("PATH", "postgres://localhost/x") {
		t.Error("a name that is no database's")
	}
}

func TestNoLogin(t *testing.T) {
	for _, c := range []struct {
		name, value string
		want        bool
	}{
		{"HTTPS_PROXY", "http://proxy.example:3128", true},
		{"https_proxy", "http://me@proxy.example:3128", true},
		{"https_proxy", "http://me:word@proxy.example:3128", false},
		{"NO_PROXY", "localhost,.example,10.0.0.0/8", true},
		{"HTTP_PROXY", "proxy.example:3128", true},
		{"HTTP_PROXY", "me:word@proxy.example:3128", false},
		{"GOPROXY", "https://goproxy.example,direct", true},
		{"GOPROXY", "https://goproxy.example|https://u:p@other.example", false},
		{"PIP_INDEX_URL", "https://pypi.example/simple", true},
		{"PIP_INDEX_URL", "https://token@pypi.example/simple", false},
		{"PIP_INDEX_URL", "https://pypi.example/simple?token=x", false},
		{"DATABASE_URL", "postgres://db.example/app", true},
		{"DATABASE_URL", "postgres://app:word@db.example/app", false},
		{"DATABASE_URL", "app word", false},
		{"NPM_TOKEN", "https://npm.example", true}, // an address is no token
		{"NPM_TOKEN", "npm_abcdef", false},
		{"SLACK_WEBHOOK_URL", "https://hooks.example/services/T/B/x", false},
		{"SENTRY_DSN", "https://key.example/1", false},
		{"PATH", "https://a.example", false},
		{"HTTPS_PROXY", "", false},
	} {
		if got := NoLogin(c.name, c.value); got != c.want {
			t.Errorf("%s=%s: %v", c.name, c.value, got)
		}
	}
}
