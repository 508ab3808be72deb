package policy

import (
	"errors"
	"fmt"
	"strings"

	"ringfence.dev/ringfence/internal/address"
)

// checkRequest refuses what is no rule about requests. Rules are:
//
//	GET /user              that path alone
//	GET,HEAD /repos/*/*    a star stands for one part of the path
//	* /v1/**               any method, and everything below /v1
func checkRequest(s string) error {
	if len(s) > maxHost {
		return fmt.Errorf("the rule has more than %d bytes", maxHost)
	}
	methods, path, ok := strings.Cut(s, " ")
	if !ok {
		return fmt.Errorf("%q is no request: write METHOD /PATH, or * /PATH for all methods", s)
	}
	if methods != "*" {
		for m := range strings.SplitSeq(methods, ",") {
			if m == "" || strings.Trim(m, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
				return fmt.Errorf("%q: %q is not a method", s, m)
			}
		}
	}
	if !address.PlainPath(path) {
		return fmt.Errorf("%q: path %q is not plain: it begins with /, and has no query, no escapes and no dots", s, path)
	}
	for p := range strings.SplitSeq(strings.TrimSuffix(path, "/**"), "/") {
		if p != "*" && strings.Contains(p, "*") {
			return fmt.Errorf("%q: %w", s, errors.New("a star is a whole part of a path, and two stand only at the end"))
		}
	}
	return nil
}
