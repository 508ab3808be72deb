package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// RoleEndpoint is where STS is for a region. China's regions stand in a domain of
// their own.
func RoleEndpoint(region string) string {
	domain := "amazonaws.com"
	if strings.HasPrefix(region, "cn-") {
		domain = "amazonaws.com.cn"
	}
	return "https://sts." + region + "." + domain + "/"
}

// skew is how far the clocks of the host and of STS may be apart: with more, the
// signature would not hold either.
const skew = 15 * time.Minute

// assume asks STS for credentials of the role.
func (h *roleHandler) assume(ctx context.Context, k keys) (credentials, error) {
	form := url.Values{
		"Action":          {"AssumeRole"},
		"Version":         {"2011-06-15"},
		"RoleArn":         {h.config.Role},
		"RoleSessionName": {"ringfence-" + h.config.Session},
		"DurationSeconds": {strconv.Itoa(int(h.config.TTL / time.Second))},
	}
	if h.config.Policy != "" {
		form.Set("Policy", h.config.Policy)
	}
	if h.config.ExternalID != "" {
		form.Set("ExternalId", h.config.ExternalID)
	}
	body := []byte(form.Encode())
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, h.config.Endpoint, bytes.NewReader(body))
	if err != nil {
		return credentials{}, errors.New("ask STS: the endpoint is not a URL")
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	sign(r, body, k, h.config.Region, "sts", h.config.Now())
	answer, err := h.config.Transport.RoundTrip(r)
	if err != nil {
		return credentials{}, fmt.Errorf("ask STS: %w", err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	if err != nil {
		return credentials{}, fmt.Errorf("ask STS: %w", err)
	}
	if answer.StatusCode != http.StatusOK {
		return credentials{}, &Refused{Status: answer.StatusCode, Code: readCode(data)}
	}
	c, err := readCredentials(data)
	if err != nil {
		return credentials{}, err
	}
	if left := c.expires.Sub(h.config.Now()); left <= 0 || left > h.config.TTL+skew {
		return credentials{}, errors.New("read answer of STS: the credentials do not end when they should")
	}
	return c, nil
}

// Refused is an answer of STS that is not credentials.
type Refused struct {
	Status int
	Code   string // "AccessDenied", or "" where the answer names none
}

func (e *Refused) Error() string {
	if e.Code == "" {
		return "STS answers with status " + strconv.Itoa(e.Status)
	}
	return "STS refuses: " + e.Code
}
