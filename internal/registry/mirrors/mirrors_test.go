package mirrors

import (
	"net/url"
	"strings"
	"testing"
)

func none(string) string { return "" }

func TestMaven(t *testing.T) {
	m, err := ReadMaven([]byte(`<?xml version="1.0"?>
<!DOCTYPE settings [<!ENTITY x SYSTEM "file:///etc/passwd">]>
<settings xmlns="http://maven.apache.org/SETTINGS/1.2.0">
 <mirrors><mirror><id>corp</id><mirrorOf>*,!local</mirrorOf><url> https://${env.HOST}/maven </url></mirror>
  <mirror><id>bad"id</id><mirrorOf>*</mirrorOf><url>https://evil.test</url></mirror></mirrors>
 <servers><server><id>corp</id><username>me</username><password>w&amp;rd</password></server>
  <server><id>other</id><username>me</username><password>{COQLCE6DU6GtcS5P=}</password></server></servers>
 <profiles><profile><id>on</id><repositories><repository><id>own</id><url>https://own.test/m</url><releases><enabled>false</enabled></releases><snapshots><enabled>maybe</enabled></snapshots></repository></repositories>
   <pluginRepositories><pluginRepository><id>plug</id><url>https://own.test/p</url></pluginRepository></pluginRepositories></profile>
  <profile><id>off</id><repositories><repository><id>no</id><url>https://no.test</url></repository></repositories></profile></profiles>
 <activeProfiles><activeProfile> on </activeProfile></activeProfiles>
</settings>`), func(name string) string { return map[string]string{"HOST": "maven.corp.test"}[name] })
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Mirrors) != 1 || m.Mirrors[0] != (MavenMirror{"corp", "*,!local", "https://maven.corp.test/maven"}) || m.Logins["corp"] != (Login{User: "me", Password: "w&rd"}) || len(m.Encrypted) != 1 || m.Encrypted[0] != "other" {
		t.Errorf("%+v", m)
	}
	if len(m.Repositories) != 2 || m.Repositories[0].Releases != "false" || m.Repositories[0].Snapshots != "" || !m.Repositories[1].Plugins {
		t.Errorf("%+v", m.Repositories)
	}
	text := string(m.Write())
	if strings.Contains(text, "w&") || strings.Contains(text, "me<") {
		t.Error(text)
	}
	again, err := ReadMaven([]byte(text), none)
	if err != nil || len(again.Repositories) != 2 || len(again.Mirrors) != 1 || len(again.Logins) != 0 {
		t.Errorf("%+v, %v\n%s", again, err, text)
	}
}

func TestGradle(t *testing.T) {
	got := ReadGradle([]byte("# corpMavenUrl=https://no.test\norg.gradle.x=https://no.test\nsystemProp.https.proxyHost=https://no.test\ncorpMavenUrl=https\\://me:x@maven.corp.test/m/\ncorpMavenUsername = me\ncorpMavenPassword: word\nother.repo.url=https://other.test/r\nwhole.repo.url=https://whole.test\njiraUrl=https://jira.test/x\njiraToken=canary\nsonar.host.url=https://sonar.test/x\nplain=text\nbad=https://a\\u0041.test\n=x\nquery=https://a.test?x=1\n"))
	if len(got) != 2 || got[0].URL != "https://me:x@maven.corp.test/m" || got[0].Login != (Login{User: "me", Password: "word"}) || got[1].Word != "" {
		t.Errorf("%+v", got)
	}
	got[0].URL = "https://maven.corp.test/m"
	if text := string(WriteGradle(got)); strings.Contains(text, "word") && !strings.Contains(text, "corpMavenPassword=ringfence") {
		t.Error(text)
	}
}

func TestGemAndBundle(t *testing.T) {
	got, err := ReadGemrc([]byte("---\n:sources:\n- https://me:x@gems.corp.test/\n- https://rubygems.org/\n:verbose: true\n"))
	if err != nil || len(got) != 2 {
		t.Error(got, err)
	}
	for _, text := range []string{":sources: [https://s3cret.test]\n", ":sources:\n- {a: s3cret}\n", "s3cret"} {
		if got, err := ReadGemrc([]byte(text)); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	if again, err := ReadGemrc(WriteGemrc(got)); err != nil || len(again) != 2 {
		t.Error(again, err)
	}
	var b Bundle
	if err := b.ReadBundle([]byte("---\nBUNDLE_MIRROR__HTTPS://RUBYGEMS__ORG/: \"https://gems.corp.test\"\nBUNDLE_MIRROR__ALL: \"https://all.test\"\nBUNDLE_GEMS__COR___P__TEST: \"me:w%40rd\"\nBUNDLE_PATH: vendor\nBUNDLE_BUILD__PG: \"--with:x\"\nBUNDLE_X\": \"a:b\"\n")); err != nil {
		t.Fatal(err)
	}
	if len(b.Mirrors) != 2 || b.Logins["gems.cor-p.test"] != (Login{User: "me", Password: "w@rd"}) {
		t.Errorf("%+v", b)
	}
	if err := b.ReadBundle([]byte("BUNDLE_MIRROR__ALL: [s3cret]\n")); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Error(err)
	}
}

func TestComposer(t *testing.T) {
	for _, text := range []string{`{"repositories":[{"type":"composer","url":"https://a.test"},{"type":"vcs","url":"x"},{"packagist.org":false}]}`, `{"repositories":{"corp":{"type":"composer","url":"https://a.test"},"x":{"type":"path","url":"x"},"packagist.org":false}}`} {
		c, err := ReadComposer([]byte(text))
		if err != nil || len(c.Repositories) != 1 || !c.NoPackagist || c.Left != 1 {
			t.Errorf("%+v, %v", c, err)
		}
		again, err := ReadComposer(c.Write())
		if err != nil || len(again.Repositories) != 1 || again.Repositories[0].URL != "https://a.test" || !again.NoPackagist || again.Left != 0 {
			t.Errorf("%+v, %v", again, err)
		}
	}
	l, err := ReadComposerAuth([]byte(`{"http-basic":{"a.test":{"username":"me","password":"w"}},"bearer":{"b.test":"t"},"github-oauth":{"c.test":"x"}}`))
	if err != nil || len(l) != 2 || l["a.test"].Value() != "me:w" || !l["b.test"].Bearer || l["b.test"].Value() != "t" {
		t.Error(l, err)
	}
}

func TestApt(t *testing.T) {
	got, err := ReadSources([]byte("# x\ndeb [ arch=amd64,i386 signed-by=/usr/share/keyrings/a.gpg pdiffs=no ] https://apt.corp.test/debian stable main contrib # end\ndeb-src http://apt.corp.test/flat ./\n"))
	if err != nil || len(got) != 2 || got[1].String() != "deb-src http://apt.corp.test/flat ./" {
		t.Fatalf("%q, %v", got, err)
	}
	if got[0].String() != "deb [arch=amd64,i386 signed-by=/usr/share/keyrings/a.gpg] https://apt.corp.test/debian stable main contrib" {
		t.Errorf("%q", got[0])
	}
	got, err = ReadSources822([]byte("Types: deb\nURIs: https://apt.corp.test/debian\nSuites: stable stable-updates\nComponents: main\nSigned-By: /usr/share/keyrings/a.gpg\n\nEnabled: no\nTypes: deb\nURIs: https://off.test\nSuites: x\n\nTypes: deb\nURIs: https://b.test\nSuites: x\nComponents: main\nSigned-By:\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n x\n"))
	if len(got) != 3 || err == nil || got[1].String() != "deb [signed-by=/usr/share/keyrings/a.gpg] https://apt.corp.test/debian stable-updates main" {
		t.Errorf("%q, %v", got, err)
	}
	many := strings.Repeat("a ", 5000)
	if got, err := ReadSources822([]byte("Types: " + strings.Repeat("deb ", 5000) + "\nURIs: " + many + "\nSuites: " + many + "\n")); len(got) > most || err == nil {
		t.Errorf("%d sources, %v", len(got), err)
	}
	for at, want := range map[string]bool{"https://apt.corp.test/debian": true, "https://apt.corp.test": false, "http://apt.corp.test/debian": false, "https://apt.corp.test/debianother": false, "https://plain.test/x": true, "http://clear.test": true, "https://clear.test": false} {
		u, err := url.Parse(at)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := AptLogin([]byte("machine apt.corp.test/debian/ login me password w\nmachine plain.test login me password w machine http://clear.test login me password w\n"), u); ok != want {
			t.Errorf("%s: %v", at, ok)
		}
	}
}

// Whatever the files say, nothing is written but values of their shape, in one line each.
func FuzzSettings(f *testing.F) {
	f.Add([]byte("<settings><mirrors><mirror><id>a</id><mirrorOf>*</mirrorOf><url>https://a.test</url></mirror></mirrors></settings>"))
	f.Add([]byte("aUrl=https://a.test\naUser=b\naPassword=c\n"))
	f.Add([]byte(":sources:\n- https://a.test\n"))
	f.Add([]byte("BUNDLE_MIRROR__ALL: https://a.test\nBUNDLE_A__TEST: b:c\n"))
	f.Add([]byte(`{"repositories":{"a":{"type":"composer","url":"https://a.test"}},"http-basic":{"a":{"username":"b","password":"c"}}}`))
	f.Add([]byte("deb [arch=a signed-by=/x] https://a.test b c\nTypes: deb\nURIs: https://a.test\nSuites: b\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if m, err := ReadMaven(data, none); err == nil {
			if again, err := ReadMaven(m.Write(), none); err != nil || len(again.Mirrors) != len(m.Mirrors) || len(again.Repositories) != len(m.Repositories) || len(again.Logins) > 0 {
				t.Errorf("%+v became %+v: %v", m, again, err)
			}
		}
		for _, g := range ReadGradle(data) {
			if text := string(WriteGradle([]GradleURL{g})); strings.Count(text, "\n") > 3 {
				t.Errorf("%q", text)
			}
		}
		ReadGemrc(data)
		var b Bundle
		b.ReadBundle(data)
		for name := range b.Mirrors {
			if strings.ContainsAny(name, "\n \"") {
				t.Errorf("%q", name)
			}
		}
		if c, err := ReadComposer(data); err == nil {
			if again, err := ReadComposer(c.Write()); err != nil || len(again.Repositories) != len(c.Repositories) {
				t.Errorf("%+v became %+v: %v", c, again, err)
			}
		}
		ReadComposerAuth(data)
		one, _ := ReadSources(data)
		two, _ := ReadSources822(data)
		for _, s := range append(one, two...) {
			if text := s.String(); strings.ContainsAny(strings.ReplaceAll(text, s.URL, ""), "\n\"") {
				t.Errorf("%q", text)
			}
		}
		if u, err := ParseURL(string(data)); err == nil && strings.ContainsAny(u.String(), "\n\" ") {
			t.Errorf("%q", u)
		}
		AptLogin(data, &url.URL{Scheme: "https", Host: "a.test"})
	})
}
