package serviceapi

const (
	letters   = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	base64URL = letters + "-_"
	hexDigits = "0123456789abcdef"
)

// Shape says what a credential of this kind looks like, so that clients take a
// phantom for one: what it begins with, how many characters follow, and which.
func Shape(k Kind) (prefix string, length int, alphabet string) {
	switch k {
	case NPM:
		return "npm_", 36, letters
	case PyPI:
		return "pypi-AgEIcHlwaS5vcmc", 150, base64URL
	case Cargo:
		return "cio", 32, letters
	case GitHub:
		return "ghp_", 36, letters
	case GitLab:
		return "glpat-", 20, base64URL
	case Gitea:
		return "", 40, hexDigits
	default:
		return "", 40, letters
	}
}
