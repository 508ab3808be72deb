package registries

import (
	"net/url"
	"strings"
	"testing"
)

// Nothing that may be a login gets into the settings inside, whatever the host's say.
func TestReplacedWithoutLogin(t *testing.T) {
	for text, want := range map[string]string{
		"https://me:CANARY@corp.test/index": `"https://corp.test/index"`, "https://corp.test/index?private_token=CANARY#CANARY": `"https://corp.test/index"`, "sparse+https://corp.test:443/?x=CANARY": `"sparse+https://corp.test/"`,
		"ssh://git:CANARY@corp.test/index.git": `"ssh://corp.test/index.git"`, "file:///srv/index": `"file:///srv/index"`,
		"https://me:CAN%ARY@corp.test/%zz": "", "me:CANARY@corp.test:index": "", "https:me:CANARY@corp.test": "", "git@corp.test:CANARY": "", "//CANARY\x7f": "", "CANARY": "",
	} {
		rs := &rusts{doors: &doors{}}
		rs.replace(text)
		got := strings.Join(rs.lines, "\n")
		if strings.Contains(got, "CAN") || want != "" && !strings.HasSuffix(got, "registry = "+want) || want == "" && !strings.Contains(got, "/crates-elsewhere/") {
			t.Errorf("%q: %s", text, got)
		}
	}
	u := &url.URL{Scheme: "https", User: url.UserPassword("me", "x"), Host: "H.test:443", Path: "/a", RawQuery: "x=1", ForceQuery: true, Fragment: "f", RawFragment: "f"}
	if got := bare(u).String(); got != "https://h.test/a" {
		t.Error(got)
	}
}
