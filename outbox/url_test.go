package outbox_test

import (
	"strings"
	"testing"

	"writ/intent"
	"writ/outbox"
)

func TestAURLThatCannotBeUsedIsRefusedWithoutItsPassword(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"host=127.0.0.1 password = s3cret port=abc",
		"postgres://u:p@s3cret@h:x/db",
		"postgres://u:p@s3cret@h/db",
		`password=s3\ s3cret port=abc`,
		"postgres://u:s3cret@h:99999/db",
	} {
		_, err := outbox.ParseURL(url)
		if intent.CodeOf(err) != intent.CodeInvalidConfig || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", url, err)
		}
	}
	cfg, err := outbox.ParseURL("postgres://u:p%40ss@h/db")
	if err != nil || cfg.ConnConfig.Password != "p@ss" || cfg.ConnConfig.ConnectTimeout <= 0 {
		t.Errorf("%v", err)
	}
}
