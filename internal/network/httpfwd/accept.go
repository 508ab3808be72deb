package httpfwd

import "strings"

// wantsJSON reports whether a client with this Accept names JSON and prefers no
// kind of text to it. "*/*" names nothing.
func wantsJSON(accept string) bool {
	var inJSON, inText int
	for more := true; more; {
		var one string
		one, accept, more = strings.Cut(accept, ",")
		media, params, _ := strings.Cut(one, ";")
		media = strings.ToLower(strings.Trim(media, " \t"))
		switch q := quality(params); {
		case media == "application/json" || strings.HasPrefix(media, "application/") && strings.HasSuffix(media, "+json"):
			inJSON = max(inJSON, q)
		case strings.HasPrefix(media, "text/"):
			inText = max(inText, q)
		}
	}
	return inJSON > 0 && inJSON >= inText
}

// quality is the weight among the parameters of a media range, in thousandths. A
// malformed weight is none.
func quality(params string) int {
	for more := true; more; {
		var one string
		one, params, more = strings.Cut(params, ";")
		name, weight, _ := strings.Cut(strings.Trim(one, " \t"), "=")
		if !strings.EqualFold(name, "q") {
			continue
		}
		whole, part, _ := strings.Cut(weight, ".")
		if whole != "0" && whole != "1" || len(part) > 3 || part != "" && !digits(part) {
			return 0
		}
		q := int(whole[0]-'0') * 1000
		for i, unit := 0, 100; i < len(part); i, unit = i+1, unit/10 {
			q += int(part[i]-'0') * unit
		}
		return min(q, 1000)
	}
	return 1000
}
