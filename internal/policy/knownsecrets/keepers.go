package knownsecrets

// Keepers are where credentials lie in a home that everybody knows: what the settings of an
// agent that runs bare have to name one by one.
func Keepers() []string {
	return []string{".ssh", ".gnupg", ".aws", ".azure", ".config/gcloud", ".kube", ".docker/config.json", ".config/gh",
		".netrc", ".npmrc", ".pypirc", ".git-credentials", ".vault-token", ".password-store", ".config/rclone", ".cargo/credentials.toml"}
}
