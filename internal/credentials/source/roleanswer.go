package source

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

const maxAnswer = 64 << 10

// credentials are what a client inside gets.
type credentials struct {
	keys
	expires time.Time
}

// readCredentials reads the answer to AssumeRole. It must hold each part once,
// in a spelling that credentials have.
func readCredentials(data []byte) (credentials, error) {
	const at = "AssumeRoleResponse/AssumeRoleResult/Credentials/"
	parts, err := readParts(data, at)
	if err != nil {
		return credentials{}, fmt.Errorf("read answer of STS: %w", err)
	}
	var c credentials
	for name, into := range map[string]*string{"AccessKeyId": &c.id, "SecretAccessKey": &c.secret, "SessionToken": &c.token} {
		if *into = parts[name]; !plain(*into) {
			return credentials{}, fmt.Errorf("read answer of STS: %s is missing or strange", name)
		}
	}
	if c.expires, err = time.Parse(time.RFC3339, parts["Expiration"]); err != nil {
		return credentials{}, errors.New("read answer of STS: Expiration is missing or strange")
	}
	return c, nil
}

// readCode reads the code of an error, which is a word, and nothing else: the
// message may quote the request.
func readCode(data []byte) string {
	parts, err := readParts(data, "ErrorResponse/Error/")
	code := parts["Code"]
	if err != nil || code == "" || len(code) > 64 || strings.Trim(code, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.") != "" {
		return ""
	}
	return code
}

// readParts returns the texts of the elements right below a path.
func readParts(data []byte, at string) (map[string]string, error) {
	if len(data) > maxAnswer {
		return nil, fmt.Errorf("longer than %d bytes", maxAnswer)
	}
	d := xml.NewDecoder(bytes.NewReader(data))
	var where []string
	parts, roots := map[string]string{}, 0
	for {
		t, err := d.Token()
		if err == io.EOF && roots == 1 && len(where) == 0 {
			return parts, nil
		}
		if err != nil {
			return nil, errors.New("not XML")
		}
		switch t := t.(type) {
		case xml.StartElement:
			if where = append(where, t.Name.Local); len(where) > 16 {
				return nil, errors.New("nested too deep")
			}
			if len(where) == 1 {
				roots++
			}
			if name, ok := strings.CutPrefix(strings.Join(where, "/"), at); ok {
				if _, twice := parts[name]; twice {
					return nil, fmt.Errorf("%.40q stands twice", name)
				}
				parts[name] = ""
			}
		case xml.CharData:
			if name, ok := strings.CutPrefix(strings.Join(where, "/"), at); ok {
				parts[name] += string(t)
			}
		case xml.EndElement:
			where = where[:len(where)-1]
		case xml.Directive:
			return nil, errors.New("holds a directive")
		}
	}
}

// plain reports whether s could be a part of credentials: printable ASCII.
func plain(s string) bool {
	return s != "" && len(s) <= 8192 && !strings.ContainsFunc(s, func(c rune) bool { return c <= ' ' || c > '~' })
}
