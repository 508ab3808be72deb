package source

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// The vectors are those that AWS published for version 4, and its worked example.
func TestSignatureVectors(t *testing.T) {
	now := time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC)
	k := keys{id: "AKIDEXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}
	for _, c := range []struct{ name, method, url, service, content, body, want string }{
		{"get-vanilla", "GET", "https://example.amazonaws.com/", "service", "", "",
			"5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
		{"get-vanilla-query-order-key-case", "GET", "https://example.amazonaws.com/?Param2=value2&Param1=value1", "service", "", "",
			"b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
		{"post-vanilla", "POST", "https://example.amazonaws.com/", "service", "", "",
			"5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
		{"post-x-www-form-urlencoded", "POST", "https://example.amazonaws.com/", "service", "application/x-www-form-urlencoded", "Param1=value1",
			"ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"},
		{"ListUsers", "GET", "https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08", "iam", "application/x-www-form-urlencoded; charset=utf-8", "",
			"5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := http.NewRequest(c.method, c.url, nil)
			if err != nil {
				t.Fatal(err)
			}
			if c.content != "" {
				r.Header.Set("Content-Type", c.content)
			}
			sign(r, []byte(c.body), k, "us-east-1", c.service, now)
			if got := r.Header.Get("Authorization"); !strings.HasSuffix(got, "Signature="+c.want) {
				t.Errorf("%s\nwant signature %s", got, c.want)
			}
		})
	}
}

func TestKeysDoNotPrint(t *testing.T) {
	c := credentials{keys: keys{"AKID", "very-secret", "the-token"}}
	for _, s := range []string{fmt.Sprint(c), fmt.Sprintf("%+v", c), fmt.Sprintf("%#v", c), fmt.Sprintf("%v", c.keys), fmt.Sprintf("%#v", c.keys)} {
		if strings.Contains(s, "very-secret") || strings.Contains(s, "the-token") {
			t.Errorf("printed: %s", s)
		}
	}
}
