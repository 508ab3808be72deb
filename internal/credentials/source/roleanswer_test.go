package source

import (
	"strings"
	"testing"
)

const good = `<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
  <AssumeRoleResult>
    <AssumedRoleUser><Arn>arn:aws:sts::1:assumed-role/r/s</Arn><AssumedRoleId>A:s</AssumedRoleId></AssumedRoleUser>
    <Credentials>
      <AccessKeyId>ASIAEXAMPLE</AccessKeyId>
      <SecretAccessKey>short/lived+secret</SecretAccessKey>
      <SessionToken>short-lived-token==</SessionToken>
      <Expiration>2030-01-01T00:15:00Z</Expiration>
    </Credentials>
  </AssumeRoleResult>
  <ResponseMetadata><RequestId>x</RequestId></ResponseMetadata>
</AssumeRoleResponse>`

func TestReadCredentials(t *testing.T) {
	c, err := readCredentials([]byte(good))
	if err != nil || c.id != "ASIAEXAMPLE" || c.secret != "short/lived+secret" || c.token != "short-lived-token==" || c.expires.Unix() != 1893456900 {
		t.Fatalf("read: %v", err)
	}
	for name, bad := range map[string]string{
		"empty":     "",
		"cut off":   good[:len(good)-10],
		"two roots": good + good,
		"trailing":  good + "<",
		"directive": `<!DOCTYPE x [<!ENTITY a "b">]>` + good,
		"twice":     strings.Replace(good, "<Expiration>", "<AccessKeyId>x</AccessKeyId><Expiration>", 1),
		"missing":   strings.Replace(good, "<SessionToken>short-lived-token==</SessionToken>", "", 1),
		"blank":     strings.Replace(good, "short/lived+secret", "", 1),
		"space":     strings.Replace(good, "short/lived+secret", "a b", 1),
		"elsewhere": strings.ReplaceAll(good, "AssumeRoleResult", "AssumeRoleOther"),
		"date":      strings.Replace(good, "2030-01-01T00:15:00Z", "tomorrow", 1),
		"deep":      strings.Repeat("<a>", 20) + strings.Repeat("</a>", 20),
		"long":      strings.Replace(good, "<AssumeRoleResult>", "<AssumeRoleResult>"+strings.Repeat(" ", maxAnswer), 1),
	} {
		if _, err := readCredentials([]byte(bad)); err == nil {
			t.Errorf("%s: taken", name)
		} else if strings.Contains(err.Error(), "short") {
			t.Errorf("%s: the error tells a secret: %v", name, err)
		}
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte(`<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>no</Message></Error></ErrorResponse>`))
	f.Add([]byte(`<a/>`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if c, err := readCredentials(data); err == nil {
			if !plain(c.id) || !plain(c.secret) || !plain(c.token) || c.expires.IsZero() {
				t.Errorf("credentials with a hole from %q", data)
			}
			if len(data) > maxAnswer {
				t.Error("a long answer was read")
			}
		}
		if code := readCode(data); strings.ContainsAny(code, " \n\"<") || len(code) > 64 {
			t.Errorf("code %q", code)
		}
	})
}
