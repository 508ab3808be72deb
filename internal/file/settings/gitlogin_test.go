package settings

import (
	"strings"
	"testing"
)

func TestWithoutGitLogins(t *testing.T) {
	for value, want := range map[string]string{
		"https://ann:s3cret@host.test/a/b.git":                                "https://host.test/a/b.git",
		"https://x-access-token:s3cret@host.test:8443/a/b":                    "https://host.test:8443/a/b",
		"https://ghp_s3cret0123456789@host.test/a/b":                          "https://host.test/a/b",
		"https://ann:s3/cret@host.test/a/b":                                   "https://host.test/a/b",
		"https://ann:s3cret@x@host.test/a":                                    "https://host.test/a",
		"HTTPS://:s3cret@host.test/a":                                         "HTTPS://host.test/a",
		"http://ann:s3cret@proxy.test:3128":                                   "http://proxy.test:3128",
		"https://ann@host.test/a/b":                                           "",
		"https://host.test/a/b@v2":                                            "",
		"https://host.test:8443/a/b@v2":                                       "",
		"ssh://git@host.test/a":                                               "",
		"git@host.test:a/b.git":                                               "",
		"/srv/git/a@b":                                                        "",
		"+refs/heads/*:refs/remotes/origin/*":                                 "",
		"https://ann:s3cret%2F@[2001:db8::1]:8443/a?x=y#z":                    "https://[2001:db8::1]:8443/a?x=y#z",
		"https://user:s3cret@host.test/a/b@c":                                 "https://host.test/a/b@c",
		"https://long-but-harmless-no@host.test/a":                            "https://host.test/a",
		"ftp://ann:s3cret@host.test/x":                                        "ftp://host.test/x",
		"https://" + strings.Repeat("a", 300) + ":s3cret@host.test/one/two/3": "https://host.test/one/two/3",
	} {
		var b strings.Builder
		WriteGit(&b, GitEntry{Key: "remote.origin.url", Value: value})
		WriteGit(&b, GitEntry{Key: "core.bare", Value: "false"})
		clean, found, err := WithoutGitLogins([]byte(b.String()))
		if err != nil {
			t.Fatal(err)
		}
		if want == "" {
			if clean != nil || found != nil {
				t.Errorf("%s: %q, %v", value, clean, found)
			}
			continue
		}
		entries, err := ParseGit(clean)
		if err != nil || len(entries) != 2 || entries[0].Value != want || len(found) != 1 || strings.Contains(found[0].Key+found[0].URL+string(clean), "s3") {
			t.Errorf("%s: %q, %v, %v", value, clean, found, err)
		}
	}
	for _, text := range []string{
		"[http \"https://host.test/\"]\n\textraheader = AUTHORIZATION: basic s3cret\n", "[http]\n\tExtraHeader = PRIVATE-TOKEN: s3cret\n",
		"[url \"https://ann:s3cret@host.test/\"]\n\tinsteadOf = https://host.test/\n", "[sendemail]\n\tsmtpPass = s3cret\n", "[hub]\n\toauthtoken = s3cret\n",
		"[http]\n\tproxy = me:s3cret@proxy.test:3128\n", "[credential \"https://host.test\"]\n\tusername = s3cretTokenOfTwentyOrMore\n",
		"[remote \"o\"]\n\turl = https://host.test/a/b?private_token=s3cret\n", "[credential]\n\thelper = \"!f() { echo password=s3cret; }; f\"\n",
		"[credential \"https://ann:s3cret@host.test\"]\n\tusername = ann\n",
	} {
		clean, found, err := WithoutGitLogins([]byte(text + "[core]\n\tbare = false\n"))
		if err != nil || len(found) != 1 || strings.Contains(string(clean)+found[0].Key, "s3cret") || !strings.Contains(string(clean), "bare") {
			t.Errorf("%q: %q, %v, %v", text, clean, found, err)
		}
	}
}

func FuzzWithoutGitLogins(f *testing.F) {
	f.Add("[remote \"o\"]\n\turl = https://a:b@c/d\n")
	f.Add("[url \"https://a:b@c/\"]\n\tinsteadOf = x\n")
	f.Fuzz(func(t *testing.T, text string) {
		clean, found, err := WithoutGitLogins([]byte(text))
		if err != nil || clean == nil {
			return
		}
		if len(found) == 0 {
			t.Fatalf("changed, and nothing was found: %q", clean)
		}
		_, more, err := WithoutGitLogins(clean)
		if more != nil {
			t.Fatalf("%q still has %v", clean, more)
		}
		if err != nil {
			t.Fatalf("%q cannot be read: %v", clean, err)
		}
	})
}
