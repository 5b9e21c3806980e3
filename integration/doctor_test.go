package integration

import (
	"encoding/json"
	"testing"

	"writ/doctor"
)

// examine runs the doctor on the world and fails unless exactly these checks have another
// status than ok.
func (w *world) examine(t *testing.T, want map[string]doctor.Status, arguments ...string) doctor.Report {
	t.Helper()
	p := w.writ(t, append([]string{"doctor"}, arguments...)...)
	status := p.status(t)
	var report doctor.Report
	if err := json.Unmarshal(p.stdout.bytes(), &report); err != nil {
		t.Fatalf("the report is %q: %v", p.stdout.bytes(), err)
	}
	for _, c := range report.Checks {
		expected, ill := want[c.Name]
		if !ill {
			expected = doctor.OK
		}
		if c.Status != expected {
			t.Errorf("%+v, want %s", c, expected)
		}
	}
	if len(report.Checks) != len(doctor.Names()) || (status == 0) != report.OK {
		t.Errorf("%d checks, ok is %v, and the status %d", len(report.Checks), report.OK, status)
	}
	return report
}

func TestAWorldWithAWorkerIsHealthy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startWorker(t)
	if report := w.examine(t, nil); !report.OK {
		t.Errorf("failed is %q", report.Failed())
	}
}

func TestToolsThatNobodyHostsAreAWarning(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startWorker(t)
	// A tool on a task queue that no worker has ever polled.
	query(t, w.database, `INSERT INTO tool_specs (name, digest, spec, task_queue, published_at)
		VALUES ('abandoned.tool', sha256('abandoned'), '{}', '`+w.name+`_abandoned', now())`)
	w.examine(t, map[string]doctor.Status{"workers": doctor.Warn})
}

func TestANamespaceThatDoesNotExistIsNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.examine(t, map[string]doctor.Status{
		"temporal_namespace": doctor.Fail, "temporal_search_attributes": doctor.Unknown, "workers": doctor.Unknown,
	}, "--temporal-namespace", w.name)
}

func TestASchemaThatIsBehindFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startWorker(t)
	if status := w.writ(t, "migrate", "down").status(t); status != 0 {
		t.Fatalf("migrate down ends with status %d", status)
	}
	w.examine(t, map[string]doctor.Status{
		"migrations": doctor.Fail, "timeline": doctor.Unknown, "policies": doctor.Unknown, "holds": doctor.Unknown,
		"budgets": doctor.Unknown, "backlog": doctor.Unknown, "progress": doctor.Unknown,
	})
}
