package hook

import (
	"regexp"
	"slices"
	"strings"
)

// What these commands remove lies on another machine: nothing here brings it back.

const elsewhereReason = " somewhere else, and nothing here brings it back."

// verbs are the words by which a client of a cloud or a cluster removes something.
var verbs = map[string][]string{
	"kubectl": {"delete", "drain"}, "oc": {"delete"}, "helm": {"uninstall", "delete"}, "gcloud": {"delete", "destroy"}, "gsutil": {"rm", "rb"},
	"az": {"delete", "purge"}, "doctl": {"delete"}, "flyctl": {"destroy"}, "fly": {"destroy"}, "gh": {"delete"}, "glab": {"delete"},
	"dropdb": nil, "dropuser": nil,
}

func cloud(l *look, name string, args []string, _ string) {
	if option(args, "", "dry-run") && !slices.Contains(args, "--dry-run=none") || option(args, "h", "help") {
		return
	}
	words := operands(args, "")
	bad := verbs[name]
	if bad == nil {
		l.find(Ask, "elsewhere", name+" removes something"+elsewhereReason)
	}
	for _, w := range words {
		if slices.Contains(bad, w) {
			l.find(Ask, "elsewhere", name+" "+w+" removes something"+elsewhereReason)
		}
	}
}

// aws has a verb for each kind of thing.
func aws(l *look, _ string, args []string, _ string) {
	words := operands(args, "")
	if option(args, "", "dry-run") || slices.Contains(args, "--dryrun") {
		return
	}
	for i, w := range words {
		s3 := i == 1 && words[0] == "s3" && (w == "rm" || w == "rb") || w == "sync" && option(args, "", "delete")
		if s3 || i == 1 && (strings.HasPrefix(w, "delete-") || strings.HasPrefix(w, "terminate-") || strings.HasPrefix(w, "purge-")) {
			l.find(Ask, "elsewhere", "aws "+words[0]+" "+w+" removes something"+elsewhereReason)
		}
	}
}

// lossyData is what takes away more than rows that are named. A DELETE or an UPDATE without
// WHERE is all rows.
var lossyData = regexp.MustCompile(`(?is)\b(drop\s+(table|database|schema|view|index|role|user|collection)|truncate\b|flush(all|db)\b|dropDatabase\s*\(|\.drop\s*\(\s*\))|\b(delete\s+from|update)\b`)

var whereClause = regexp.MustCompile(`(?i)\bwhere\b`)

// database is a client that is given statements. What it reads from a file is not seen.
func database(l *look, name string, args []string, in string) {
	text := strings.Join(args, " ") + " " + in
	for statement := range strings.SplitSeq(text, ";") {
		found := lossyData.FindString(statement)
		if found == "" {
			continue
		}
		first := strings.ToLower(strings.Fields(found)[0])
		if (first == "delete" || first == "update") && whereClause.MatchString(statement) {
			continue
		}
		l.find(Ask, "elsewhere", "This statement for "+name+" ("+say(strings.TrimSpace(found))+") takes away data"+elsewhereReason)
	}
}
