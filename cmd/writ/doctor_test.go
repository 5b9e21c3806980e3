package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"writ/doctor"
)

// No Temporal listens here.
const noTemporal = "127.0.0.1:1"

func TestTheDoctorsReportIsTheOnlyDocumentAndSaysWhatFailed(t *testing.T) {
	t.Parallel()
	r := newOutbox(t)
	ill := command(t, "doctor", "-o", "json", "--database-url", r.url, "--temporal-address", noTemporal)
	var report doctor.Report
	ill.document(t, &report)
	if ill.status != 1 || report.OK || !strings.Contains(ill.stderr, "unhealthy") || !strings.Contains(ill.stderr, "temporal_reachable") {
		t.Errorf("status %d, ok %v, %s", ill.status, report.OK, ill.stderr)
	}
	if len(report.Checks) != len(doctor.Names()) {
		t.Errorf("%d of %d checks", len(report.Checks), len(doctor.Names()))
	}
	for _, c := range report.Checks {
		want := doctor.OK
		switch {
		case c.Name == "temporal_reachable":
			want = doctor.Fail
		case strings.HasPrefix(c.Name, "temporal_"), c.Name == "workers":
			want = doctor.Unknown
		}
		if c.Status != want {
			t.Errorf("%+v, want %s", c, want)
		}
	}
}

func TestTheDoctorsTextAlignsAndSaysWhatToDoBelow(t *testing.T) {
	t.Parallel()
	ill := command(t, "doctor", "--database-url", nowhere, "--temporal-address", noTemporal)
	if ill.status != 1 {
		t.Errorf("status %d", ill.status)
	}
	lines := strings.Split(strings.TrimRight(ill.stdout, "\n"), "\n")
	checks, mends := 0, 0
	line := regexp.MustCompile(`^(ok|warn|fail|unknown) +(\S+) +\S`)
	for i, text := range lines {
		at := line.FindStringSubmatch(text)
		switch {
		case at != nil:
			checks++
			if strings.Index(text, at[2]) != 9 {
				t.Errorf("not aligned: %q", text)
			}
		case i > 0 && strings.HasPrefix(text, "         mend: ") && strings.HasPrefix(lines[i-1], "fail"):
			mends++
		default:
			t.Errorf("neither a check nor how to mend one: %q", text)
		}
	}
	if checks != len(doctor.Names()) || mends != 2 {
		t.Errorf("%d checks and %d ways to mend:\n%s", checks, mends, ill.stdout)
	}
}

func TestTheDoctorShowsNoPassword(t *testing.T) {
	t.Parallel()
	for _, form := range []string{"text", "json"} {
		for _, address := range []string{
			"postgres://writ:hunter2@127.0.0.1:1/writ",
			"host=127.0.0.1 port=1 user=writ password=hunter2",
			"postgres://writ:hunter2@127.0.0.1:1/writ?pool_max_conns=none",
		} {
			ill := command(t, "doctor", "-o", form, "--log-level", "debug", "--database-url", address, "--temporal-address", noTemporal)
			if ill.status == 0 || strings.Contains(ill.stdout+ill.stderr, "hunter2") {
				t.Errorf("%s, %s: status %d\n%s\n%s", form, address, ill.status, ill.stdout, ill.stderr)
			}
		}
	}
}

func TestSettingsThatCannotBeUsedAreNoIllness(t *testing.T) {
	t.Parallel()
	got := command(t, "doctor", "-o", "json", "--database-url", "postgres://%zz", "--temporal-address", noTemporal)
	var f failure
	got.document(t, &f)
	if got.status != 2 || f.Error.Code != "invalid_configuration" {
		t.Errorf("status %d, %+v", got.status, f.Error)
	}
}

func TestEveryCheckOfTheDoctorIsDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	var documented []string
	for _, section := range strings.Split(string(page), "\n| Check | Looks at | If it is not ok |\n")[1:] {
		table, _, _ := strings.Cut(section, "\n\n")
		for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|").FindAllStringSubmatch(table, -1) {
			documented = append(documented, row[1])
		}
	}
	if !slices.Equal(documented, doctor.Names()) {
		t.Errorf("docs/operations.md explains\n%q, the checks are\n%q", documented, doctor.Names())
	}
}
