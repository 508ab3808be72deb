package source

import (
	"bytes"
	"context"
	"crypto/hmac"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ringfence.dev/ringfence/test/wait"
)

const (
	phantom = "phantom-of-this-session-0123456789"
	longKey = "AKIALONGLIVED"
	longSec = "the/long+lived/secret"
	role    = "arn:aws:iam::123456789012:role/agent"
)

// server speaks as much of STS as the tests need, and believes a signature only
// after having made it again from what came over the wire.
type server struct {
	*httptest.Server
	t      *testing.T
	asked  atomic.Int32
	answer func(form url.Values) (int, string)
	hold   chan struct{} // where set, answers wait for it

	mu   sync.Mutex
	form url.Values
}

func newServer(t *testing.T) *server {
	s := &server{t: t}
	s.answer = func(url.Values) (int, string) { return 200, minted(time.Now().Add(15 * time.Minute)) }
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func minted(expires time.Time) string {
	return strings.Replace(good, "2030-01-01T00:15:00Z", expires.UTC().Format(time.RFC3339), 1)
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	form, _ := url.ParseQuery(string(body))
	id, secret := longKey, longSec
	if form.Get("Action") == "GetCallerIdentity" { // from inside, with what was minted
		id, secret = "ASIAEXAMPLE", "short/lived+secret"
	}
	if err := verify(r, body, id, secret); err != nil {
		s.t.Errorf("signature: %v", err)
		w.WriteHeader(403)
		return
	}
	if form.Get("Action") == "GetCallerIdentity" {
		if got := r.Header.Get("X-Amz-Security-Token"); got != "short-lived-token==" {
			s.t.Errorf("security token %q", got)
		}
		fmt.Fprint(w, `<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetCallerIdentityResult><Arn>arn:aws:sts::123456789012:assumed-role/agent/ringfence-s1</Arn><UserId>x</UserId><Account>123456789012</Account></GetCallerIdentityResult></GetCallerIdentityResponse>`)
		return
	}
	s.asked.Add(1)
	s.mu.Lock()
	s.form = form
	s.mu.Unlock()
	if s.hold != nil {
		<-s.hold
	}
	status, text := s.answer(form)
	w.Header().Set("Content-Type", "text/xml")
	w.WriteHeader(status)
	io.WriteString(w, text)
}

// verify makes the signature again, from the headers that the request names.
func verify(r *http.Request, body []byte, id, secret string) error {
	auth := r.Header.Get("Authorization")
	var credential, signed, signature string
	for part := range strings.SplitSeq(strings.TrimPrefix(auth, "AWS4-HMAC-SHA256 "), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch name {
		case "Credential":
			credential = value
		case "SignedHeaders":
			signed = value
		case "Signature":
			signature = value
		}
	}
	scope, ok := strings.CutPrefix(credential, id+"/")
	if !ok || !strings.Contains(";"+signed+";", ";host;") || !strings.Contains(";"+signed+";", ";x-amz-date;") {
		return fmt.Errorf("authorization %q", auth)
	}
	canonical := r.Method + "\n" + r.URL.EscapedPath() + "\n" + r.URL.RawQuery + "\n"
	for name := range strings.SplitSeq(signed, ";") {
		value := r.Header.Get(name)
		if name == "host" {
			value = r.Host
		}
		canonical += name + ":" + value + "\n"
	}
	canonical += "\n" + signed + "\n" + digest(body)
	key := []byte("AWS4" + secret)
	for part := range strings.SplitSeq(scope, "/") {
		key = mac(key, part)
	}
	want := mac(key, "AWS4-HMAC-SHA256\n"+r.Header.Get("X-Amz-Date")+"\n"+scope+"\n"+digest([]byte(canonical)))
	if got, _ := hex.DecodeString(signature); !hmac.Equal(got, want) {
		return errors.New("it does not hold")
	}
	return nil
}

func (s *server) config() RoleConfig {
	return RoleConfig{
		Phantom: phantom, Session: "s1", Role: role, Region: "eu-central-1", Endpoint: s.URL + "/", Transport: s.Client().Transport,
		Keys: func(context.Context) (string, string, string, error) { return longKey, longSec, "", nil },
	}
}

func endpointFor(t *testing.T, c RoleConfig) *httptest.Server {
	t.Helper()
	h, err := NewRole(c)
	if err != nil {
		t.Fatal(err)
	}
	inside := httptest.NewServer(h)
	t.Cleanup(inside.Close)
	return inside
}

func get(t *testing.T, target, authorization string) (int, map[string]string, string) {
	t.Helper()
	r, _ := http.NewRequest("GET", target, nil)
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	data, _ := io.ReadAll(answer.Body)
	var out map[string]string
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatalf("answer %q: %v", data, err)
	}
	return answer.StatusCode, out, string(data)
}

func TestHandsOutWhatSTSMinted(t *testing.T) {
	s := newServer(t)
	c := s.config()
	c.Policy, c.TTL, c.ExternalID = `{"Version":"2012-10-17","Statement":[]}`, 30*time.Minute, "ours & theirs"
	var events []RoleEvent
	c.Record = func(e RoleEvent) { events = append(events, e) }
	inside := endpointFor(t, c)
	for range 3 {
		status, got, raw := get(t, inside.URL+"/aws/dev", phantom)
		if status != 200 || got["AccessKeyId"] != "ASIAEXAMPLE" || got["SecretAccessKey"] != "short/lived+secret" || got["Token"] != "short-lived-token==" {
			t.Fatalf("%d %v", status, got)
		}
		if _, err := time.Parse(time.RFC3339, got["Expiration"]); err != nil {
			t.Error(err)
		}
		if strings.Contains(raw, longSec) || strings.Contains(raw, longKey) {
			t.Error("the long-lived keys went in")
		}
	}
	if n := s.asked.Load(); n != 1 {
		t.Errorf("STS was asked %d times", n)
	}
	want := map[string]string{"Action": "AssumeRole", "RoleArn": role, "RoleSessionName": "ringfence-s1", "DurationSeconds": "1800", "Policy": c.Policy, "ExternalId": "ours & theirs"}
	for k, v := range want {
		if s.form.Get(k) != v {
			t.Errorf("%s = %q", k, s.form.Get(k))
		}
	}
	if len(events) != 3 || !events[0].Renewed || events[1].Renewed || events[0].Expires.IsZero() {
		t.Errorf("events %+v", events)
	}
}

func TestOnlyThePhantomOpens(t *testing.T) {
	s := newServer(t)
	inside := endpointFor(t, s.config())
	for _, wrong := range []string{"", "Bearer " + phantom, phantom + "x", phantom[1:], strings.ToUpper(phantom)} {
		if status, got, _ := get(t, inside.URL+"/aws/dev", wrong); status != 401 || got["AccessKeyId"] != "" {
			t.Errorf("%q: %d", wrong, status)
		}
	}
	r, _ := http.NewRequest("POST", inside.URL, nil)
	r.Header.Set("Authorization", phantom)
	if answer, err := http.DefaultClient.Do(r); err != nil || answer.StatusCode != 405 {
		t.Errorf("POST: %v %v", answer, err)
	}
	r, _ = http.NewRequest("GET", inside.URL, nil)
	r.Header["Authorization"] = []string{phantom, phantom}
	if answer, err := http.DefaultClient.Do(r); err != nil || answer.StatusCode != 401 {
		t.Errorf("two authorizations: %v %v", answer, err)
	}
	if s.asked.Load() != 0 {
		t.Error("STS was asked for a stranger")
	}
}

func TestManyClientsOneQuestion(t *testing.T) {
	s := newServer(t)
	s.hold = make(chan struct{})
	h, err := NewRole(s.config())
	if err != nil {
		t.Fatal(err)
	}
	var begun, done sync.WaitGroup
	for range 20 {
		begun.Add(1)
		done.Go(func() {
			r := httptest.NewRequest("GET", "/aws/dev", nil)
			r.Header.Set("Authorization", phantom)
			w := httptest.NewRecorder()
			begun.Done()
			h.ServeHTTP(w, r)
			if w.Code != 200 || !strings.Contains(w.Body.String(), "ASIAEXAMPLE") {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		})
	}
	begun.Wait()
	close(s.hold)
	done.Wait()
	if n := s.asked.Load(); n != 1 {
		t.Errorf("STS was asked %d times", n)
	}
}

func TestRenewsBeforeTheEnd(t *testing.T) {
	s := newServer(t)
	c := s.config()
	start := time.Now()
	var ahead atomic.Int64
	c.Now = func() time.Time { return start.Add(time.Duration(ahead.Load())) }
	s.answer = func(url.Values) (int, string) { return 200, minted(c.Now().Add(15 * time.Minute)) }
	inside := endpointFor(t, c)
	for _, step := range []struct {
		at    time.Duration
		asked int32
	}{{0, 1}, {9 * time.Minute, 1}, {11 * time.Minute, 2}, {20 * time.Minute, 2}, {40 * time.Minute, 3}} {
		ahead.Store(int64(step.at))
		if status, _, raw := get(t, inside.URL, phantom); status != 200 {
			t.Fatalf("at %s: %d %s", step.at, status, raw)
		}
		if n := s.asked.Load(); n != step.asked {
			t.Errorf("at %s STS was asked %d times, not %d", step.at, n, step.asked)
		}
	}
}

func TestErrorsTellNoSecrets(t *testing.T) {
	for name, c := range map[string]struct {
		status         int
		body, told     string
		source, reason string
	}{
		"denied": {status: 403, body: `<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>` + longSec + `</Message></Error></ErrorResponse>`, told: "STS refuses: AccessDenied"},
		"noise":  {status: 500, body: longSec, told: "status 500"},
		"form":   {status: 200, body: "<a>" + longSec + "</a>", told: "journal"},
		"ended":  {status: 200, body: minted(time.Now().Add(-time.Minute)), told: "journal"},
		"ages":   {status: 200, body: minted(time.Now().Add(999 * time.Hour)), told: "journal"},
		"source": {source: "open /home/u/keys: no such file", told: "journal", reason: "/home/u/keys"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.answer = func(url.Values) (int, string) { return c.status, c.body }
			config := s.config()
			if c.source != "" {
				config.Keys = func(context.Context) (string, string, string, error) { return "", "", "", errors.New(c.source) }
			}
			var event RoleEvent
			config.Record = func(e RoleEvent) { event = e }
			inside := endpointFor(t, config)
			status, got, raw := get(t, inside.URL, phantom)
			if status != 502 || !strings.Contains(got["message"], c.told) {
				t.Errorf("%d %s", status, raw)
			}
			if all := raw + event.Reason; strings.Contains(all, longSec) || strings.Contains(all, "short") || strings.Contains(raw, "/home") {
				t.Errorf("told: %s", all)
			}
			if !strings.Contains(event.Reason, c.reason) || event.Status != 502 {
				t.Errorf("recorded %+v", event)
			}
		})
	}
}

func TestFailureIsRememberedForAWhile(t *testing.T) {
	s := newServer(t)
	c := s.config()
	start := time.Now()
	var ahead atomic.Int64
	c.Now = func() time.Time { return start.Add(time.Duration(ahead.Load())) }
	s.answer = func(url.Values) (int, string) { return 503, "" }
	inside := endpointFor(t, c)
	for range 5 {
		if status, _, _ := get(t, inside.URL, phantom); status != 502 {
			t.Fatal(status)
		}
	}
	if n := s.asked.Load(); n != 1 {
		t.Errorf("STS was asked %d times", n)
	}
	ahead.Store(int64(pause))
	s.answer = func(url.Values) (int, string) { return 200, minted(start.Add(15 * time.Minute)) }
	if status, _, raw := get(t, inside.URL, phantom); status != 200 {
		t.Errorf("after the pause: %d %s", status, raw)
	}
}

func TestConfig(t *testing.T) {
	s := newServer(t)
	for want, change := range map[string]func(*RoleConfig){
		"":               func(*RoleConfig) {},
		"phantom":        func(c *RoleConfig) { c.Phantom = "x" },
		"source":         func(c *RoleConfig) { c.Keys = nil },
		"static = true":  func(c *RoleConfig) { c.Role = "" },
		"without a role": func(c *RoleConfig) { c.Static = true },
		"ARN":            func(c *RoleConfig) { c.Role = "admin" },
		"14m":            func(c *RoleConfig) { c.TTL = 14 * time.Minute },
		"2h":             func(c *RoleConfig) { c.TTL = 2 * time.Hour },
		"region":         func(c *RoleConfig) { c.Region = "evil.test/" },
		"policy":         func(c *RoleConfig) { c.Policy = "{" },
		"session":        func(c *RoleConfig) { c.Session = "a b" },
		"transport":      func(c *RoleConfig) { c.Transport = nil },
	} {
		c := s.config()
		change(&c)
		_, err := NewRole(c)
		if (err == nil) != (want == "") || (err != nil && !strings.Contains(err.Error(), want)) {
			t.Errorf("want %q: %v", want, err)
		}
	}
	if got := RoleEndpoint("eu-west-1"); got != "https://sts.eu-west-1.amazonaws.com/" {
		t.Error(got)
	}
	if got := RoleEndpoint("cn-north-1"); got != "https://sts.cn-north-1.amazonaws.com.cn/" {
		t.Error(got)
	}
}

func TestStaticKeysOnlyWhenTold(t *testing.T) {
	c := RoleConfig{Phantom: phantom, Static: true, Keys: func(context.Context) (string, string, string, error) { return longKey, longSec, "", nil }}
	inside := endpointFor(t, c)
	status, got, _ := get(t, inside.URL, phantom)
	if status != 200 || got["SecretAccessKey"] != longSec || got["Expiration"] == "" {
		t.Errorf("%d %v", status, got)
	}
}

// TestRealClient has Amazon's own client fetch credentials and sign with them.
func TestRealClient(t *testing.T) {
	aws, err := exec.LookPath("aws")
	if err != nil {
		t.Fatal("aws is missing (package awscli)")
	}
	s := newServer(t)
	inside := endpointFor(t, s.config())
	run := func(token string) (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), wait.Patience)
		defer cancel()
		cmd := exec.CommandContext(ctx, aws, "sts", "get-caller-identity", "--endpoint-url", s.URL, "--region", "eu-central-1", "--output", "json")
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "AWS_EC2_METADATA_DISABLED=true", "PYENV_VERSION=" + os.Getenv("PYENV_VERSION"),
			"AWS_CONTAINER_CREDENTIALS_FULL_URI=" + inside.URL + "/aws/dev", "AWS_CONTAINER_AUTHORIZATION_TOKEN=" + token}
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		err := cmd.Run()
		return out.String(), err
	}
	if out, err := run(phantom); err != nil || !strings.Contains(out, "assumed-role/agent/ringfence-s1") {
		t.Errorf("%v: %s", err, out)
	}
	if out, err := run("phantom-of-another-session"); err == nil {
		t.Errorf("another session's phantom opened: %s", out)
	}
}
