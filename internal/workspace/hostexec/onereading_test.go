package hostexec

import "testing"

// TestOneReading: text in which another reader finds another end of a comment is not
// judged harmless by any of our readers.
func TestOneReading(t *testing.T) {
	for _, end := range []string{"\r", "\u2028", "\u2029", "\u0085", "\v", "\f", "\x00", "\x1b", "\ufeff", "\xff", "\xc2"} {
		for form, text := range map[string]string{
			"json":  "{ // x" + end + " \"task.allowAutomaticTasks\": \"on\"\n}",
			"toml":  "# x" + end + "[hooks]\n",
			"lines": "# x" + end + "*.c filter=x\n",
		} {
			if got, err := readers[form](([]byte)(text)); err == nil {
				t.Errorf("%s: %q reads as %v", form, text, got)
			}
		}
	}
	for form, text := range map[string]string{"json": "\ufeff{ // x\r\n\t\"a\": \"é\"\r\n}", "toml": "# x\r\na = \"é\"\r\n", "lines": "# x\r\n*.c text\r\n"} {
		if got, err := readers[form]([]byte(text)); err != nil || len(got) != 1 {
			t.Errorf("%s: %v %v", form, got, err)
		}
	}
}
