package broker

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	cloudID     = "AKIACANARYREALKEY234"
	cloudSecret = "CANARYrealSecretKeyOfTheHost/0123456789+"
	lentSecret  = "LentSecretKeyThatEndsSoon/0123456789abcd"
)

// A role's credentials are lent for a while; the keys that open it stay outside.
func TestCloud(t *testing.T) {
	need(t, "aws", "curl")
	s := begin(t)
	sts, at := s.local(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Authorization"), "Credential="+cloudID+"/") || r.FormValue("RoleArn") != "arn:aws:iam::123456789012:role/agent" || r.FormValue("DurationSeconds") != "900" {
			http.Error(w, "<ErrorResponse><Error><Code>AccessDenied</Code></Error></ErrorResponse>", http.StatusForbidden)
			return
		}
		w.Header().Set("Content-Type", "text/xml")
		fmt.Fprintf(w, `<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials><AccessKeyId>ASIALENTKEYTHATENDS1</AccessKeyId><SecretAccessKey>%s</SecretAccessKey><SessionToken>%s</SessionToken><Expiration>%s</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>`,
			lentSecret, strings.Repeat("LentToken", 30), time.Now().Add(15*time.Minute).UTC().Format(time.RFC3339))
	})
	keys := s.write(filepath.Join(s.State, "aws"), cloudID+":"+cloudSecret+"\n", 0o600)
	s.policy("[secret.cloud]\nuse = \"aws\"\nrole = \"arn:aws:iam::123456789012:role/agent\"\nttl = \"15m\"\nregion = \"eu-central-1\"\nfrom = \"file:" + keys + "\"\n")
	s.env = append(s.env, "AWS_ENDPOINT_URL_STS="+at, "AWS_ACCESS_KEY_ID="+cloudID, "AWS_SECRET_ACCESS_KEY="+cloudSecret)
	h := s.hold("run", "--", "sh")
	ask := `curl -s -w ' %{http_code}' -H "Authorization: $AWS_CONTAINER_AUTHORIZATION_TOKEN" $AWS_CONTAINER_CREDENTIALS_FULL_URI`
	if out := h.say(ask); !strings.HasSuffix(out, " 200") || !strings.Contains(out, "ASIALENTKEYTHATENDS1") || !strings.Contains(out, lentSecret) {
		t.Errorf("credentials: %s", out)
	}
	if out := h.say(`curl -s -w ' %{http_code}' -H "Authorization: guess" $AWS_CONTAINER_CREDENTIALS_FULL_URI; curl -s -w ' %{http_code}' $AWS_CONTAINER_CREDENTIALS_FULL_URI`); strings.Contains(out, "ASIA") || strings.Contains(out, " 200") {
		t.Errorf("without the phantom: %s", out)
	}
	// The vendor's own client finds them.
	if out := h.say("aws configure list"); !strings.Contains(out, "container-role") || !strings.Contains(out, lentSecret[len(lentSecret)-4:]) {
		t.Errorf("aws: %s", out)
	}
	if out := h.say("env"); strings.Contains(out, "CANARY") {
		t.Errorf("inside: %s", out)
	}
	if n := len(sts.requests()); n == 0 || sts.holds(cloudSecret) {
		t.Errorf("STS got %d requests", n)
	}
	h.end()
	found := false
	for _, j := range s.Journal() {
		found = found || j.Secret == "cloud" && j.Verdict == "allow"
	}
	if !found {
		t.Error("not in the journal")
	}
}

// Keys that do not end are not handed in, unless somebody says so.
func TestCloudStatic(t *testing.T) {
	s := begin(t)
	keys := s.write(filepath.Join(s.State, "aws"), cloudID+":"+cloudSecret+"\n", 0o600)
	table := "[secret.cloud]\nuse = \"aws\"\nfrom = \"file:" + keys + "\"\n"
	s.policy(table)
	if r := s.ringfence("run", "--", "true"); r.Status == 0 {
		t.Errorf("it started: %s", r.show())
	}
	s.policy(table + "static = true\n")
	r := s.ringfence("run", "--", "sh", "-c", `curl -s -H "Authorization: $AWS_CONTAINER_AUTHORIZATION_TOKEN" $AWS_CONTAINER_CREDENTIALS_FULL_URI`)
	if !strings.Contains(r.Stdout, cloudID) {
		t.Errorf("control: %s", r.show())
	}
}
