package httpfwd

import "strings"

// field is one line of a head: the value without the white space around it.
type field struct{ name, value string }

// kind is what a field is to us.
type kind int

const (
	plain    kind = iota // passes as it is
	hop                  // ends here
	host                 // rebuilt
	length               // rebuilt
	transfer             // rebuilt
	expect               // rebuilt
	options              // Connection
	upgrade              // ends here; the caller is told
	accept               // passes; the caller is told
	trailer              // passes beside a chunked body
	sealed               // passes in a head, never in a trailer
)

// kinds are the fields that are more to us than a line. The sealed ones change how
// a request is routed, authorised or understood: as a trailer they would come
// after the verdict.
var kinds = map[string]kind{
	"host":              host,
	"content-length":    length,
	"transfer-encoding": transfer,
	"expect":            expect,
	"connection":        options,
	"upgrade":           upgrade,
	"accept":            accept,
	"trailer":           trailer,

	"keep-alive":     hop,
	"te":             hop,
	"http2-settings": hop,

	"alt-svc":            hop, // in a trailer of an answer too
	"alternate-protocol": hop,

	"authorization":          sealed,
	"cache-control":          sealed,
	"content-encoding":       sealed,
	"content-range":          sealed,
	"content-type":           sealed,
	"cookie":                 sealed,
	"forwarded":              sealed,
	"max-forwards":           sealed,
	"pragma":                 sealed,
	"range":                  sealed,
	"x-forwarded-for":        sealed,
	"x-forwarded-host":       sealed,
	"x-forwarded-proto":      sealed,
	"x-http-method-override": sealed,
	"x-original-url":         sealed,
	"x-rewrite-url":          sealed,
}

// maxKind is more than the longest name in kinds.
const maxKind = 24

// kindOf says what the field called name is. Servers of the CGI family cannot tell
// "_" from "-": a name that would be one of ours to them is disguised.
func kindOf(name string) (k kind, disguised bool) {
	var buf [maxKind]byte
	low := buf[:0]
	for i := 0; i < len(name) && i < maxKind; i++ {
		b := name[i]
		switch {
		case 'A' <= b && b <= 'Z':
			b |= 0x20
		case b == '_':
			b, disguised = '-', true
		}
		low = append(low, b)
	}
	if len(name) < maxKind {
		k = kinds[string(low)]
	}
	if k == plain && strings.HasPrefix(string(low), "proxy-") {
		k = hop
	}
	return k, disguised && k != plain && k != sealed
}

// tokens calls f for each element of a comma-separated list of tokens.
func tokens(list string, f func(string) error) error {
	for more := true; more; {
		var one string
		one, list, more = strings.Cut(list, ",")
		if one = strings.Trim(one, " \t"); one == "" {
			continue
		}
		if !ValidToken(one) {
			return bad("a list of tokens is malformed")
		}
		if err := f(one); err != nil {
			return err
		}
	}
	return nil
}

// checkTrailer refuses a trailer that changes what the head has said.
func checkTrailer(name string) error {
	if k, _ := kindOf(name); k != plain {
		return bad("a trailer frames, routes or alters the request")
	}
	return nil
}
