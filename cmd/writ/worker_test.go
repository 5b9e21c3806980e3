package main

import (
	"strings"
	"testing"
)

func TestAWorkerRefusesFlagsThatCannotBe(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ line, want string }{
		{"--recover-every -1s", "--recover-every must not be negative"},
		{"--start-within -1s", "--start-within must not be negative"},
		{"--stop-grace 0s", "--stop-grace must be longer than 0"},
		{"--breaker-failures -1", "--breaker-failures must not be negative"},
		{"--stored-policies --policies refunds", "--stored-policies and --policies (or WRIT_POLICIES) are both given"},
		{"--max-result 0", "--max-result must be more than 0"},
		{"--provider-url provider:7766", "invalid_configuration: correct --provider-url"},
		{"--tools echo,payments.captrue --provider-url http://127.0.0.1:1", `no sample tool "payments.captrue"; choose from `},
	} {
		r := command(t, append([]string{"worker", "--database-url", nowhere}, strings.Fields(c.line)...)...)
		if r.status != 2 || !strings.Contains(r.stderr, c.want) {
			t.Errorf("%s: status %d, %s", c.line, r.status, r.stderr)
		}
	}
}

func TestAWorkerWithoutAProviderHostsOnlyEchoAndSaysSo(t *testing.T) {
	t.Setenv("WRIT_PROVIDER_URL", "")
	r := command(t, "worker", "--database-url", nowhere, "--tools", "payments.capture")
	if r.status != 2 || !strings.Contains(r.stderr, "without --provider-url; choose from echo") {
		t.Errorf("status %d, %s", r.status, r.stderr)
	}
	r = command(t, "worker", "--database-url", nowhere, "--start-within", "1ms")
	if r.status != 1 || !strings.Contains(r.stderr, "only echo is hosted") || !strings.Contains(r.stderr, "database_unavailable") {
		t.Errorf("status %d, %s", r.status, r.stderr)
	}
}

func TestTheDevelopmentProfileIsSaidPlainlyAndOnlyToAWorker(t *testing.T) {
	for _, spelling := range []string{"maybe", "yes", "production"} {
		t.Setenv("WRIT_DEVELOPMENT", spelling)
		r := command(t, "worker", "--database-url", nowhere, "--start-within", "1ms")
		if r.status != 2 || !strings.Contains(r.stderr, "invalid_configuration: WRIT_DEVELOPMENT is") {
			t.Errorf("%s: status %d, %s", spelling, r.status, r.stderr)
		}
	}
	for says, flag := range map[string]string{"true": "--development=false", "false": "--development", "": "--development", "1": ""} {
		t.Setenv("WRIT_DEVELOPMENT", says)
		r := command(t, strings.Fields("worker --database-url "+nowhere+" --start-within 1ms "+flag)...)
		on := flag == "--development" || flag == ""
		if told := strings.Contains(r.stderr, "this worker is in the development profile"); told != on || r.status != 1 {
			t.Errorf("%q and %q: status %d, %s", says, flag, r.status, r.stderr)
		}
	}
	for _, line := range []string{"execute echo --development", "recover --development", "confirm x --development", "schedule create x echo --development"} {
		if r := command(t, strings.Fields(line)...); r.status != 2 || !strings.Contains(r.stderr, "unknown flag: --development") {
			t.Errorf("%s: status %d, %s", line, r.status, r.stderr)
		}
	}
}
