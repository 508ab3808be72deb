package door

import (
	"net/http"
	"net/url"
	"path"
	"strings"
)

// Below is the path of a request below a base, in its one spelling. Servers read paths in
// many ways: what one of them could take for a package is judged as that package.
func Below(r *http.Request, base string) (rest string, ok bool) {
	at := strings.TrimSuffix(path.Clean("/"+base), "/")
	rest, ok = strings.CutPrefix(clean(r.URL.Path), at)
	return rest, ok && strings.HasPrefix(rest, "/")
}

// clean reads a path as the most willing server would.
func clean(text string) string {
	for range 8 {
		next, err := url.PathUnescape(text)
		if err != nil || next == text {
			break
		}
		text = next
	}
	return path.Clean("/" + strings.ReplaceAll(text, `\`, "/"))
}

// Odd says why a request for a package is not answered, however well it is known what
// is meant; "": it is. No client asks so, and upstream could read it otherwise.
func Odd(r *http.Request) string {
	at := clean(r.URL.Path)
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		return "packages are only read here"
	case r.URL.RawQuery != "" || r.URL.ForceQuery:
		return "packages are asked for by their plain address here, without a query"
	case r.URL.Path != at && r.URL.Path != at+"/":
		return "packages are asked for by their plain address here, and not by another spelling of it"
	}
	return ""
}

// Writes holds for a request that is no question. Whoever judges what a host may be asked
// judges that.
func Writes(r *http.Request) bool {
	switch r.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
		return true
	}
	return false
}
