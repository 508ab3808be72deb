package httpfwd

import (
	"strconv"
	"strings"
)

// take goes through the fields. lines are places in text.
func (h *Head) take(text string, lines []span) error {
	for _, l := range lines {
		name, value := text[l.start:l.colon], text[l.colon+1:l.end]
		k, disguised := kindOf(name)
		if disguised {
			return bad("a field is disguised")
		}
		if err := h.takeOne(k, field{name, value}); err != nil {
			return err
		}
	}
	return nil
}

func (h *Head) takeOne(k kind, f field) error {
	switch k {
	case host, length, transfer:
		// Tabs are white space to some parsers and not to others.
		return h.frame(k, strings.Trim(f.value, " "))
	}
	f.value = strings.Trim(f.value, " \t")
	switch k {
	case options:
		return tokens(f.value, h.option)
	case expect:
		if h.framed.expect || !strings.EqualFold(f.value, "100-continue") {
			return &Error{ExpectationFailed, "only 100-continue can be expected, once"}
		}
		h.framed.expect = true
	case upgrade:
		h.Upgrade = true
	case hop:
	case accept:
		if h.Accept == "" {
			h.Accept = f.value[:min(len(f.value), maxAccept)]
		}
		h.fields = append(h.fields, f)
	case trailer:
		if err := tokens(f.value, checkTrailer); err != nil {
			return err
		}
		h.framed.trailer = true
		h.fields = append(h.fields, f)
	default:
		h.fields = append(h.fields, f)
	}
	return nil
}

// frame takes one of the fields that say where a request goes and where it ends.
// The same one twice is refused even with the same value.
func (h *Head) frame(k kind, value string) error {
	switch k {
	case host:
		if h.framed.host || !ValidAuthority(value) {
			return bad("Host is malformed, or there are two")
		}
		h.framed.host, h.Host = true, value
	case length:
		n, err := strconv.ParseInt(value, 10, 64)
		if h.framed.length || !digits(value) || err != nil || n > maxLength || value[0] == '0' && value != "0" {
			return bad("Content-Length is malformed, or there are two")
		}
		h.framed.length, h.Length = true, n
	case transfer:
		if h.framed.transfer || !strings.EqualFold(value, "chunked") || h.Minor == 0 {
			return bad("Transfer-Encoding is not chunked, or there are two")
		}
		h.framed.transfer, h.Length = true, Chunked
	}
	return nil
}

// option takes one element of Connection. To ask that the framing be dropped on
// the way is an attack on whoever comes next.
func (h *Head) option(name string) error {
	k, _ := kindOf(name)
	switch {
	case k == host || k == length || k == transfer:
		return bad("Connection names a field that frames the request")
	case strings.EqualFold(name, "close"):
		h.Close = true
	case strings.EqualFold(name, "keep-alive"):
		h.framed.keepAlive = true
	case len(h.listed) == maxListed:
		return bad("Connection names too many fields")
	default:
		h.listed = append(h.listed, name)
	}
	return nil
}

// drop takes out what only the whole head can tell: fields that Connection names,
// and Trailer where there can be none.
func (h *Head) drop() {
	if len(h.listed) == 0 && (!h.framed.trailer || h.Length == Chunked) {
		return
	}
	kept := h.fields[:0]
	for _, f := range h.fields {
		k, _ := kindOf(f.name)
		if !h.lists(f.name) && (k != trailer || h.Length == Chunked) {
			kept = append(kept, f)
		}
	}
	h.fields = kept
}

func (h *Head) lists(name string) bool {
	for _, l := range h.listed {
		if strings.EqualFold(l, name) {
			return true
		}
	}
	return false
}

// check judges the head as a whole and settles what depends on all of it.
func (h *Head) check() error {
	framed := h.framed.length || h.framed.transfer
	switch {
	case !h.framed.host && (h.Minor == 1 || h.Form == Origin):
		return bad("there is no Host")
	case h.framed.length && h.framed.transfer:
		return bad("both Content-Length and Transfer-Encoding are given")
	case h.Method == "CONNECT" && framed:
		return bad("CONNECT has no body")
	}
	h.Close = h.Close || h.Minor == 0 && !h.framed.keepAlive
	// There is nothing to wait with where there is no body, and HTTP/1.0 cannot.
	h.Expect = h.framed.expect && h.Length != 0 && h.Minor == 1
	h.drop()
	return nil
}
